"""A campaign by hand: ``python -m tests.campaign --strikes 200 --database sqlite --seed 1``.

Prints a table of the strikes, then what was wrong; exits with 1 where something was. PostgreSQL is
a server of its own, or the empty database that DATABASE_URL names.
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from tests.campaign.database import new_database
from tests.campaign.running import HEAD, Campaign
from tests.campaign.strikes import STRIKES


def main() -> None:
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops everything that was started
    url = ""
    if asked.database == "postgres":
        url = os.environ.get("DATABASE_URL") or new_database()
    with tempfile.TemporaryDirectory(prefix="cutline-campaign-") as folder:
        campaign = Campaign(
            Path(folder),
            seed=asked.seed,
            webs=asked.webs,
            workers=asked.workers,
            database_url=url,
            has_objects=asked.objects,
            is_short=asked.short,
            logs=asked.logs,
            tell=lambda line: print(line, flush=True),
        )
        report = campaign.run(asked.only or asked.strikes)
    print(HEAD, *(struck.row() for struck in report.strikes), sep="\n")
    print(*report.notes, *(f"WRONG: {fault}" for fault in report.faults), sep="\n")
    sys.exit(bool(report.faults))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--strikes", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=STRIKES, help="these, in this order")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument(
        "--objects", action="store_true", help="store and uploads on an object store"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--webs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--short", action="store_true", help="strikes that last are cut short")
    parser.add_argument("--logs", type=Path, help="a folder that gets the logs of every process")
    return parser.parse_args()


if __name__ == "__main__":
    main()
