"""What the tests of the web half need: users, clients, files, and ready recordings.

A ready recording is written by the reference (assembly, verdicts, the store's writer), which makes
the same store as Spark, but in milliseconds.
"""

import gzip
import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pyarrow as pa
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints, decisions, files
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from snapshots.files import recordings
from snapshots.models import Recording, Snapshot
from snapshots.readers.logs.native import write_lines
from snapshots.store.layout import NONE, SNAPSHOT_CHANNEL_COLUMNS, SNAPSHOT_STATE_COLUMNS
from snapshots.store.writer import write_checkpoints, write_recording, write_snapshots
from webapp.accounts.services import get_or_create_user, make_token

_written: dict[str, tuple[Path, recordings.Summary]] = {}


def a_person(email: str = "ada@example.org") -> User:
    return get_or_create_user(email)


def a_client(user: User) -> Client:
    """Return a client with a bearer token. An answer of 500 is returned, not raised."""
    _, token = make_token(user, "test")
    return Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)


def native(log: Log) -> bytes:
    return b"".join(write_lines(log.header, log.events))


def a_file(content: bytes = b"", name: str = "log.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content or native(two_banks()))


def packed(log: Log) -> bytes:
    return gzip.compress(native(log))


def uploads_of(data_dir: Path) -> list[str]:
    return sorted(path.name for path in (data_dir / "uploads").iterdir())


def post_json(client: Client, address: str, body: object, method: str = "post"):
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.generic(method.upper(), address, text, content_type="application/json")


def a_ready_recording(owner: User | None, log: Log | None = None, **fields) -> Recording:
    """Return a ready recording, by default of the two banks."""
    log = log or two_banks()
    row = Recording.objects.create(owner=owner, name=log.header.name, **fields)
    name = recordings.name_of(row.pk, 0)
    Recording.objects.filter(pk=row.pk).update(store=name)  # else a sweep sets the folder aside
    folder = recordings.store().folder(name)
    if (key := repr(log)) not in _written:
        _write(log, name)
        _written[key] = (
            shutil.copytree(folder, _kept() / str(len(_written))),
            recordings.summary(name),
        )
    else:
        shutil.copytree(_written[key][0], folder)
        os.utime(folder)  # a copy would be as old as what it was copied from
    _make_ready(row, name, _written[key][1])
    return row


@cache
def _kept() -> Path:
    """Return the folder of stores that are copied, for most tests need the same log and writing is
    slow."""
    return Path(tempfile.mkdtemp(dir=os.environ["DATA_DIR"]))


def _write(log: Log, name: str) -> None:
    assembly = assemble(log.header, log.events)
    temporary = Path(tempfile.mkdtemp(dir=_kept()))  # a worker would sweep one in the store
    manifest = write_recording(assembly.recording, temporary, assembly.defects)
    reports = judge(assembly.recording)
    write_snapshots(temporary, *tables_of(reports, manifest.snapshots, assembly.recording.topology))
    if "dataflow" in manifest.header_extra:
        told = checkpoints, files, decisions, all_failovers
        write_checkpoints(temporary, *(tell(assembly.recording) for tell in told))
    recordings.store().root.mkdir(parents=True, exist_ok=True)
    recordings.publish(temporary, name)


def _make_ready(row: Recording, name: str, found: recordings.Summary) -> None:
    with transaction.atomic():
        Snapshot.objects.bulk_create(
            Snapshot(recording=row, **fields) for fields in found.snapshots
        )
        for field, value in {**found.fields, "store": name, "status": "ready"}.items():
            setattr(row, field, value)
        row.save()


def tables_of(reports: tuple[SnapshotReport, ...], snapshots, topology):
    """Return the summaries and tables of reports, as ``write_snapshots`` takes them."""
    codes = {snapshot: code for code, snapshot in enumerate(snapshots)}
    states, channels = [], []
    for report in reports:
        code = codes[report.snapshot]
        states += [_state(report, code, place, p.id) for place, p in enumerate(topology.processes)]
        channels += [
            _channel(report, code, place, c.id) for place, c in enumerate(topology.channels)
        ]
    spoken = [row for row in channels if row["recorded"] is not None or row["recomputed"]]
    return (
        [report.summary() for report in reports],
        pa.Table.from_pylist(states, SNAPSHOT_STATE_COLUMNS),
        pa.Table.from_pylist(spoken, SNAPSHOT_CHANNEL_COLUMNS),
    )


def _state(report: SnapshotReport, snapshot: int, place: int, process: str) -> dict:
    return {
        "snapshot": snapshot,
        "process": place,
        "position": report.positions.get(process, NONE),
        "recorded_at": report.recorded_at.get(process),
        "recorded": report.recorded_states.get(process),
        "recomputed": report.recomputed_states.get(process),
    }


def _channel(report: SnapshotReport, snapshot: int, place: int, channel: str) -> dict:
    recorded = report.recorded_channels.get(channel)
    recomputed = report.in_flight.get(channel)
    return {
        "snapshot": snapshot,
        "channel": place,
        "recorded": None if recorded is None else list(recorded),
        "recomputed": None if recomputed is None else list(recomputed),
    }


def signed_in(user) -> Client:
    """Return a client like a browser in which somebody is signed in."""
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def text_of(answer, status: int = 200) -> str:
    """Return the text of an answered page, with each run of white space as one space.

    A browser shows it so. A status other than ``status`` fails.
    """
    assert answer.status_code == status, answer.content[-2000:]
    return " ".join(answer.content.decode().split())
