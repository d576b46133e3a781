"""Hold requirements, locks, licences, page and bill together, and ask for vulnerabilities.

python -m tests.supply          what `make check` does; exits with 1 if something is wrong
python -m tests.supply write    writes the page and the bill for the packages that are installed
"""

import sys

from tests.supply import advisories, bill, installed, licences, lock, page


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    if arguments == ["write"]:
        page.write_page()
        bill.write_bill()
        return 0
    faults = lock.faults() or [
        fault for part in (installed, licences, page, bill) for fault in part.faults()
    ]
    print(*faults, sep="\n", end="\n" if faults else "")
    known, none_known = advisories.check()
    print(known)
    return int(bool(faults) or not none_known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
