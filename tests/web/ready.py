"""A ready recording in the store and the database, from the reference: no Spark, no queue."""

import pyarrow as pa

from snapshots import stores
from snapshots.domain.assembly import assemble
from snapshots.domain.recording import Recording as Run
from snapshots.domain.script import Log
from snapshots.domain.verdicts import SnapshotReport, judge
from snapshots.models import Recording, Snapshot
from snapshots.store.layout import NONE, SNAPSHOT_CHANNEL_COLUMNS, SNAPSHOT_STATE_COLUMNS
from snapshots.store.writer import write_recording, write_snapshots


def ready_recording(owner, log: Log, **fields) -> Recording:
    """fields: of the row. Needs the fixture ``data_dir``."""
    row = Recording.objects.create(owner=owner, **{"name": log.header.name, **fields})
    name = stores.name_of(row.pk, 1)
    folder = stores.store().temporary(name)
    assembly = assemble(*log)
    manifest = write_recording(assembly.recording, folder, assembly.defects)
    write_judged(folder, assembly.recording, manifest.snapshots)
    stores.publish(folder, name)
    found = stores.summary(name)
    Snapshot.objects.bulk_create(Snapshot(recording=row, **item) for item in found.snapshots)
    ready = {**found.fields, "status": Recording.Status.READY, "store": name}
    Recording.objects.filter(pk=row.pk).update(**ready)
    row.refresh_from_db()
    return row


def write_judged(folder, run: Run, snapshots) -> None:
    reports = sorted(judge(run), key=lambda report: snapshots.index(report.snapshot))
    states = [row for code, report in enumerate(reports) for row in _states(run, code, report)]
    channels = [row for code, report in enumerate(reports) for row in _channels(run, code, report)]
    write_snapshots(
        folder,
        [report.summary() for report in reports],
        pa.Table.from_pylist(states, SNAPSHOT_STATE_COLUMNS),
        pa.Table.from_pylist(channels, SNAPSHOT_CHANNEL_COLUMNS),
    )


def _states(run: Run, code: int, report: SnapshotReport):
    for number, process in enumerate(run.topology.processes):
        yield {
            "snapshot": code,
            "process": number,
            "position": report.positions.get(process.id, NONE),
            "recorded_at": report.recorded_at.get(process.id, NONE),
            "recorded": report.recorded_states.get(process.id),
            "recomputed": report.recomputed_states.get(process.id),
        }


def _channels(run: Run, code: int, report: SnapshotReport):
    for number, channel in enumerate(run.topology.channels):
        recorded = report.recorded_channels.get(channel.id)
        in_flight = report.in_flight.get(channel.id)
        if recorded is not None or in_flight != ():
            yield {
                "snapshot": code,
                "channel": number,
                "recorded": recorded,
                "recomputed": in_flight,
            }
