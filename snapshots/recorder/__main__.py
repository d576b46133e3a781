"""Joins logs: ``python -m cutline_recorder join a.jsonl b.jsonl --into whole.jsonl``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .joining import join


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m cutline_recorder")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    joining = commands.add_parser("join", help="join the logs of one system's processes")
    joining.add_argument("logs", nargs="+", type=Path, help="a log of each process")
    joining.add_argument("--into", required=True, type=Path, help="the recording to write")
    chosen = parser.parse_args()
    try:
        with chosen.into.with_name(chosen.into.name + ".new").open("wb") as file:
            join(chosen.logs, file)
        Path(file.name).replace(chosen.into)
    except (OSError, ValueError) as error:
        Path(f"{chosen.into}.new").unlink(missing_ok=True)
        sys.exit(str(error))


if __name__ == "__main__":
    main()
