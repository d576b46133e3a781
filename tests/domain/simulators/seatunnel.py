"""Simulated jobs of SeaTunnel, and what their logs say."""

from collections import Counter

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import RECORD_STATE
from snapshots.domain.model.values import parsed
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.seatunnel.simulation import SeaTunnelSimulation
from tests.dataflows import word_count


def a_job(flow=None, *, failures=(), **options) -> SeaTunnelSimulation:
    names = PipelineSettings.__dataclass_fields__
    settings = {"interval": 6_000, "retry_wait": 500, "retries": 50}
    settings |= {name: options.pop(name) for name in list(options) if name in names}
    failures = tuple(FailAt(*failure) for failure in failures)
    return SeaTunnelSimulation(
        flow or word_count(), PipelineSettings(**settings), failures=failures, **options
    )


def of_kind(run, *kinds):
    return [(event, parsed(event.extra) or {}) for event in run.log.events if event.kind in kinds]


def reports(run):
    """Return the report on each checkpoint, by its number."""
    assembly = assemble(*run.log)
    assert assembly.defects == ()
    return {int(report.snapshot): report for report in judge(assembly.recording)}


def splits_in(run, cid):
    """How often each split is in what enumerator and readers have recorded."""
    found = Counter()
    for event, _ in of_kind(run, RECORD_STATE):
        if event.snapshot == str(cid) and "source" in event.process:
            found.update(list(parsed(event.state)["splits"]))
    return found


def merged(run):
    """States by vertex: after a restore other readers have the splits, so that what lies behind a
    forward edge lies elsewhere."""
    found = {}
    for process, state in run.counted.states.items():
        vertex = found.setdefault(process.split("[")[0], {})
        for key, value in state.items():
            if isinstance(value, dict):
                vertex.setdefault(key, {}).update(value)
            elif isinstance(value, int):
                vertex[key] = vertex.get(key, 0) + value
            else:
                vertex[key] = value
    return found


def seen_at(run, sink):
    return Counter(record.rid for record in run.counted.visible[sink])
