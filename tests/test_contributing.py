"""What CONTRIBUTING.md names exists, and its recipes work from somebody else's package."""

import importlib
import json
import re
from types import SimpleNamespace

import pytest

from snapshots.domain.judging import findings
from snapshots.domain.judging.findings import Finding, Findings
from snapshots.domain.model import shapes
from snapshots.domain.model.defects import Defects
from snapshots.domain.model.recording import INTERNAL, RECORD_STATE
from snapshots.domain.simulators import algorithms, basic, simulation
from snapshots.domain.simulators.protocols import chandy_lamport
from snapshots.domain.simulators.workloads import Bank
from snapshots.jobs import running
from snapshots.jobs.steps import STEPS, _answer
from snapshots.models import Job
from snapshots.readers import recognition
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.json_events import JsonEventsReader, LineEvent
from tests.stack import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
FOLDERS = "snapshots|tasks|tests|docs|static|templates|webapp"
PATHS = sorted(set(re.findall(rf"`((?:{FOLDERS})/?[\w./]*)`", TEXT)))
NAMES = re.findall(r"`(\w+)` in\s+`([\w/]+)\.py`", TEXT)
TARGETS = set(re.findall(r"\bmake ([a-z-]+)", TEXT))


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("name", "module"), NAMES)
def test_every_name_is_in_its_module(name, module):
    assert hasattr(importlib.import_module(module.replace("/", ".")), name)


def test_every_recipe_names_a_registry():
    assert {"READERS", "REGISTRY", "ALGORITHMS", "STEPS", "urlpatterns"} <= {n for n, _ in NAMES}


def test_every_target_of_make_exists():
    makefile = (ROOT / "Makefile").read_text()
    assert not {target for target in TARGETS if f"\n{target}:" not in makefile}


def test_the_map_has_every_room():
    rooms = {path.parent.name for path in (ROOT / "snapshots").glob("*/__init__.py")}
    rooms -= {"migrations", "templatetags", "guides"}
    assert not {room for room in rooms if f"| `snapshots/{room}` |" not in TEXT}


def test_ci_checks_before_it_tests():
    lines = (ROOT / ".ci/run").read_text().splitlines()
    assert lines.index("make check") < lines.index("make test")


class PostReader(JsonEventsReader):
    """Reads a log of letters: ``{"who": …, "to": …}``."""

    name = title = key = "post"
    notes = ()

    def recognises(self, head: Head) -> str | None:
        """Return a reason if the first line has a writer."""
        return "Letters" if head.fields and "who" in head.fields else None

    def event_of(self, fields: dict) -> LineEvent | None:
        """Return a letter as an event of its writer."""
        return LineEvent(fields["who"], INTERNAL, at=None)


def test_a_log_format_needs_its_reader_and_an_entry(tmp_path, monkeypatch):
    monkeypatch.setitem(recognition.READERS, "post", PostReader())
    log = tmp_path / "letters.jsonl"
    log.write_text("".join(json.dumps({"who": who}) + "\n" for who in "ABA"))
    reader, defects = recognition.sniff(log, Limits()).reader, Defects()
    assert reader.name == "post"
    header = reader.header(log, Limits())
    events = list(recognition.events(reader, log, header, Limits(), defects))
    assert [event.process for event in events] == ["A", "B", "A"]
    assert "post" in recognition.names()


def test_a_verdict_needs_an_entry_and_a_finding(monkeypatch):
    worse, *rest = findings.VERDICTS
    monkeypatch.setattr(findings, "VERDICTS", (worse, "stale", *rest))
    found = Findings()
    for verdict in ("unknown", "stale", worse):
        found.add(Finding(verdict, f"It is {verdict}."))
    assert list(found.worst_first_counts()) == [worse, "stale", "unknown"]


def test_a_protocol_needs_its_steps_and_an_entry(monkeypatch):
    steps = ("start", "begin", "on_message", "on_marker", "COLOURS_MESSAGES")
    mine = SimpleNamespace(**{name: getattr(chandy_lamport, name) for name in steps})
    monkeypatch.setitem(algorithms.ALGORITHMS, "mine", mine)
    start = simulation.SnapshotStart(1000, (shapes.ring(3).processes[0].id,))
    plan = simulation.Simulation(shapes.ring(3), Bank(), 7, 200, snapshots=(start,))
    events = basic.simulate(plan, algorithms.ALGORITHMS["mine"])
    assert sum(event.kind == RECORD_STATE for event in events) == 3


@pytest.mark.django_db
def test_a_kind_of_job_needs_a_step(monkeypatch):
    monkeypatch.setitem(STEPS, "count", lambda lease: _answer(lease, "counted", {"events": 3}))
    job = Job.objects.create(kind=Job._meta.get_field("kind").clean("count", None))
    running.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result) == (Job.State.DONE, {"events": 3})
