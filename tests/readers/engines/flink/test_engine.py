"""Flink's uploads as every engine gives them: inventory, entries, derived recording."""

import json
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.inventory.entries import NotRead
from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS, WHOLE
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.derived import NO_FILES, WHY_EMPTY, WHY_UNKNOWN, why_empty, why_unknown
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.values import parsed
from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.engines.flink.adapter import recording as engine_recording
from snapshots.readers.engines.flink.adapter import runs as engine_runs
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.checkpoint_state import state_types, types_described
from snapshots.readers.engines.flink.types.element_types import UnknownType
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import write_lines
from tests.readers.engines.flink import engine as given
from tests.readers.engines.flink.cases import CASES, LEGACY, UNALIGNED
from tests.readers.inputs import read as read_log
from tests.readers.mutated import MANY, mutated
from tests.readers.units import units

TRANSFER = "tuple<string,string,long>"
AS_LOGS = ("bounded", "failures", "rescaled", "sql-group-agg", "types", "v5-unaligned-bank")
NOT_DECODED = {"types": 6, "types-nulls": 4}  # states with values of Kryo, or of other classes


def expected(shared_data: Path, name: str) -> dict:
    return json.loads((given.folder_of(shared_data, name) / "expected.json").read_text())


# --- contents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_the_inventory_agrees_with_flink_and_its_rest_api(shared_data, name):
    found = given.inventory(shared_data, name)
    upload, entries = given.read(shared_data, name), given.entries(shared_data, name)
    compared, differing = 0, []
    for snapshot in given.expected_snapshots(expected(shared_data, name)):
        number, checkpoint = given.stored(upload, found, snapshot["path"])
        own = [entry for entry in entries if entry.checkpoint == number]
        wanted = given.expected_facts(snapshot)
        facts = given.found_facts(checkpoint, own, wanted)
        compared += len(wanted)
        differing += [where for where in wanted if (where, wanted[where]) not in facts.items()]
    assert compared > 50
    assert {where[-1] for where in differing} <= {"v_kryo", "v_poly"}
    assert len(differing) == NOT_DECODED.get(name, 0)


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_every_file_is_listed_once_and_every_entry_has_its_state(shared_data, name):
    found = given.inventory(shared_data, name)
    folder = given.folder_of(shared_data, name)
    files = [path for path in folder.rglob("*") if path.is_file()]
    paths = [str(path.relative_to(folder)) for path in files]
    assert [one.path for one in found.files] == sorted(paths)
    assert sum(one.bytes for one in found.files) == sum(path.stat().st_size for path in files)
    for one in found.files:
        assert all(number < len(found.checkpoints) for number in one.checkpoints)
        assert one.checkpoints or one.reason or one.role == "answer of the REST API"
    described = {
        (number, operator.id, state.name)
        for number, checkpoint in enumerate(found.checkpoints)
        for operator in checkpoint.operators
        for state in operator.states
    }
    entries = given.entries(shared_data, name)
    assert {(one.checkpoint, one.operator, one.state) for one in entries} <= described
    order = list(dict.fromkeys((one.checkpoint, one.operator) for one in entries))
    assert len(order) == len(set(order))
    assert [number for number, _ in order] == sorted(number for number, _ in order)


def test_sizes_times_and_counts_of_every_case_have_a_unit(shared_data):
    found = set().union(*(units(given.inventory(shared_data, name)) for name in CASES))
    assert {
        ("started at", "epoch ms"),
        ("interval", "ms"),
        ("duration", "ms"),
        ("size of _metadata", "bytes"),
        ("persisted in flight", "bytes"),
        ("checkpoints completed", "count"),
    } <= found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("failures", {"aligned", "not-completed"}),
        ("at-least-once", {"at-least-once"}),
        ("bank-unaligned", {"no-buffers"}),
    ],
)
def test_the_inventory_says_why_channels_are_empty_or_not_known(shared_data, name, words):
    told = given.derived(shared_data, name).recording.header_extra
    by_name = {sentence: word for word, sentence in (WHY_EMPTY | WHY_UNKNOWN).items()}
    said = set()
    for checkpoint in given.inventory(shared_data, name).checkpoints:
        snapshot = str(checkpoint.id)
        if checkpoint.why_unknown is None:
            assert why_empty(told, snapshot) == checkpoint.why_empty
        else:
            assert (checkpoint.why_empty, checkpoint.channels) == (None, ())
            assert why_unknown(told, snapshot) == checkpoint.why_unknown
        said.add(by_name[checkpoint.why_unknown or checkpoint.why_empty])
    assert said == words


def test_an_unaligned_checkpoint_without_its_files_is_not_known_to_have_been_empty(
    shared_data, tmp_path
):
    shutil.copytree(given.folder_of(shared_data, "bank-unaligned") / "rest", tmp_path / "rest")
    upload = FlinkReader().read(tmp_path)
    assert {one.why_unknown for one in upload.inventory().checkpoints} == {WHY_UNKNOWN[NO_FILES]}
    found = assemble(*upload.recording()).recording
    assert {why_unknown(found.header_extra, one) for one in ("1", "2")} == {WHY_UNKNOWN[NO_FILES]}
    assert all(not report.recorded_channels for report in judge(found))


@pytest.mark.parametrize("name", UNALIGNED)
def test_the_types_of_states_are_described_as_in_the_files(shared_data, name):
    upload = given.read(shared_data, name)
    described: dict[int, list[bytes]] = {}
    for one in upload.state_types():
        described.setdefault(one.checkpoint, []).append(one.data)
    assert described
    for checkpoint in upload.checkpoints:
        if checkpoint.number in described:
            own = described[checkpoint.number]
            assert types_described(own) == state_types(upload.upload, checkpoint.stored)
            assert len(set(own)) == len(own)
            assert sum(map(len, own)) < 20_000


@pytest.mark.parametrize("name", UNALIGNED)
def test_channels_hold_the_bytes_and_elements_that_flink_found(shared_data, name):
    upload, found = given.read(shared_data, name), given.inventory(shared_data, name)
    bytes_of = {(one.checkpoint, one.number): one.data for one in upload.channel_bytes()}
    for snapshot in given.expected_snapshots(expected(shared_data, name)):
        number, checkpoint = given.stored(upload, found, snapshot["path"])
        assert [one.number for one in checkpoint.channels] == list(range(len(checkpoint.channels)))
        own = Counter()
        for one in checkpoint.channels:
            data = bytes_of[number, one.number]
            assert (one.part, one.reason, len(data)) == (WHOLE, None, one.bytes)
            own[one.elements, one.bytes, sha256(data).hexdigest()] += 1
        assert own == Counter(
            (one["elements"], one["inputBytes"] + one["outputBytes"], one["sha256"])
            for edge in snapshot["flink"]["inFlightRecords"]
            for one in edge["channels"]
        )


def test_operator_state_is_compared_by_its_elements(shared_data):
    offsets = {
        (entry.checkpoint, entry.subtask): entry
        for entry in given.entries(shared_data, "bank-aligned")
        if entry.state == "SourceReaderState"
    }
    first, *later = (offsets[number, 0] for number in range(3))
    assert {entry.identity for entry in later} == {first.identity}
    assert len({entry.digest for entry in offsets.values()} - {None}) == len(
        {str(entry.value) for entry in offsets.values()}
    ) > 1  # fmt: skip


def test_a_failed_checkpoint_is_listed_without_files(shared_data):
    found = {one.id: one for one in given.inventory(shared_data, "failures").checkpoints}
    assert Counter(one.status for one in found.values()) == {
        COMPLETED: 7,
        FAILED: 7,
        IN_PROGRESS: 1,
    }
    assert found[3].problem.endswith("Checkpoint expired before completing.")
    assert [operator.name for operator in found[3].operators if operator.subtasks]
    assert found[3].completed_at is None
    assert found[4].completed_at - found[4].triggered_at == 694


def test_absent_files_are_missing_and_private_state_is_not_read(shared_data, tmp_path):
    case = given.folder_of(shared_data, "forst-async-state") / "files"
    (last,) = case.glob("*/chk-2")
    shutil.copytree(last, tmp_path / "chk-2")
    upload = FlinkReader().read(tmp_path)
    entries = list(upload.entries())
    (checkpoint,) = upload.inventory().checkpoints
    (count,) = (one for one in checkpoint.operators if one.name == "async-count")
    assert checkpoint.missing
    assert all(one.bytes for one in checkpoint.missing)
    assert not any(state.complete for state in count.states)
    assert any("No file of that name" in note for note in count.notes)
    coordinators = [one for one in entries if one.subtask == -1]
    assert coordinators
    assert all(isinstance(one.value, NotRead) for one in coordinators)


def test_keys_are_found_again_in_another_layout_and_parallelism(shared_data):
    """The job was stopped with a canonical savepoint and went on in three subtasks."""
    entries = given.entries(shared_data, "rescaled")
    numbers = sorted({one.checkpoint for one in entries})
    before, after = (
        {
            (one.operator, one.state, one.identity): one
            for one in entries
            if one.checkpoint == number and one.key_group is not None
        }
        for number in numbers[:2]
    )
    both = before.keys() & after.keys()
    assert len(both) == len(before) > 10
    assert {before[key].key == after[key].key for key in both} == {True}
    same = [before[key].value == after[key].value for key in both]
    assert same == [before[key].digest == after[key].digest for key in both]
    assert True in same
    assert {one.subtask for one in before.values()} != {one.subtask for one in after.values()}


# --- the derived recording ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CASES, *LEGACY])
def test_the_recording_has_no_defect_and_claims_nothing(shared_data, name):
    assembly = given.derived(shared_data, name)
    assert assembly.defects == ()
    recording = assembly.recording
    assert recording.header_extra["derived"] is True
    events = [event for own in recording.events.values() for event in own]
    assert all(parsed(event.extra)["derived"] for event in events)
    statuses = [one.status for one in given.inventory(shared_data, name).checkpoints]
    reports = judge(recording)
    assert len(reports) == len(statuses)
    for report, status in zip(reports, statuses, strict=True):
        verdicts = {finding.verdict for finding in report.findings}
        assert verdicts == {"unknown"} | ({"incomplete"} & verdicts)
        if status == COMPLETED:
            assert "incomplete" not in verdicts
            assert report.positions.keys() <= {one.id for one in recording.topology.processes}


@pytest.mark.parametrize("name", [*AS_LOGS, *LEGACY])
def test_the_recording_can_be_read_as_a_log(shared_data, tmp_path, name):
    header, events = given.read(shared_data, name).recording()
    events = list(events)
    path = tmp_path / "derived.jsonl"
    path.write_bytes(b"".join(write_lines(header, events)))
    limits = Limits()
    assert recognition.sniff(path, limits, None).reader.name == "native"
    found, read, defects = read_log(path, limits)
    assert (found.topology, found.extra, defects) == (header.topology, header.extra, ())
    assert read == events


def rest_answers(shared_data: Path, name: str) -> dict[str, dict]:
    """Return the details that the REST API gave of each checkpoint, by snapshot."""
    folder = given.folder_of(shared_data, name)
    later = " (run 2)" if (folder / "rest-before").exists() else ""
    found = {}
    for part, mark in (("rest-before", ""), ("rest", later)):
        for path in (folder / part).glob("checkpoint-*.json"):
            value = json.loads(path.read_text())
            subtasks = value.get("subtasks")
            of = found.setdefault(f"{value['id']}{mark}", {"subtasks": {}})
            if subtasks is None:
                of |= value
            else:
                of["subtasks"][path.stem.rpartition("-")[2]] = subtasks
    return found


def names_of(shared_data: Path, name: str) -> dict[str, dict[str, str]]:
    """Return the names of the vertices, by snapshot."""
    return {
        run.snapshots[checkpoint.number]: run.names
        for run in given.read(shared_data, name).runs
        for checkpoint in run.checkpoints
    }


@pytest.mark.parametrize("name", [name for name in CASES if name != "v2-bank-fs"])
def test_reports_of_checkpoints_agree_with_the_rest_api(shared_data, name):
    reports = {
        one.checkpoint: one for one in checkpoints(given.derived(shared_data, name).recording)
    }
    names = names_of(shared_data, name)
    answers = rest_answers(shared_data, name)
    assert answers
    for snapshot, told in answers.items():
        report = reports[snapshot]
        assert report.kind == ("savepoint" if told["is_savepoint"] else "checkpoint")
        if told["status"] != "IN_PROGRESS":
            assert report.duration == told["end_to_end_duration"]
        assert (report.status == "completed") == (told["status"] == "COMPLETED")
        tasks = {task.process: task for task in report.tasks}
        for vertex, subtasks in told["subtasks"].items():
            for one in subtasks:
                task = tasks.get(f"{names[snapshot][vertex]}[{one['index']}]")
                if task is not None and one["status"] == "completed":
                    _agrees(report, task, one)
    assert any(report.tasks for report in reports.values())


def _agrees(report: CheckpointReport, task, one: dict) -> None:
    alignment = one["alignment"]["duration"]
    assert task.start_delay == one["start_delay"]
    assert (task.alignment or 0) == alignment
    assert task.sync_to - task.sync_from == one["checkpoint"]["sync"]
    assert task.async_to - task.sync_to == one["checkpoint"]["async"]
    assert (task.bytes_total, task.bytes_new) == (one["state_size"], one.get("checkpointed_size"))
    if one["aborted"]:
        assert task.acked_at is None
    else:
        assert task.acked_at - report.triggered_at == one["end_to_end_duration"]


def test_the_reason_of_a_failure_is_given(shared_data):
    found = checkpoints(given.derived(shared_data, "failures").recording)
    reports = {one.checkpoint: one for one in found}
    assert (reports["2"].status, reports["2"].reason) == (
        "aborted",
        "Asynchronous task checkpoint failed",
    )
    assert reports["2"].critical_path == ()
    assert reports["3"].status == "expired"
    assert "slow-sink[0] was still copying its state" in reports["3"].sentence
    assert reports["15"].status == "pending"
    acknowledged = [task for task in reports["14"].tasks if task.acked_at is not None]
    assert (len(acknowledged), len(reports["14"].tasks)) == (8, 10)


def test_a_subtask_that_is_still_at_an_earlier_checkpoint_is_not_waiting_for_a_sender(shared_data):
    """slow-sink[0] copied its state for checkpoints 3, 7 and 11 beyond their end.

    Checkpoint 7 was triggered at 6,000 ms; its copy began after 111 ms and took 2,601 ms.
    """
    found = checkpoints(given.derived(shared_data, "failures").recording)
    reports = {one.checkpoint: one for one in found}
    told = {}
    for number in ("4", "8", "12"):
        slow = next(one for one in reports[number].tasks if one.process == "slow-sink[0]")
        told[number] = slow.busy_with, slow.busy_until
        longest = max(reports[number].critical_path, key=lambda segment: segment.length)
        assert (longest.process, longest.phase, longest.channel) == ("slow-sink[0]", "busy", None)
        assert longest.earlier == slow.busy_with
        assert slow.busy_until <= slow.first_barrier_at <= slow.busy_until + 1
    assert told == {"4": ("3", 4094), "8": ("7", 6000 + 111 + 2601), "12": ("11", 13_329)}
    assert reports["8"].sentence == (
        "It took 713 ms; 709 ms of these slow-sink[0] was still copying its state for checkpoint 7."
    )
    others = (task for one in found for task in one.tasks if task.process != "slow-sink[0]")
    assert all(task.busy_until is None for task in others)


def test_what_came_out_at_the_sinks_of_a_real_job_is_not_claimed(shared_data):
    found = all_failovers(given.derived(shared_data, "failures").recording)
    assert (found.sinks, found.dropped, found.reports) == ((), (), ())


def test_a_checkpoint_that_was_given_up_names_who_had_not_acknowledged(shared_data):
    found = checkpoints(given.derived(shared_data, "failures").recording)
    ends = {one.checkpoint: one.sentence.rpartition("failed. ")[2] for one in found}
    assert ends["2"] == ends["6"] == ends["10"] == "slow-sink[0] had not acknowledged."
    assert ends["14"] == "apply-rules[0] and slow-sink[0] had not acknowledged."


def test_finished_subtasks_are_not_asked_and_their_ends_stand_for_barriers(shared_data):
    recording = given.derived(shared_data, "bounded").recording
    reports = {one.checkpoint: one for one in checkpoints(recording)}
    assert len(reports["2"].tasks) == 8
    assert len(reports["3"].tasks) == 6
    assert len(reports["4"].tasks) == 5
    ended = [
        event.channel
        for event in recording.events["count[0]"]
        if event.kind == "marker_receive" and parsed(event.extra).get("end")
    ]
    assert len(ended) == 2 + 3


def test_two_jobs_are_two_scopes(shared_data):
    recording = given.derived(shared_data, "rescaled").recording
    scopes = Counter(process.scope for process in recording.topology.processes)
    assert scopes == {"run 1": 11, "run 2": 15}
    assert {"enrich[1]", "enrich (run 2)[2]"} <= recording.topology.process_by_id.keys()
    assert [report.snapshot for report in judge(recording)] == [
        "1", "2", "3", "4 (run 2)", "5 (run 2)",
    ]  # fmt: skip


def test_a_checkpoint_of_another_parallelism_belongs_to_another_run(shared_data, tmp_path):
    """A job takes such a savepoint before it is scaled up in place."""
    case = given.folder_of(shared_data, "rescaled")
    shutil.copytree(case / "rest", tmp_path / "rest")
    (savepoint,) = (case / "files").glob("savepoint-*")
    (second,) = (path.parent for path in (case / "files").glob("*/chk-4"))
    shutil.copytree(savepoint, tmp_path / f"savepoint-{second.name[:6]}-{'0' * 12}")
    upload = FlinkReader().read(tmp_path)
    assembly = assemble(*upload.recording())
    assert [(run.job.id, len(run.checkpoints)) for run in upload.runs] == [
        (second.name, 1),
        (second.name, 2),
    ]
    scopes = Counter(process.scope for process in assembly.recording.topology.processes)
    assert scopes == {"run 1": 11, "run 2": 15}
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}


def test_a_lone_checkpoint_is_a_recording_without_times(shared_data, tmp_path):
    case = given.folder_of(shared_data, "bank-unaligned") / "files"
    (last,) = case.glob("*/chk-2")
    shutil.copytree(last, tmp_path / "chk-2")
    upload = FlinkReader().read(tmp_path)
    assembly = assemble(*upload.recording())
    recording = assembly.recording
    assert assembly.defects == ()
    assert (recording.topology.channels, checkpoints(recording)) == ((), ())
    assert not {"epoch", "dataflow"} & recording.header_extra.keys()
    assert {"withdraw[0]", "deposit[1]", "to-request[0]"} <= recording.events.keys()
    (report,) = judge(recording)
    assert report.snapshot == "2"
    assert {finding.verdict for finding in report.findings} == {"unknown"}
    halves = upload.inventory().checkpoints[0].channels
    assert sum(one.bytes for one in halves) == 96294
    assert all(one.elements is None and one.reason for one in halves)


def test_answers_alone_are_a_recording(shared_data, tmp_path):
    shutil.copytree(given.folder_of(shared_data, "bank-unaligned") / "rest", tmp_path / "rest")
    upload = FlinkReader().read(tmp_path)
    assembly = assemble(*upload.recording())
    assert assembly.defects == ()
    assert [one.duration for one in checkpoints(assembly.recording)] == [16, 22]
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}
        assert report.recorded_channels == {}  # bytes were in flight; which, no file says
        assert len(report.recorded_states) == 6
        assert parsed(report.recorded_states["withdraw[0]"])["bytes"]["in flight"] > 0
    assert all("not in the upload" in one.problem for one in upload.inventory().checkpoints)


def test_without_the_answers_about_subtasks_only_the_checkpoint_is_known(shared_data, tmp_path):
    shutil.copytree(given.folder_of(shared_data, "bank-aligned"), tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "rest").glob("checkpoint-*-subtasks-*.json"):
        path.unlink()
    assembly = assemble(*FlinkReader().read(tmp_path).recording())
    assert assembly.defects == ()
    reports = checkpoints(assembly.recording)
    assert [(one.duration, one.tasks) for one in reports] == [(33, ()), (13, ()), (26, ())]
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}


def test_alignments_are_kept_where_edges_are_too_many(shared_data, monkeypatch):
    monkeypatch.setattr(engine_recording, "MOST_ON_CHANNELS", 0)
    upload = FlinkReader().read(given.folder_of(shared_data, "failures"))
    header, events = upload.recording()
    assert any("too many channels" in note for note in header.extra["notes"])
    fewer = checkpoints(assemble(header, events).recording)
    whole = checkpoints(given.derived(shared_data, "failures").recording)
    for one, other in zip(fewer, whole, strict=True):
        assert {(t.process, t.start_delay, t.alignment, t.sync_from) for t in one.tasks} == {
            (t.process, t.start_delay, t.alignment, t.sync_from) for t in other.tasks
        }


def test_the_latest_checkpoints_are_shown_where_there_are_too_many(shared_data, monkeypatch):
    monkeypatch.setattr(engine_recording, "MOST_CHECKPOINTS", 2)
    upload = FlinkReader().read(given.folder_of(shared_data, "rocksdb-incremental"))
    header, events = upload.recording()
    assert {event.snapshot for event in events} == {"3", "4"}
    assert (
        "The 2 earliest checkpoints are left out; the inventory has all." in header.extra["notes"]
    )


def test_only_the_coordinator_is_shown_where_subtasks_are_too_many(shared_data, monkeypatch):
    monkeypatch.setattr(engine_runs, "MOST_SUBTASKS", 4)
    upload = FlinkReader().read(given.folder_of(shared_data, "bank-unaligned"))
    assembly = assemble(*upload.recording())
    assert assembly.recording.events.keys() == {"coordinator"}
    assert len(upload.inventory().checkpoints) == 2
    assert len(list(upload.channel_bytes())) > 0


# --- data in flight -------------------------------------------------------------------------------


def test_no_money_of_the_bank_is_lost(shared_data):
    """All money withdrawn is either credited or in the channels between the two."""
    types = {"withdraw -> deposit": TRANSFER}
    upload = FlinkReader(types).read(given.folder_of(shared_data, "bank-unaligned"))
    header, events = upload.recording()
    recording = assemble(header, events).recording
    assert {one["type"]: one["inferred"] for one in header.extra["record_types"] if
            one["source"] == "withdraw"} == {TRANSFER: None}  # fmt: skip
    wanted = [one["money"] for one in expected(shared_data, "bank-unaligned")["snapshots"]]
    channels = recording.topology.channels
    for report, money in zip(judge(recording), wanted, strict=True):
        states = {name: parsed(state) for name, state in report.recorded_states.items()}
        balances, credits = (
            [states[f"{vertex}[{place}]"].get("states", {}).get(state) for place in (0, 1)]
            for vertex, state in (("withdraw", "balance"), ("deposit", "credited"))
        )
        withdrawn = sum(1000 * one["entries"] - one["sum"] for one in balances if one)
        credited = sum(one["sum"] for one in credits if one)
        amounts = [
            parsed(recording.messages[channel.id][ordinal].value)[2]
            for channel in channels
            if channel.source.startswith("withdraw")
            for ordinal in report.in_flight[channel.id]
        ]
        assert (withdrawn, credited, sum(amounts)) == (
            money["withdrawn"], money["deposited"], money["inFlight"],
        )  # fmt: skip
        assert withdrawn == credited + sum(amounts)
        for channel in channels:
            messages = recording.messages[channel.id]
            flying = tuple(messages[ordinal].id for ordinal in report.in_flight[channel.id])
            assert report.recorded_channels[channel.id] == flying


def test_the_only_type_that_fits_is_marked_as_inferred(shared_data):
    recording = given.derived(shared_data, "unaligned-orders").recording
    found = {
        (one["source"], one["target"]): (one["type"], one["inferred"])
        for one in recording.header_extra["record_types"]
    }
    assert found["apply-rules", "slow-sink"] == ("string", "the one type that fits every record")
    assert not any(source.startswith("Source: rates") for source, _ in found)  # two types fit
    rates = [
        parsed(message.value)
        for channel, messages in recording.messages.items()
        if channel.startswith("Source: rates")
        for message in messages
    ]
    assert rates
    assert all(value.keys() in ({"bytes"}, {"watermark"}) for value in rates)
    last = given.inventory(shared_data, "unaligned-orders").checkpoints[-1]
    facts = {fact.name: (fact.value, fact.inferred) for fact in last.facts}
    assert facts["records of apply-rules -> slow-sink"] == found["apply-rules", "slow-sink"]


def test_a_type_that_does_not_fit_is_refused(shared_data):
    folder = given.folder_of(shared_data, "bank-unaligned")
    for name in ("string", "no such type"):
        with pytest.raises(UnknownType):
            FlinkReader({"withdraw -> deposit": name}).read(folder).recording()


def test_data_in_flight_is_received_once_before_the_next_checkpoint(shared_data):
    recording = given.derived(shared_data, "unaligned-orders").recording
    kinds = Counter(
        (event.kind, event.message.partition(":")[0])
        for own in recording.events.values()
        for event in own
        if event.kind in (SEND, RECEIVE)
    )
    assert kinds[SEND, "1"] == kinds[RECEIVE, "1"] > 0
    assert kinds[SEND, "2"] > 0 == kinds[RECEIVE, "2"]


@pytest.mark.parametrize("later", [-20_000, 0, 5])
def test_checkpoints_that_overlap_or_go_back_in_time_lose_no_message(shared_data, tmp_path, later):
    shutil.copytree(given.folder_of(shared_data, "bank-unaligned"), tmp_path, dirs_exist_ok=True)
    first, second = (tmp_path / "rest" / f"checkpoint-{number}.json" for number in (1, 2))
    told = json.loads(second.read_text())
    told["trigger_timestamp"] = json.loads(first.read_text())["trigger_timestamp"] + later
    second.write_text(json.dumps(told))
    (tmp_path / "rest" / "checkpoints.json").unlink()
    assembly = assemble(*FlinkReader().read(tmp_path).recording())
    assert assembly.defects == ()
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} == {"unknown"}
        assert any(report.recorded_channels.values())


def test_channels_whose_halves_cannot_be_joined_are_not_known(shared_data, tmp_path):
    shutil.copytree(given.folder_of(shared_data, "v5-unaligned-bank"), tmp_path, dirs_exist_ok=True)
    path = tmp_path / "rest" / "plan.json"
    plan = json.loads(path.read_text())
    plan["plan"]["nodes"][0]["inputs"][0]["ship_strategy"] = "FORWARD"
    path.write_text(json.dumps(plan))
    upload = FlinkReader().read(tmp_path)
    (report,) = judge(assemble(*upload.recording()).recording)
    assert report.recorded_channels == {}  # the halves at one vertex may be of any of its edges
    assert sum(one.bytes for one in upload.inventory().checkpoints[0].channels) == 98208


def test_the_messages_that_barriers_overtook_are_counted(shared_data):
    """Flink's own classes say that these are all elements outside the receiver's buffers."""
    found = checkpoints(given.derived(shared_data, "bank-unaligned").recording)
    for report, snapshot in zip(
        found, expected(shared_data, "bank-unaligned")["snapshots"], strict=True
    ):
        edges = snapshot["flink"]["inFlightRecords"]
        channels = [channel for edge in edges for channel in edge["channels"]]
        elements = sum(one["elements"] for one in channels)
        inside = sum(one["elementsWhollyInInputChannel"] for one in channels)
        assert sum(task.in_flight for task in report.tasks) == elements
        assert sum(task.overtaken for task in report.tasks) == elements - inside


@pytest.mark.parametrize("damage", ["an edge from nowhere", "a cycle"])
def test_messages_are_in_their_channels_in_a_graph_that_is_no_dataflow(
    shared_data, tmp_path, damage
):
    shutil.copytree(given.folder_of(shared_data, "v5-unaligned-bank"), tmp_path, dirs_exist_ok=True)
    path = tmp_path / "rest" / "plan.json"
    plan = json.loads(path.read_text())
    deposit, withdraw, source = plan["plan"]["nodes"]
    if damage == "a cycle":
        source["inputs"] = [{"id": deposit["id"], "num": 0, "ship_strategy": "HASH"}]
    else:
        withdraw["inputs"][0]["id"] = "0" * 32
    path.write_text(json.dumps(plan))
    assembly = assemble(*FlinkReader().read(tmp_path).recording())
    assert assembly.defects == ()
    (report,) = judge(assembly.recording)
    assert {finding.verdict for finding in report.findings} == {"unknown"}
    flying = {name: len(own) for name, own in report.recorded_channels.items()}
    assert sum(flying[f"withdraw[{a}]->deposit[{b}]"] for a in (0, 1) for b in (0, 1)) > 100


# --- who is recognised, and what is hostile -------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["job/chk-1/_metadata", "job/shared/a"], b""),
        (["_metadata"], bytes.fromhex("4960672d00000006")),
        (["anything"], bytes.fromhex("4960672d00000006")),
        (["rest/checkpoint-1-subtasks-" + "a" * 32 + ".json", "rest/plan.json"], b""),
        (["jobs/" + "a" * 32 + "/checkpoints.json", "config.json"], b""),
        (["a" * 32, "b" * 32], b""),
        (["a" * 32], b'{"archive":[{"path":"/jobs/overview","json":"{}"}]}'),
        (["job.json"], b'{"jid":"' + b"a" * 32 + b'","name":"bank"'),
        (["checkpoints.json"], b'{"counts":{"restored":0,"total":2}'),
        (
            ["one.json"],
            b'{"className":"completed","id":1,"status":"COMPLETED","is_savepoint":false',
        ),
    ],
)
def test_files_of_flink_are_recognised_with_a_reason(names, start):
    reason = FlinkReader().recognises(names, start)
    assert reason.endswith(".")
    assert "Flink" in reason


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["metadata", "offsets/0", "commits/0", "state/0/0/1.delta"], b""),
        (["log.jsonl"], b'{"kind":"header","format":"cutline"'),
        (["job.json"], b'{"jobId":"1"}'),
        (["_spark_metadata/0"], b"v1"),
        ([], b""),
    ],
)
def test_files_of_others_are_not_recognised(names, start):
    assert FlinkReader().recognises(names, start) is None


def test_each_real_answer_is_recognised_by_itself(shared_data):
    rest = given.folder_of(shared_data, "failures") / "rest"
    for name in ("job.json", "plan.json", "checkpoints.json", "checkpoint-3.json"):
        assert FlinkReader().recognises([name], (rest / name).read_bytes()[:512]), name


def test_it_is_one_of_the_readers():
    assert registry.READERS["flink"].title == "Flink checkpoints"


def test_a_timeout_that_no_log_can_hold_is_not_known(shared_data, tmp_path):
    folder = tmp_path / "types"
    shutil.copytree(given.folder_of(shared_data, "types") / "rest", folder / "rest")
    path = folder / "rest" / "checkpoints-config.json"
    config = json.loads(path.read_text())
    for timeout, known in ((2**63 - 1, 2**63 - 1), (2**63, None), (10**40, None), (-1, None)):
        path.write_text(json.dumps(config | {"timeout": timeout}))
        _, events = FlinkReader().read(folder).recording()
        triggers = [event for event in events if event.kind == "cp_trigger"]
        assert triggers
        assert {json.loads(event.extra).get("timeout") for event in triggers} == {known}


DAMAGED = {
    "sql-group-agg": ("rest", "files"),
    "two-pipelines": ("rest", "files"),
    "v5-unaligned-bank": ("rest", "files"),
    "failures": ("rest",),
}
DAMAGES = MANY if MANY >= 10_000 else MANY // 5


def _whole_way(folder: Path) -> None:
    """Do all that a worker does with an upload, by the reference."""
    upload = FlinkReader().read(folder)
    header, events = upload.recording()
    assembly = assemble(header, events)
    assert assembly.defects == ()
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} <= {"unknown", "incomplete"}
    checkpoints(assembly.recording)
    for entry in upload.entries():
        assert entry.bytes >= 0
    inventory = upload.inventory()
    assert len({one.path for one in inventory.files}) == len(inventory.files)
    for channel in upload.channel_bytes():
        own = inventory.checkpoints[channel.checkpoint].channels[channel.number]
        assert own.bytes == len(channel.data)


def test_damaged_uploads_are_refused_or_described(shared_data, tmp_path):
    """One file of a case at a time is damaged; no false claim follows."""
    refused = told = 0
    originals = []
    for name, parts in DAMAGED.items():
        folder = tmp_path / name
        for part in parts:
            shutil.copytree(given.folder_of(shared_data, name) / part, folder / part)
        useful = ("checkpoint", "plan", "job.json", "_metadata")
        paths = [path for path in sorted(folder.rglob("*")) if path.name.startswith(useful)]
        originals += [(folder, path, path.read_bytes()) for path in paths if path.is_file()]
    for number in range(DAMAGES):
        folder, path, data = originals[number * 7919 % len(originals)]
        (damaged,) = mutated([data], 1, number)
        path.write_bytes(damaged)
        try:
            _whole_way(folder)
            told += 1
        except InputRefused:
            refused += 1
        finally:
            path.write_bytes(data)
    assert told > refused
