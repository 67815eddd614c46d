"""Secrets found and taken out, in every form they are written in and wherever they are cut; other text left alone."""

import json
import time
from html import escape
from urllib.parse import quote

import pytest

from labkit.view.leaks import Pieces, Secrets, names_a_secret, removed_in

PLANTED = 'pl"nted/<7731>'
TOKEN = "abcdef0123456789"


@pytest.fixture
def secrets():
    return Secrets({"LABKIT_API_KEY": PLANTED, "HOME": "/home/someone", "PROXY": "http://me:let-me-in@proxy:8080"})


@pytest.mark.parametrize("write", [str, lambda v: json.dumps(v), escape, lambda v: quote(v, safe="")])
def test_a_value_of_the_environment_is_taken_out_however_it_is_written(secrets, write):
    text = secrets.without(f"before {write(PLANTED)} after")
    assert text.strip('"') == text
    assert "nted" not in text
    assert "[removed: the value of LABKIT_API_KEY]" in text
    assert secrets.found == {"the value of LABKIT_API_KEY"}


def test_the_password_of_an_address_is_a_secret_and_the_address_is_not(secrets):
    assert secrets.without("via http://me:let-me-in@proxy:8080") == (
        "via http://me:[removed: the value of PROXY]@proxy:8080"
    )
    assert secrets.without("/home/someone and proxy:8080") == "/home/someone and proxy:8080"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {TOKEN}", f"'authorization': 'bearer {TOKEN}'", f"--api-key {TOKEN}",
        f"--api-key={TOKEN}", f"--hf-token {TOKEN}", f'["--api-key", "{TOKEN}"]', f"['--api-key', '{TOKEN}']",
        f'[\\"--api-key\\", \\"{TOKEN}\\"]', f"[&quot;--api-key&quot;, &quot;{TOKEN}&quot;]", f"--password={TOKEN}",
        '["--api-key","correct-horse"]',
    ],
)  # fmt: skip
def test_a_bearer_token_or_a_key_of_a_command_line_is_taken_out(text):
    secrets = Secrets({})
    clean = secrets.without(text)
    assert TOKEN not in clean
    assert "horse" not in clean
    assert len(secrets.found) == 1
    assert secrets.without(clean) == clean, "what was taken out is not taken out again"


def test_json_stays_json():
    text = json.dumps({"argv": ["--api-key", TOKEN, "--port", "8000"], "header": f"Bearer {TOKEN}"})
    clean = json.loads(Secrets({}).without(text))
    assert clean["argv"] == ["--api-key", "[removed: a key in a command line]", "--port", "8000"]


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of bad news", "Bearer authentication is used", "Send it as Bearer $TOKEN.",
        "--num-speculative-tokens 4",
        "--max-num-batched-tokens 2048", "with --api-key option you say which", '"--api-key", as said',
        "token 12345678", "api_key = None", "password: changed2day", "\"eos_token\": \"<|endoftext12|>\"",
        '["--api-key", "--port"]', "key=value",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text):
    secrets = Secrets({"MODE_TOKEN": "auto", "PATH": "/usr/bin", "TOKENIZERS_PARALLELISM": "false"})
    assert secrets.without(text) == text
    assert secrets.found == set()


def test_data_is_cleaned_all_the_way_down(secrets):
    found = secrets.clean({"a": [PLANTED, 1, None, {"b": (PLANTED,)}], "n": 2.5})
    note = "[removed: the value of LABKIT_API_KEY]"
    assert found == {"a": [note, 1, None, {"b": [note]}], "n": 2.5}


def test_a_note_tells_what_was_there(secrets):
    assert removed_in(secrets.without(f"x {PLANTED}")) == "the value of LABKIT_API_KEY"
    assert removed_in("nothing [removed] here") is None


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("LABKIT_API_KEY", True), ("HF_TOKEN", True), ("AWS_SECRET_ACCESS_KEY", True), ("PGPASSWORD", True),
        ("api_key", True), ("GOOGLE_APPLICATION_CREDENTIALS", True), ("max_tokens", False), ("run", False),
        ("GITHUB_PAT", True), ("MYSQL_PWD", True), ("PWD", False), ("OLDPWD", False), ("PATH", False),
        ("SSH_AUTH_SOCK", False), ("KEYBOARD", False), ("TOKENIZERS_PARALLELISM", False),
    ],
)  # fmt: skip
def test_names_of_secrets(name, secret):
    assert names_a_secret(name) is secret


@pytest.mark.parametrize(
    "text",
    [
        f"non-default args: {{'port': 8000, 'api_key': ['{TOKEN}']}}", f'"api_key": "{TOKEN}"', f"api-key='{TOKEN}'",
        f"hf_token = '{TOKEN}'", f"{{&quot;password&quot;: &quot;{TOKEN}&quot;}}",
    ],
)  # fmt: skip
def test_a_key_of_settings_is_taken_out(text):
    """A server prints the arguments it was started with."""
    secrets = Secrets({})
    clean = secrets.without(text)
    assert TOKEN not in clean
    assert secrets.found == {"a key in settings"}
    assert secrets.without(clean) == clean


def test_every_line_of_a_secret_of_several_lines_is_one():
    """A key file in a variable: its lines are stored and printed apart."""
    lines = ["-----BEGIN KEY-----", "MIIEvQIBADANBg", "kqhkiG9w0BAQEF", "ab"]
    secrets = Secrets({"SIGNING_KEY": "\n".join(lines)})
    clean = secrets.without(json.dumps({"text": [line + "\n" for line in lines]}))
    assert not [line for line in lines[:3] if line in clean]
    assert json.loads(clean)["text"][3] == "ab\n", "too short to be told from other text"


def test_names_of_fields_are_cleaned_and_the_structure_of_an_output_is_not(secrets):
    note = "[removed: the value of LABKIT_API_KEY]"
    assert secrets.clean({PLANTED: 1}) == {note: 1}
    kept = Secrets({"ODD_TOKEN": "text/html", "OTHER_TOKEN": "output_type"})
    shown = {"output_type": "display_data", "data": {"text/html": "see text/html", "a/b+json": {"text/html": [1]}}}
    assert kept.clean_output(shown) == {
        "output_type": "display_data",
        "data": {"text/html": "see [removed: the value of ODD_TOKEN]",
                 "a/b+json": {"[removed: the value of ODD_TOKEN]": [1]}},
    }  # fmt: skip


def test_an_error_is_cleaned_in_all_its_parts(secrets):
    shown = {"output_type": "error", "ename": "E", "evalue": f"bad {PLANTED}", "traceback": ["a", f"b {PLANTED}"]}
    clean = secrets.clean_output(shown)
    assert PLANTED not in json.dumps(clean, ensure_ascii=False)
    assert (clean["output_type"], clean["ename"], len(clean["traceback"])) == ("error", "E", 2)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key \x1b[1mplanted-\x1b[36m7731\x1b[0m end", "key [removed: the value of DEMO_TOKEN] end"),
        ("<p>planted-<b>7731</b> &lt;b&gt;</p>", "[removed: the value of DEMO_TOKEN] &lt;b&gt;"),
        ("\x1b[1mplanted\x1b[0m <b>7731</b>", "\x1b[1mplanted\x1b[0m <b>7731</b>"),
        ("a < planted and 7731 > b", "a < planted and 7731 > b"),
    ],
)
def test_colours_and_tags_do_not_hide_a_secret(text, clean):
    """Whoever prints with colours may colour the digits of a key."""
    assert Secrets({"DEMO_TOKEN": "planted-7731"}).without(text) == clean


@pytest.mark.parametrize(
    "text", ["<" * 1_000_000, "<a" * 500_000, "\x1b[" * 500_000, "--token" * 150_000, "bearer " * 150_000]
)
def test_a_long_text_takes_no_time(text):
    begun = time.monotonic()
    Secrets({"DEMO_TOKEN": "planted-7731"}).without(text)
    assert time.monotonic() - begun < 10


# --- a text in pieces


def handed_out(secrets, pieces):
    """Everything that is handed out, piece by piece, and the rest at the end."""
    text = Pieces(secrets)
    return [text.add(piece) for piece in pieces] + [text.rest]


@pytest.mark.parametrize("cut", range(1, len("key planted-7731 end")))
@pytest.mark.parametrize("end", ["\n", "\r", ""])
def test_a_secret_that_is_cut_anywhere_is_found(cut, end):
    secrets, whole = Secrets({"DEMO_TOKEN": "planted-7731"}), f"key planted-7731 end{end}"
    given = handed_out(secrets, [whole[:cut], whole[cut:]])
    assert "".join(given) == f"key [removed: the value of DEMO_TOKEN] end{end}"


def test_a_shape_that_is_cut_is_taken_out_whole():
    """What stood before the cut already looks like a key."""
    assert "".join(handed_out(Secrets({}), ["--api-key abcdef01", "23456789\n"])) == (
        "--api-key [removed: a key in a command line]\n"
    )


def test_lines_are_handed_out_when_they_end():
    assert handed_out(Secrets({}), ["a", "b\nc", "\rd\r\n", "e"]) == ["", "ab\n", "c\rd\r\n", "", "e"]


def test_many_pieces_take_linear_time():
    """Progress that overwrites its line is looked at once, not again with every piece."""
    secrets, text = Secrets({"DEMO_TOKEN": "planted-7731"}), 0
    looked, without = [], secrets.without
    secrets.without = lambda line: looked.append(len(line)) or without(line)
    pieces = Pieces(secrets)
    for i in range(2_000):
        text += len(pieces.add(f"step {i} of 2000\r"))
    assert sum(looked) == text
