import sys

from snapshots.management.files import FilesCommand, in_bytes
from snapshots.services.checking import Check

WRONG = 1


class Command(FilesCommand):
    help = (
        "Compare the rows of the database with the uploads and stored recordings, both ways, and "
        "say what to do about each difference. Exit code: 1 if something is wrong."
    )

    def handle(self, **_) -> None:
        check = Check()
        wrong = 0
        for finding in check.findings():
            wrong += finding.is_wrong
            self.stdout.write(f"{'Wrong' if finding.is_wrong else 'Note'}: {finding.sentence}")
            self.stdout.write(f"  {finding.advice}")
        for kind, sizes in check.sizes.items():
            self.stdout.write(f"{kind}: {sizes.count:,}, {in_bytes(sizes.size)}")
        if wrong:
            self.stdout.write(f"{wrong:,} wrong.")
            sys.exit(WRONG)
        self.stdout.write("Rows and files agree.")
