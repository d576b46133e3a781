"""What Cutline's own reader and judge say about lines in the native format."""

import json

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.columns import logged_events
from snapshots.readers.logs.headers import parse_header
from snapshots.readers.logs.native import parse_lines


def assembly_of(text: bytes):
    """Return the recording and its defects; the first line is the header."""
    first, _, rest = text.partition(b"\n")
    header = parse_header(json.loads(first), 1, Limits())
    batch, defects = parse_lines(rest, 2, header)
    assert not [item for item in defects if item.severity == "refused"], defects
    return assemble(header, logged_events([batch], header))


def reports_of(text: bytes):
    return {report.snapshot: report for report in judge(assembly_of(text).recording)}
