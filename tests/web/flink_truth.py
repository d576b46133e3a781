"""What is known of the checkpoints of a real case of Flink, by what Flink itself and its job told.

Nothing here asks Cutline's readers: the sources are a case's expected.json, the answers of the REST
API as they are, and the options with which the job was run.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from snapshots import quantities
from tests.web.api.flink_rest_answers import KINDS

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
UNKNOWN_SERIALIZERS = {"flink1.3-operator-state"}  # docs/formats/agreement.md
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
    def sizes_in_flight(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """The bytes and the elements of each channel with buffers, by its ends."""
        edges = self.expected["flink"].get("inFlightRecords", ()) if self.expected else ()
        return {
            (edge["from"], edge["to"], one["channel"]): (
                one["inputBytes"] + one["outputBytes"],
                one["elements"],
            )
            for edge in edges
            for one in edge["channels"]
        }

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


def _kind_in(properties: str) -> str:
    return "savepoint" if "SavepointType" in properties else "checkpoint"
