"""What every page has to say of a real case of Flink, by what Flink itself and its job told.

Nothing here asks Cutline's readers: the sources are a case's expected.json, the answers of the REST
API as they are, and the options with which the job was run.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from snapshots import quantities
from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from tests.readers.engines.flink import engine as frame
from tests.readers.engines.flink.cases import CASES, LEGACY
from tests.web.api.flink_rest_answers import KINDS, flink_details

NAMES = (*CASES, *LEGACY)
PARTS = ("files", "rest-before", "rest")
READER = FlinkReader

_ABOUT = re.compile(
    r"in flight|(?<!\w)(?:un)?aligned|at-least-once|mode not known|not known|missing|damaged|lacks"
    r"|incomplete|\bcompleted?\b|did not complete|cannot be read|was there|: none\b|known to be"
    r"|^(?:aborted|expired|pending|in progress|not judged)$"
    r"|^Recorded: |recorded nothing|kept as channel state|overtaken|read back|(?:^|, )State: "
    r"|Status: |finished|not in the upload|no times|under way|\bfailed\b|given up|until then"
    r"|cannot be restored|only a completed|\?: (?:yes|no)\b|, Answer: |can go back to it",
    re.IGNORECASE,
)
"""What is about data in flight, the mode, what is complete, or the state of a checkpoint."""

_VALUES = re.compile(
    r"^Kept in the archive|^flags: |further facts?(?:$|: (?!persisted in flight))"
    r"|^Files of the upload: .*, Role: [^.]*$|^What it adds up to"
    r"|^(?:Process states|Verdict|When each process|Derived|More on how it was derived"
    r"|The critical path|Tasks): "
    r"(?!.*(?:kept as channel state|overtaken)$)"
    r"|^Channel contents: (?!\d)|^Channel contents / "
    r"|^Operators / .*(?:, (?:Type|Entries|Parts|Kind|State|Keys|Read from): |operator state in: )"
    r"|^Operators / .* (?:changed|unknown|same|added|removed) |^Operators: (?!.* finished$)"
    r"|Read again: [\d,]+ records? that \w+ \d+ has behind it (?:is|are) read again, and what was "
    r"read since\.(?: Not counted, because not known: those of .*\.)?$"
    r"|^What (?:is|would be) read and written again: (?!.*read back|.*not known what was in flight"
    r"|How many|.*newest of its|.*can go back|.*its files, which|.*no files of this checkpoint)"
    r"|^Data in flight / |^Data in flight: (?:.*, (?:To|Buffers|Records and more|): |[^,]*$)"
    r"|^It took |Who held it up: |All there: |^Subtasks: |Phase: |^From the trigger|^Stored at: "
    r"|, New bytes: |^Data in flight by channel|^Counts of each channel: "
    r"|^(?!Can it).*Operator state of version \d cannot be read",
)
"""What is a value that other tests compare, a title, or a text that is the same everywhere."""

_SHORT = (
    (re.compile(r"^\d+ further facts?: "), "facts: "),
    (re.compile(r"^Data in flight: .*, (Part|Bytes): "), r"channel, \1: "),
    (re.compile(r"^Data in flight: .* (\S+), ([^,]*channels?), .*receivers$"), r"edge: \2"),
    (re.compile(r"^Tasks: .*, Blocked, overtaken, in flight: "), "task: "),
    (re.compile(r"^Operators / .*: .*, Size: (finished|not known)$"), r"subtask: \1"),
    (
        re.compile(
            r"^Operators / .*: (\d+ of \d+ subtasks recorded nothing\.|It had .*"
            r"|\d+ of its subtasks had finished\..*)$"
        ),
        r"\1",
    ),
    (re.compile(r"^(Recorded: .*); \d+ more belong to other scopes$"), r"\1"),
    (re.compile(r"^Operators: .* finished$"), "operator: finished"),
    (re.compile(r"^(What .* again: ).* taken to be a sink: [^.]*\. "), r"\1a sink: "),
    (re.compile(r"^(It was given up after [^:,]*).*$"), r"\1"),
    (re.compile(r"(Not all that a restore reads could be checked\.) .*$"), r"\1"),
)
"""Names of tasks and channels, which other tests compare, are left out of a sentence."""


def sentence(line: str) -> str:
    """Return a line of a page as it is compared; empty if it is of no concern here."""
    if not _ABOUT.search(line) or _VALUES.search(line):
        return ""
    for pattern, short in _SHORT:
        line = pattern.sub(short, line)
    return line


ALIGNED = (
    "The checkpoint was aligned: each subtask recorded after the barrier had arrived on all of its "
    "inputs, and had processed everything before it."
)
AT_LEAST_ONCE = (
    "Each subtask recorded after the barrier had arrived on all of its inputs, and had processed "
    "everything before it (and, in at-least-once mode, some of what came after it)."
)
NO_BUFFERS = "The files of the checkpoint hold what was in flight, and nothing on these channels."
FAILED = "The checkpoint did not complete, so nothing tells what was in flight."
CAN_IT = "Can it be restored with 2 subtasks?"
UNKNOWN_SERIALIZERS = {"flink1.18-sql-join", "flink1.3-operator-state"}  # docs/formats/agreement.md
SINK_NOT_KNOWN = (
    "Its state is not known, as the upload has no files of this checkpoint, so neither is whether "
    "it writes a second time."
)
MOST_OLDER = 5  # checkpoints beside the one that is asked for
UNDER_WAY = "The checkpoint was still under way when the engine was asked."


@dataclass(frozen=True)
class Truth:
    """What is known of one checkpoint.

    Attributes:
        snapshot: the name of its snapshot.
        number: its place in the upload.
        expected: its entry in expected.json; None if it has no files.
        rest: the details of the REST API; None if there are none of it.
        options: the options of its job.
        plan: the plan of its job by the REST API; None if the upload has no answers.
        job: the id of its job; empty if nothing says it.
        is_checked: whether every serializer in its files is known here.
    """

    snapshot: str
    number: int
    expected: dict[str, Any] | None
    rest: dict[str, Any] | None
    options: dict[str, str]
    plan: dict[str, Any] | None
    job: str
    is_checked: bool = True

    @property
    def job_has_answers(self) -> bool:
        return self.plan is not None

    @property
    def id(self) -> int:
        return self.expected["flink"]["checkpointId"] if self.expected else self.rest["id"]

    @property
    def status(self) -> str:
        return KINDS[self.rest["status"]] if self.rest else "completed"

    @property
    def kind(self) -> str:
        if self.rest is not None:
            return "savepoint" if self.rest["is_savepoint"] else "checkpoint"
        return self.expected.get("kind") or _kind_in(self.expected["flink"]["properties"])

    @property
    def mode(self) -> str | None:
        """How its barriers were handled, by the options of the job; None without answers."""
        if self.rest is None:
            return None
        if self.options.get("execution.checkpointing.mode") == "AT_LEAST_ONCE":
            return "at-least-once"
        is_unaligned = self.options.get("execution.checkpointing.unaligned.enabled") == "true"
        return "unaligned" if is_unaligned and self.kind == "checkpoint" else "aligned"

    @property
    def state(self) -> int:
        return self.expected["flink"]["stateSize"] if self.expected else self.rest["state_size"]

    @cached_property
    def channels(self) -> list[dict[str, Any]]:
        """The channels with buffers, each with its edge's ends."""
        edges = self.expected["flink"].get("inFlightRecords", ()) if self.expected else ()
        return [edge_channel for edge in edges for edge_channel in edge["channels"]]

    @property
    def in_flight(self) -> int | None:
        if self.status != "completed":
            return None
        return sum(one["inputBytes"] + one["outputBytes"] for one in self.channels)

    @property
    def why(self) -> str:
        """Why nothing was in flight, or why that is not known."""
        if self.status == "in progress":
            return UNDER_WAY
        if self.status == "failed":
            return FAILED
        mode = self.mode
        if self.rest is None and self.job_has_answers and self.kind == "savepoint":
            mode = "aligned"  # as every savepoint of a job that runs exactly once
        return {"aligned": ALIGNED, "at-least-once": AT_LEAST_ONCE}.get(mode, NO_BUFFERS)

    @property
    def said_in_flight(self) -> str:
        if self.in_flight is None:
            return f"not known [{self.why}]"
        if not self.channels:
            return f"none [{self.why}]"
        count = quantities.counted(len(self.channels), "channel")
        return f"{quantities.file_size(self.in_flight)} in {count}"

    @property
    def said_state(self) -> str:
        partly = "" if self.status == "completed" else " acknowledged until then"
        return quantities.file_size(self.state) + partly

    @property
    def completed_at(self) -> str:
        if self.rest is None or self.status != "completed":
            return "not known"
        return quantities.epoch(self.rest["latest_ack_timestamp"])

    @property
    def triggered_at(self) -> int | None:
        return self.rest["trigger_timestamp"] if self.rest else None

    @property
    def unacknowledged(self) -> int:
        """How many subtasks are not known to have acknowledged."""
        if self.expected is not None or self.rest is None:
            return 0
        subtasks = (subtask for vertex in self.rest["of"].values() for subtask in vertex)
        return sum(subtask["status"] != "completed" for subtask in subtasks)

    @property
    def processes(self) -> int:
        """How many subtasks the job has, and one for its coordinator."""
        if self.plan is not None:
            return 1 + sum(self.widths.values())
        return 1 + sum(one["parallelism"] for one in self.expected["flink"]["operators"])

    @cached_property
    def widths(self) -> dict[str, int]:
        """The parallelism of each vertex of the plan."""
        return {node["id"]: node["parallelism"] for node in self.plan["plan"]["nodes"]}

    @property
    def channels_of_job(self) -> int:
        """How many channels the plan has; none without a plan."""
        if self.plan is None:
            return 0
        return sum(
            self.widths[edge["id"]]
            * (1 if edge["ship_strategy"] == "FORWARD" else self.widths[node["id"]])
            for node in self.plan["plan"]["nodes"]
            for edge in node.get("inputs", ())
        )

    def of_operators(self) -> Iterator[str]:
        """Yield what the page says of operators and subtasks that had finished or were silent."""
        for operator in self.expected["flink"]["operators"] if self.expected else ():
            count, subtasks = operator["parallelism"], operator["subtasks"]
            if operator["fullyFinished"]:
                yield "operator: finished"
            elif silent := count - len(subtasks):
                yield f"{silent} of {count} subtasks recorded nothing."
            yield from ["subtask: finished"] * sum(bool(one.get("finished")) for one in subtasks)

    def of_tasks(self) -> Iterator[str]:
        """Yield what each task kept, and what its barriers overtook, without its name."""
        kept: Counter[tuple[str, str]] = Counter()
        overtaken: Counter[tuple[str, str]] = Counter()
        edges = self.expected["flink"].get("inFlightRecords", ()) if self.expected else ()
        for edge in edges:
            for channel in edge["channels"]:
                sender, receiver = channel["channel"].split("->")
                held, in_input = channel["elements"], channel["elementsWhollyInInputChannel"]
                kept[edge["to"], receiver] += held
                overtaken[edge["from"], sender] += held - in_input
        for task in {*kept, *overtaken}:
            words = [
                f"{quantities.counted(counts[task], 'record')} {what}"
                for counts, what in ((overtaken, "overtaken"), (kept, "kept as channel state"))
                if counts[task]
            ]
            if words:
                yield f"task: {' '.join(words)}"

    @property
    def answer(self) -> str:
        """Whether the checkpoint can be restored with two subtasks."""
        if self.status != "completed":
            return "no"
        if self.expected is None or not self.is_checked:
            return "not known"
        widest = [one["maxParallelism"] for one in self.expected["flink"]["operators"]]
        assert min(widest) >= 2, "another answer is expected of this case"
        return "yes"

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return {
            "yes": f"Yes: Flink restores {self.kind} {self.id} with 2 subtasks.",
            "no": f"No: the {self.kind} {self.id} is {self.status}: only a completed one can be "
            "restored.",
            "not known": "Not known: its files are not in the upload: only an answer of the REST "
            "API tells of it."
            if self.is_checked
            else "Not known: Not all that a restore reads could be checked.",
        }[self.answer]

    @property
    def has_positions(self) -> bool:
        """Whether a source has the state in which Flink's own sources keep their positions."""
        return "SourceReaderState" in json.dumps(self.expected["flink"]["operators"])

    def read_again(self, newest: "Truth | None") -> str | None:
        """Return what is not known of what is read again; None if it is counted.

        ``newest`` is the newest completed checkpoint of the job that has files.
        """
        if self.status != "completed":
            return f"It is {self.status}: no source can go back to it."
        if self.expected is None:
            return (
                "What is read again is not known: its files, which hold the positions of its "
                "sources, are not in the upload."
            )
        if self is newest:
            return (
                "It is the newest of its job that was completed and has files in the upload. What "
                "was read after it is read again; how much that was is not known."
            )
        if not self.has_positions:
            return (
                f"How many records that {newest.kind} {newest.id} has behind it are read again is "
                "not known: no source has positions of a form that is known here."
            )
        return None

    def why_in_flight_allows(self) -> str:
        """Return why what was in flight does not prevent a restore with two subtasks."""
        if not self.channels:
            return f"Nothing is in flight. {self.why}"
        size = quantities.counted(self.in_flight, "byte")
        edges = [self._edge(one) for one in self.expected["flink"]["inFlightRecords"]]
        if all(widths == (2, 2) for _, widths in edges):
            return f"{size} in flight go back into the channels that they were in."
        exchanges = " and ".join(sorted({exchange for exchange, _ in edges}))
        return f"{size} in flight are on exchanges ({exchanges}) that Flink can divide."

    def _edge(self, edge: dict[str, Any]) -> tuple[str, tuple[int, int]]:
        """Return the exchange of an edge, and how many senders and receivers it has.

        An operator has its id where the files do not hold names. The id of a vertex is that of its
        first operator, so that of a chain's end no vertex tells: its edges are all that lead there.
        """
        operators = self.expected["flink"]["operators"]
        widths = {one[key]: one["parallelism"] for one in operators for key in ("id", "name")}
        names = {node["id"]: _names(node) for node in self.plan["plan"]["nodes"]}
        (inputs,) = (
            node["inputs"]
            for node in self.plan["plan"]["nodes"]
            if edge["to"] in names[node["id"]] and "inputs" in node
        )
        own = [one for one in inputs if edge["from"] in names[one["id"]]]
        (exchange,) = {one["ship_strategy"] for one in own or inputs}
        return exchange, (widths[edge["from"]], widths[edge["to"]])

    def sinks(self) -> int:
        """Count the vertices of the plan out of which no edge leads."""
        nodes = self.plan["plan"]["nodes"]
        sending = {one["id"] for node in nodes for one in node.get("inputs", ())}
        return sum(node["id"] not in sending for node in nodes)

    def of_edges(self) -> Iterator[str]:
        """Yield what a plan of a restore says of each edge with data in flight."""
        edges = self.expected["flink"].get("inFlightRecords", ()) if self.expected else ()
        for edge in edges:
            size = sum(one["inputBytes"] + one["outputBytes"] for one in edge["channels"])
            count = quantities.counted(len(edge["channels"]), "channel")
            yield f"edge: {quantities.file_size(size)} in {count}"

    @property
    def problem(self) -> str:
        """Why there are no files; empty if there are."""
        if self.expected is not None:
            return ""
        if self.status == "failed":
            return f"It failed, so that there are no files of it: {self.rest['failure_message']}"
        if self.status == "in progress":
            return (
                "It was still under way when the REST API answered: there are no files of it yet."
            )
        return "Its files are not in the upload; this is what the REST API says of it."


def _names(node: dict[str, Any]) -> set[str]:
    """Return the id of a vertex, and the names of its operators."""
    return {node["id"], *re.split(r"<br/>(?:\+- )?", node["description"])}


def _kind_in(properties: str) -> str:
    return "savepoint" if "SavepointType" in properties else "checkpoint"


class Sentences:
    """The sentences that the pages have to say of a case, page by page.

    Args:
        listed: the checkpoints in the API's answer: their addresses, and nothing else of it.
    """

    def __init__(self, folder: Path, listed: list[dict[str, Any]]) -> None:
        expected = json.loads((folder / "expected.json").read_text())
        case = folder / "case.json"
        jobs = json.loads(case.read_text())["jobs"] if case.exists() else []
        options = jobs[-1]["options"] if jobs and isinstance(jobs[-1]["options"], dict) else {}
        details = flink_details(folder)
        stored = {}
        for entry in frame.expected_snapshots(expected):
            path = entry["path"] or _only_metadata(folder)
            stored[path.rpartition("/")[0]] = entry
        self.has_times = bool(details)
        parts = (folder / part / "plan.json" for part in ("rest-before", "rest"))
        plans = [json.loads(path.read_text()) for path in parts if path.exists()]
        self.truths = []
        for number, one in enumerate(listed):
            name = one["snapshot"] or str(one["id"])
            entry, rest = stored.pop(one["path"], None), details.pop(name, None)
            assert entry is not None or rest is not None, f"{name} is in no expected answer"
            plan = plans[len(plans) > 1 and "(run 2)" in name] if plans else None
            is_checked = folder.name not in UNKNOWN_SERIALIZERS
            self.truths.append(
                Truth(name, number, entry, rest, options, plan, one["job"], is_checked)
            )
        assert not stored, f"not listed: {sorted(stored)}"
        assert not details, f"not listed: {sorted(details)}"

    def pages(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the address of each page below the recording's, and what it has to say."""
        yield "/contents", list(self._listed())
        yield "/checkpoints", list(self._timed_list())
        for truth in self.truths:
            yield f"/contents/{truth.number}", list(_of_checkpoint(truth))
            yield f"/snapshots/{truth.snapshot}", list(_of_snapshot(truth))
            if truth.rest is not None:
                yield f"/checkpoints?checkpoint={truth.snapshot}", list(_of_times(truth))
            yield f"/contents/{truth.number}/restore-plan?parallelism=2", list(self._of_plan(truth))
        for before, after in zip(self.truths, self.truths[1:], strict=False):
            address = f"/contents/{after.number}/difference?since={before.number}"
            yield address, list(_of_difference(before, after))

    def _of_plan(self, truth: Truth) -> Iterator[str]:
        yield from _of_plan(truth)
        own = [one for one in self.truths if one.job == truth.job and one.status == "completed"]
        newest = next((one for one in reversed(own) if one.expected is not None), None)
        older = [one for one in reversed(own) if one.number < truth.number][:MOST_OLDER]
        for other in (truth, *older):
            row = f"Side by side: {other.kind} {other.id}, whole"
            row += " this plan" if other is truth else ""
            yield f"{row}, Answer: {other.answer}"
            if other.answer != truth.answer:
                yield f"{row}, Answer: {other.headline}"
            again = other.read_again(newest)
            if again is not None:
                yield f"{row}, Read again: {again}"
                if other is truth:
                    yield f"{_again_part(truth)}: {again}"

    def archived(self, job: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each checkpoint of a job, and what its page in the archive says."""
        for truth in self.truths:
            if truth.job == job:
                yield truth.id, list(_in_archive(truth))

    def _listed(self) -> Iterator[str]:
        for truth in self.truths:
            run = "" if truth.snapshot == str(truth.id) else f" snapshot {truth.snapshot}"
            row = f"Checkpoints: {truth.id} {truth.kind}{run}"
            yield f"{row}, Status: {truth.status}"
            if truth.problem:
                yield f"{row}, Status: {truth.problem}"
            yield f"{row}, Completed: {truth.completed_at}"
            yield f"{row}, State: {truth.said_state}"
            yield f"{row}, In flight: {truth.said_in_flight}"
            yield f"{row}, Files missing or damaged: {'not known' if truth.problem else 'none'}"

    def _timed_list(self) -> Iterator[str]:
        """Yield what the page of all checkpoints says; it is empty for a job without answers."""
        if not self.has_times:
            return
        yield (
            "Checkpoints: Took: from the trigger to the last acknowledgement, or until it was "
            "given up."
        )
        timed = [truth for truth in self.truths if truth.rest is not None]
        for truth in sorted(timed, key=lambda one: one.triggered_at):
            badge = "" if truth.kind == "checkpoint" else f" {truth.kind}"
            row = f"Checkpoints: {truth.snapshot}{badge}"
            yield f"{row}, Status: {_fate(truth)}"
            yield f"{row}, Status: {truth.mode}"
            if truth.status == "in progress":
                yield f"{row}, Took: still under way"
        untimed = [truth for truth in self.truths if truth.rest is None]
        if untimed:
            count = quantities.counted(len(untimed), "further checkpoint")
            yield f"Checkpoints: Of {count} in the upload no times are known:"
        for truth in untimed:
            yield (
                f"Checkpoints: {truth.kind} {truth.id}, {truth.status}: No answer of the engine "
                "says when anything happened."
            )


def _only_metadata(folder: Path) -> str:
    (path,) = folder.rglob("_metadata")
    return path.relative_to(folder).as_posix()


def _fate(truth: Truth) -> str:
    """Return the status with the reason, as the pages about times word it."""
    if truth.status == "in progress":
        return "pending"
    if truth.status != "failed":
        return truth.status
    message = truth.rest["failure_message"]
    if message.startswith("Checkpoint expired"):
        return "expired"
    return f"aborted {message.rstrip('.')}"


def _of_checkpoint(truth: Truth) -> Iterator[str]:
    yield truth.status
    if truth.problem:
        yield truth.problem
    yield f"State: {truth.said_state}"
    yield f"In flight: {truth.said_in_flight}"
    if truth.triggered_at is None:
        yield "Triggered: not known"
    yield f"Completed: {truth.completed_at}"
    if truth.in_flight is None:
        yield f"It is not known what was in flight. {truth.why}"
    elif not truth.channels:
        yield f"Nothing was in flight. {truth.why}"
    if truth.rest is not None:
        size = quantities.file_size(truth.rest["persisted_data"])
        yield f"facts: persisted in flight, with the length of each buffer: {size}"
    elif truth.job_has_answers:
        yield "Notes: The REST answers about its job do not mention it: its times are not known."
    elif truth.job:
        yield "Notes: The upload has no REST answers about its job: times and edges are not known."
    yield from ["subtask: not known"] * truth.unacknowledged
    yield from truth.of_operators()
    for channel in truth.channels:
        yield "channel, Part: whole"
        yield f"channel, Bytes: {channel['inputBytes'] + channel['outputBytes']:,}"


def _of_snapshot(truth: Truth) -> Iterator[str]:
    if truth.triggered_at is None:
        yield "Began: not known"
        yield "Took: not known"
        yield "Barriers: not known: the upload does not show when they travelled"
    yield "not judged" if truth.status == "completed" else truth.status
    recorded = truth.processes - truth.unacknowledged
    yield f"Recorded: {recorded} of {truth.processes} processes"
    silent = truth.channels_of_job - sum(bool(one["elements"]) for one in truth.channels)
    if silent:
        what = "not known" if truth.in_flight is None else "known to be empty"
        yield f"Channel contents: {quantities.counted(silent, 'channel')} {what}. {truth.why}"


def _of_times(truth: Truth) -> Iterator[str]:
    yield _fate(truth).partition(" ")[0]
    yield f"Mode: {truth.mode}"
    took = truth.rest["end_to_end_duration"]
    if truth.status == "in progress":
        yield "It was still under way when the log ends."
        yield "Took: it was still under way"
    else:
        ended = quantities.epoch(truth.triggered_at + took)
        yield f"{'Completed' if truth.status == 'completed' else 'Given up'}: {ended}"
    if truth.status == "failed":
        yield f"It was given up after {spelled(took, 'ms')}"
        yield f"Took: {quantities.duration(took, 'ms')} from the trigger until it was given up"
    yield from truth.of_tasks()


def _of_plan(truth: Truth) -> Iterator[str]:
    yield f"{CAN_IT}: {truth.answer}"
    yield f"{CAN_IT}: {truth.headline}"
    if truth.answer == "yes":
        yield f"{CAN_IT}: {truth.why_in_flight_allows()}"
    part = _again_part(truth)
    if truth.in_flight is None:
        yield f"{part}: It is not known what was in flight. {truth.why}"
    if truth.expected is None:
        yield (
            f"{part}: From which positions sources read is not known: the upload has no files of "
            "this checkpoint."
        )
        yield from [f"{part}: a sink: {SINK_NOT_KNOWN}"] * truth.sinks()
    if truth.channels:
        count = quantities.counted(len(truth.channels), "channel")
        size = quantities.counted(truth.in_flight, "byte")
        yield f"{part}: {size} in {count} are read back before anything else."
    yield from truth.of_edges()
    for operator in truth.expected["flink"]["operators"] if truth.expected else ():
        finished = sum(bool(one.get("finished")) for one in operator["subtasks"])
        if operator["fullyFinished"]:
            yield "It had finished: it is not run again."
        elif finished:
            yield (
                f"{finished} of its subtasks had finished. They are started again, with what the "
                "others' state gives them."
            )


def _again_part(truth: Truth) -> str:
    verb = "would be" if truth.answer == "no" else "is"
    return f"What {verb} read and written again"


def _of_difference(before: Truth, after: Truth) -> Iterator[str]:
    yield f"State: {_change(before.state, after.state)}"
    yield f"In flight: {_change(before.in_flight, after.in_flight)}"
    for truth in (before, after):
        if truth.problem:
            yield f"Notes: {truth.kind.capitalize()} {truth.id}: {truth.problem}"


def _size(size: int | None) -> str:
    return "not known" if size is None else quantities.file_size(size)


def _change(before: int | None, after: int | None) -> str:
    return _size(after) if before == after else f"{_size(before)} → {_size(after)}"


def _in_archive(truth: Truth) -> Iterator[str]:
    yield truth.status
    if truth.triggered_at is None:
        yield "Triggered: not known"
        yield "Took: not known"
        yield (
            "The times of single subtasks are not known: no answer of the engine’s about them came "
            "in time, and the upload has none."
        )
    size = truth.rest["state_size"] if truth.rest is not None else truth.state
    partly = "" if truth.status == "completed" else " acknowledged until then"
    uploaded = truth.rest and truth.rest.get("checkpointed_size")
    also = f", {_size(uploaded)} uploaded" if uploaded not in (None, size) else ""
    yield f"State: {_size(size)}{partly}{also}"
    if truth.status == "failed":
        took = quantities.duration(truth.rest["end_to_end_duration"], "ms")
        yield f"Took: {took} from the trigger until it was given up"
    if truth.in_flight is None:
        yield "In flight: not known"
    elif truth.rest is not None and truth.rest["persisted_data"]:
        yield f"In flight: {quantities.file_size(truth.rest['persisted_data'])}"
    else:
        yield "In flight: none"
