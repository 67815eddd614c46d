"""Write what runs measured into the cards of the shipped drafters.

    python benchmarks/served_cards.py RUN_FOLDER...

Every figure comes from the runs (``data/recorded/`` holds them); the cards' other parts are left as they are.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from labkit.drafters.card import read_card, write_card
from labkit.drafters.package import shipped
from labkit.store import open_run
from labkit.view.cards import served_rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", nargs="+")
    runs = [open_run(folder).measurements() for folder in options.parse_args().runs]
    for name, package in shipped().items():
        rows = [row for run in runs for row in served_rows(run, f"demo/{name}")]
        card = replace(read_card(package), served=rows)
        write_card(package, card)
        print(card)


if __name__ == "__main__":
    main()
