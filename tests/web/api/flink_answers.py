"""The API's answers about an upload of Flink, compared with a case's expected.json fact by fact."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import WHOLE, CheckpointInventory
from snapshots.readers.engines.flink.operator_ids import id_of_uid
from tests.readers.engines.flink import engine as frame
from tests.readers.engines.flink.cases import ON_THE_WIRE, Facts
from tests.readers.engines.flink.keyed import as_flink, as_noted, notes
from tests.web.api.uploading import Uploaded

NOTHING = {"bytes": 0, "buffers": 0, "elements": 0, "records": 0, "watermarks": 0,
           "wholly in the input": 0, "first": [], "last": []}  # fmt: skip


class Answer:
    """Expected and actual facts of one stored checkpoint, each as {place: value}.

    expected: the entry of ``snapshots`` in expected.json. number: the checkpoint's place in the
    upload.
    """

    def __init__(self, uploaded: Uploaded, expected: dict, number: int) -> None:
        self._uploaded = uploaded
        self._expected = expected
        self.number = number
        self.checkpoint: CheckpointInventory = uploaded.contents.checkpoints[number]

    @cached_property
    def entries(self) -> list[StateEntry]:
        return self._uploaded.entries(self.number)

    @cached_property
    def expected_facts(self) -> Facts:
        flink = self._expected["flink"]
        values = dict(_expected_values(flink)) | dict(_expected_notes(self._expected))
        channels = dict(self._expected_channels()) | dict(self._expected_records())
        return self._frame | values | channels | _expected_money(self._expected)

    @cached_property
    def _frame(self) -> Facts:
        """Return all facts except values."""
        facts = frame.expected_facts(self._expected)
        return {where: fact for where, fact in facts.items() if not _is_value(where)}

    @cached_property
    def api_facts(self) -> Facts:
        facts = frame.found_facts(self.checkpoint, [], self._frame)
        facts |= dict(self._empty()) | dict(_found_values(self.entries))
        facts |= dict(self._found_notes())
        return facts | dict(self._found_channels) | self._found_records() | self._found_money()

    # --- values ----------------------------------------------------------------------------------

    def _empty(self) -> Iterator[tuple]:
        """Yield the facts of states that have no entry and no key."""
        for operator in self.checkpoint.operators:
            for subtask in operator.subtasks:
                for state in operator.states:
                    where = operator.id, subtask.index, state.name
                    yield from ((("entries", *where), 0), (("keys", *where), 0))

    def _found_notes(self) -> Iterator[tuple]:
        """Yield notes by uid, or by id if the metadata have no uid."""
        values = {(one.operator, one.state, str(one.key)): one.value for one in self.entries}
        for uid, state, key, _ in _notes_of(self._expected):
            read = values.get((id_of_uid(uid), state, key))
            if not isinstance(read, NotRead):
                yield ("noted", uid, state, key), as_noted(state, read)

    # --- in flight -------------------------------------------------------------------------------

    def _edges(self) -> Iterator[tuple[dict, str, str, str | None]]:
        """Yield each expected edge, with the API's names of its ends and the type of its
        records."""
        called = {}
        for operator in self.checkpoint.operators:
            label = operator.vertex or operator.name
            called |= {operator.id: label, operator.name: label}
        for edge in self._expected["flink"].get("inFlightRecords", ()):
            target = _job_name(edge["to"], self._expected)
            type_ = ON_THE_WIRE.get(target) or ON_THE_WIRE.get(f"{target} {edge['gate']}")
            yield edge, called[edge["from"]], called[edge["to"]], type_

    def _expected_channels(self) -> Iterator[tuple]:
        sizes = _buffers(self._expected["flink"])
        for edge, source, target, _ in self._edges():
            for channel in edge["channels"]:
                ends = tuple(map(int, channel["channel"].split("->")))
                where = "channel", source, target, edge["gate"], ends
                told = {
                    "bytes": channel["inputBytes"] + channel["outputBytes"],
                    "buffers": sizes[_input(edge, ends)] + sizes[_output(edge, ends)],
                    "elements": channel["elements"],
                    "records": channel["records"],
                    "watermarks": channel["watermarks"],
                    "wholly in the input": channel["elementsWhollyInInputChannel"],
                    "first": channel["firstElements"],
                    "last": channel["lastElements"],
                }
                if channel.get("sumOfThirdField") is not None:
                    told["sum of the third field"] = channel["sumOfThirdField"]
                yield from (((*where, name), fact) for name, fact in told.items())

    @cached_property
    def _found_channels(self) -> list[tuple]:
        return list(self._channels())

    def _channels(self) -> Iterator[tuple]:
        """Yield the facts of channels. One that the API does not list is empty."""
        listed = {one.id: one for one in self.checkpoint.channels}
        for edge, source, target, type_ in self._edges():
            for channel in edge["channels"]:
                one, other = ends = tuple(map(int, channel["channel"].split("->")))
                gate = f" (gate {edge['gate']})" if edge["gate"] else ""
                known = listed.pop(f"{source}[{one}]->{target}[{other}]{gate}", None)
                told = dict(NOTHING)
                if known is not None:
                    assert (known.part, known.reason) == (WHOLE, None)
                    told = {"bytes": known.bytes, "buffers": known.buffers}
                    told["elements"] = known.elements
                    items = self._items(known.number, type_)
                    told |= _of_items(items, channel["inputBytes"])
                is_sum = channel.get("sumOfThirdField") is not None
                if is_sum and known is None:
                    told["sum of the third field"] = 0
                where = "channel", source, target, edge["gate"], ends
                yield from (((*where, name), fact) for name, fact in told.items())
        yield ("channels of no expected edge",), len(listed)

    def _items(self, number: int, type_: str) -> list[dict]:
        path = f"/contents/{self.number}/channels/{number}"
        return list(self._uploaded.pages(path, type=type_))

    def _expected_records(self) -> Iterator[tuple]:
        """Yield how many records the job's own counters expect in channels. No other channel may
        hold any."""
        yield ("channels of no expected edge",), 0
        for edge in self._expected.get("recordsInFlight") or ():
            if self._expected["flink"].get("inFlightRecords"):
                yield ("records", edge["from"], edge["to"]), edge["recordsInChannelState"]

    def _found_records(self) -> Facts:
        told = self._expected.get("recordsInFlight") or ()
        found = Counter({("records", one["from"], one["to"]): 0 for one in told})
        channels = dict(self._found_channels)
        for edge, source, target, _ in self._edges():
            ends = tuple(_job_name(edge[end], self._expected) for end in ("from", "to"))
            own = [one for one in channels if one[:4] == ("channel", source, target, edge["gate"])]
            found["records", *ends] += sum(channels[one] for one in own if one[-1] == "records")
        return dict(found)

    # --- money -----------------------------------------------------------------------------------

    def _found_money(self) -> Facts:
        """Return the money of the bank that has left, that has arrived, and that is under way."""
        if "money" not in self._expected:
            return {}
        withdrawn = sum(1000 - one for one in self._values_of("withdraw", "balance"))
        credited = sum(self._values_of("deposit", "credited"))
        return {
            ("money", "withdrawn"): withdrawn,
            ("money", "deposited"): credited,
            ("money", "inFlight"): self._money_in_flight(),
        }

    def _values_of(self, uid: str, state: str) -> list[int]:
        id = id_of_uid(uid)
        return [one.value for one in self.entries if (one.operator, one.state) == (id, state)]

    def _money_in_flight(self) -> int:
        channels = dict(self._found_channels)
        return sum(
            fact
            for where, fact in channels.items()
            if where[-1] == "sum of the third field" and where[1].startswith("withdraw")
        )


def _is_value(where: tuple) -> bool:
    return len(where) == 4 and where[2] in ("values", "elements")


def _job_name(end: str, expected: dict) -> str:
    """Return the name of an operator in the job's code, for version 4 of the metadata has only
    ids."""
    known = {id_of_uid(uid): uid for uid in ON_THE_WIRE}
    known |= {id_of_uid(uid): uid for uid in expected.get("job", ())}
    return known.get(end, end)


def _input(edge: dict, ends: tuple[int, int]) -> tuple:
    return "in", edge["to"], ends[1], edge["gate"], ends[0]


def _output(edge: dict, ends: tuple[int, int]) -> tuple:
    return "out", edge["from"], ends[0], edge["partition"], ends[1]


def _buffers(flink: dict) -> Counter:
    """Return how many buffers each half of a channel has, by name and by id of its operator."""
    found: Counter = Counter()
    for operator in flink["operators"]:
        for subtask in operator["subtasks"]:
            for name in {operator["name"], operator["id"]}:
                for one in subtask.get("inputChannels", ()):
                    where = "in", name, subtask["index"], one["gate"], one["channel"]
                    found[where] = len(one["bufferSizes"])
                for one in subtask.get("resultSubpartitions", ()):
                    where = "out", name, subtask["index"], one["partition"], one["subpartition"]
                    found[where] = len(one["bufferSizes"])
    return found


def _of_items(items: list[dict], input_bytes: int) -> dict[str, object]:
    shown = [_shown(one) for one in items]
    kinds = Counter(one["kind"] for one in items)
    told = {
        "records": kinds["record"],
        "watermarks": kinds["watermark"],
        "wholly in the input": sum(one["offset"] + one["bytes"] <= input_bytes for one in items),
        "first": shown[:3],
        "last": shown[-3:],
    }
    values = [one["value"] for one in items if one["kind"] == "record"]
    if all(isinstance(one, list) and len(one) == 3 for one in values):
        told["sum of the third field"] = sum(one[2] for one in values)
    return told


def _shown(item: dict) -> dict[str, object]:
    """Return an item in flight as expected.json has it, where Java's least number means no time."""
    if item["kind"] == "watermark":
        return {"watermark": item["timestamp"]}
    time = -(2**63) if item["timestamp"] is None else item["timestamp"]
    return {"record": item["value"], "timestamp": time}


def _expected_values(flink: dict) -> Iterator[tuple]:
    for operator in flink["operators"]:
        for subtask in operator["subtasks"]:
            where = operator["id"], subtask["index"]
            for handle in subtask.get("managedKeyedState", ()):
                for name, state in handle.get("states", {}).items():
                    yield from _keyed(where, name, state)
            for handle in subtask.get("managedOperatorState", ()):
                for name, state in handle["states"].items():
                    if "values" not in state:
                        continue
                    is_map = state["mode"] == "BROADCAST"
                    values = [state["values"]] if is_map else state["values"]
                    yield ("entries", *where, name), len(values)
                    for place, value in enumerate(values):
                        yield ("element", *where, name, place), value


def _keyed(where: tuple, name: str, state: dict) -> Iterator[tuple]:
    """Yield the facts of a keyed state. The value of a timer is its time stamp."""
    yield ("entries", *where, name), len(state["values"])
    keys = {_text(one["key"]) for one in state["values"]}
    yield ("keys", *where, name), state.get("keys", len(keys))
    seen: Counter = Counter()
    for one in state["values"]:
        value = one["timestamp"] if "timestamp" in one else one["value"]
        yield _place(where, name, one, one.get("timestamp"), seen), value


def _found_values(entries: list[StateEntry]) -> Iterator[tuple]:
    seen: Counter = Counter()
    count: Counter = Counter()
    keys: defaultdict[tuple, set] = defaultdict(set)
    for one in entries:
        where = one.operator, one.subtask
        count["entries", *where, one.state] += 1
        value = "not read" if isinstance(one.value, NotRead) else as_flink(one.value)
        if one.key_group is None:
            yield ("element", *where, one.state, one.key), value
            continue
        keys["keys", *where, one.state].add(_text(as_flink(one.key)))
        told = {"keyGroup": one.key_group, "key": as_flink(one.key)}
        told["namespace"] = as_flink(one.namespace)
        is_timer = one.state.startswith("_timer_state/") or one.state.endswith("-timers")
        yield _place(where, one.state, told, value if is_timer else None, seen), value
    yield from count.items()
    yield from ((where, len(found)) for where, found in keys.items())


def _place(where: tuple, name: str, told: dict, time: int | None, seen: Counter) -> tuple:
    """Return the place of a value. A key with several values, such as timers, has a place for
    each."""
    own = told["keyGroup"], _text(told["key"]), _text(told.get("namespace")), time
    place = ("value", *where, name, *own)
    seen[place] += 1
    return *place, seen[place]


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _notes_of(expected: dict) -> Iterator[tuple]:
    """Yield the notes of operators whose keyed state Flink could not restore: changelogs and
    ForSt."""
    told = {
        operator["id"]
        for operator in expected["flink"]["operators"]
        for subtask in operator["subtasks"]
        if any("states" in one for one in subtask.get("managedKeyedState", ()))
    }
    for uid, subtasks in expected.get("job", {}).items():
        if id_of_uid(uid) not in told:
            yield from ((uid, *note) for note in notes(subtasks))


def _expected_notes(expected: dict) -> Iterator[tuple]:
    for uid, state, key, value in _notes_of(expected):
        yield ("noted", uid, state, key), value


def _expected_money(expected: dict) -> Facts:
    told = expected.get("money") or {}
    return {("money", name): told[name] for name in ("withdrawn", "deposited", "inFlight") if told}


def answers(uploaded: Uploaded, folder: Path) -> Iterator[Answer]:
    """Yield one answer for each checkpoint with files of the case in ``folder``."""
    expected = json.loads((folder / "expected.json").read_text())
    stored = {
        one.path: number
        for number, one in enumerate(uploaded.contents.checkpoints)
        if one.path is not None
    }
    for snapshot in frame.expected_snapshots(expected):
        path = snapshot["path"]
        number = next(iter(stored.values())) if path is None else stored[path.rpartition("/")[0]]
        yield Answer(uploaded, snapshot, number)
