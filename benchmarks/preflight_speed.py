"""How long do two large tokenizers take to be compared?

    python benchmarks/preflight_speed.py [--tokens 150000] [--repeats 5]

Two made-up byte-level tokenizers of that many tokens, stored as tokenizer.json: the same twice, one with four other
special tokens, one with all ids permuted. Median seconds from the files to the verdict, in a fresh process each time,
imports left out; processor time beside it, for a machine that does other work. Wanted: under 2 s.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_TIMED = """
import sys, time
from pathlib import Path
from labkit.preflight.tokenizer import compare
from labkit.preflight.vocabulary import read_vocabulary
import tokenizers
begun, worked = time.perf_counter(), time.process_time()
found = compare(*(read_vocabulary(Path(folder)) for folder in sys.argv[1:]))
print(time.perf_counter() - begun, time.process_time() - worked, end=" ")
print(found.verdict, len(found.differing_ids), found.agreement)
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tokens", type=int, default=150_000)
    options.add_argument("--repeats", type=int, default=5)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        made = make(Path(scratch), asked.tokens)
        for name in made:
            seconds, worked, words = [], [], ""
            for _ in range(asked.repeats):
                argv = [sys.executable, "-c", _TIMED, str(made["target"]), str(made[name])]
                out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
                taken, of_cpu, words = out.strip().split(" ", 2)
                seconds.append(float(taken))
                worked.append(float(of_cpu))
            print(
                f"{name:>14}: {statistics.median(seconds):.2f} s ({statistics.median(worked):.2f} of the CPU)  {words}"
            )


def make(scratch: Path, size: int) -> dict[str, Path]:
    """The target's folder and that of each draft."""
    vocab, merges = vocabulary(size)
    shuffled = list(range(size))
    random.Random(0).shuffle(shuffled)
    special = [f"<|special_{n}|>" for n in range(20)]
    other = [*special[:16], *(f"<|other_{n}|>" for n in range(4))]
    drafts = {
        "target": (vocab, special),
        "same": (dict(vocab), special),
        "four special": (vocab, other),
        "permuted": ({token: shuffled[number] for token, number in vocab.items()}, special),
    }
    return {name: write(scratch / name, *made, merges) for name, made in drafts.items()}


def vocabulary(size: int) -> tuple[dict[str, int], list[list[str]]]:
    """Characters, then merges of what is there already, as byte-pair encoding learns them."""
    rng, letters = random.Random(1), [chr(code) for code in range(33, 127)] + ["Ġ"]
    tokens, merges, known = list(letters), [], set(letters)
    while len(tokens) < size:
        left, right = rng.choice(tokens[:4000]), rng.choice(tokens[:4000])
        if left + right not in known and len(left + right) < 16:
            known.add(left + right)
            tokens.append(left + right)
            merges.append([left, right])
    return {token: number for number, token in enumerate(tokens)}, merges


def write(folder: Path, vocab: dict[str, int], special: list[str], merges: list[list[str]]) -> Path:
    folder.mkdir()
    added = [
        {"id": len(vocab) + n, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for n, token in enumerate(special)
    ]  # fmt: skip
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    stored = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
                  "merges": merges},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(stored, ensure_ascii=False), encoding="utf-8")
    return folder


if __name__ == "__main__":
    main()
