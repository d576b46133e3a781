"""Data in flight in Flink's uploads, as messages of the derived recording."""

import json
import shutil
from collections import Counter

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.values import parsed
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.types.element_types import UnknownType
from tests.readers.engines.flink import engine as given

TRANSFER = "tuple<string,string,long>"


def test_no_money_of_the_bank_is_lost(shared_data):
    """All money withdrawn is either credited or in the channels between the two."""
    types = {"withdraw -> deposit": TRANSFER}
    upload = FlinkReader(types).read(given.folder_of(shared_data, "bank-unaligned"))
    header, events = upload.recording()
    recording = assemble(header, events).recording
    assert {one["type"]: one["inferred"] for one in header.extra["record_types"] if
            one["source"] == "withdraw"} == {TRANSFER: None}  # fmt: skip
    wanted = [one["money"] for one in given.expected_of(shared_data, "bank-unaligned")["snapshots"]]
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
        found, given.expected_of(shared_data, "bank-unaligned")["snapshots"], strict=True
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
