"""Answer whether a checkpoint of an upload can be restored, with its variants side by side."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import orjson

from snapshots.answers.inventory import checkpoint, entries
from snapshots.domain.inventory.flow import Flow
from snapshots.domain.inventory.in_flight_plan import vertex_of
from snapshots.domain.inventory.model import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    CheckpointInventory,
    OperatorInventory,
)
from snapshots.domain.inventory.positions import Position, ReadAgain, SourceSplits
from snapshots.domain.inventory.restore_answer import NotPlannable, RestorePlan
from snapshots.domain.inventory.restore_plan import FLINK, SEATUNNEL, SPARK, Asked, plan_restore
from snapshots.domain.inventory.restore_variants import (
    IN_THE_CONNECTOR,
    RestoreVariant,
    newest_of,
    read_by_sources,
    run_again,
    too_many_batches,
    variant_of,
    why_not_read,
)
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import Channel
from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.problems import Refused
from snapshots.readers.engines.flink.enumerators import waiting_of
from snapshots.readers.engines.flink.splits import position_of
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint

MOST_POSITIONS = 100  # entries of a source's state in a plan
MOST_SPLITS = 10_000  # of a source, whose positions are read
MOST_OLDER = 5  # checkpoints that are offered as variants
MOST_LATER = 200  # batches whose records are counted
MOST_NAMED = 10  # operators in a title
_READER, _COORDINATED = "SourceReaderState", "coordinator"  # states of Flink's sources


def restore_plan(
    recording: Recording,
    inventory: StoredInventory,
    number: int,
    parallelism: int,
    kept: Collection[str] = (),
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Return a RestorePlan with its variants as JSON. Raises: NotFound, Refused.

    Args:
        kept: the ids of operators that keep their parallelism.
        without: the ids, uids or names of operators that the restored job does not have.
    """
    channels = recordings.open_recording(recording).topology.channels
    checkpoint(inventory, number)  # or NotFound
    question = Question(inventory, flow_of(channels), parallelism, kept)
    try:
        return question.answer(number, without)
    except NotPlannable as reason:
        raise Refused(str(reason), code="not-restorable", field="parallelism") from None


def flow_of(channels: Iterable[Channel]) -> Flow:
    """Return the edges between vertices that the channels between subtasks stand for."""
    ends = ((vertex_of(item.source), vertex_of(item.target)) for item in channels)
    return Flow(frozenset((source, target) for source, target in ends if source and target))


class Question:
    """A restore of the checkpoints of one upload at a parallelism.

    Args:
        kept: the ids, uids or names of the operators that keep their parallelism.
    """

    def __init__(
        self,
        inventory: StoredInventory,
        flow: Flow,
        parallelism: int,
        kept: Collection[str] = (),
    ) -> None:
        self._inventory, self._flow = inventory, flow
        self._parallelism, self._kept = parallelism, kept
        self._engine = str(inventory.upload["engine"])
        self._listed: list[dict[str, Any]] = inventory.upload["checkpoints"]
        self._held: dict[int, CheckpointInventory] = {}

    def answer(self, number: int, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the plan and its variants as JSON. Raises: NotPlannable."""
        own = self._checkpoint(number)
        kept, removed = (
            frozenset(operator_named(own, text).id for text in texts)
            for texts in (self._kept, without)
        )
        asked = self._plan(number, kept, removed, with_sizes=True)
        body: dict[str, Any] = as_json(asked)
        for source in body["read_again"]:
            source["positions"] = list(self._positions(number, source))
        older = self._older(number)
        variants = [
            *self._of_checkpoint(number, own, asked),
            *self._of_older(older, frozenset(asked.kept)),
        ]
        return {
            **body,
            "variants": [as_json(item) for item in variants],
            "older_hidden": max(0, len(older) - MOST_OLDER),
        }

    def newest(self) -> list[int]:
        """Return the place of the newest checkpoint of each job, or pipeline of SeaTunnel.

        Those whose files are in the upload come first. One that cannot be read counts, too: an
        older one would be another answer. Batches of Spark need not be committed.
        """
        groups: dict[object, list[int]] = {}
        for place in range(len(self._listed)):
            groups.setdefault(self._group(place), []).append(place)
        return [max(own, key=lambda place: (self._rank(place), place)) for own in groups.values()]

    def with_id(self, id: int) -> list[int]:
        """Return the places of the checkpoints with the engine's id, or number of a batch."""
        return [place for place, item in enumerate(self._listed) if item["id"] == id]

    def _rank(self, place: int) -> bool:
        item = self._listed[place]
        is_over = item["status"] not in (FAILED, IN_PROGRESS) or self._engine == SPARK
        return item["path"] is not None and is_over

    def _plan(
        self,
        number: int,
        kept: frozenset[str],
        without: frozenset[str] = frozenset(),
        *,
        with_sizes: bool = False,
    ) -> RestorePlan:
        """Plan one variant. Sizes cost time, and do not change the answer.

        Raises: NotPlannable.
        """
        own = self._checkpoint(number)
        has_sizes = with_sizes and self._engine == FLINK
        asked = Asked(
            self._parallelism,
            kept,
            without,
            self._inventory.sizes(self._inventory.checkpoint(number)) if has_sizes else {},
            self._splits(number, own),
            self._flow,
            self._before(number, own),
            self._inventory.completeness.get(number),
        )
        planned = plan_restore(self._engine, own, asked)
        return replace(planned, again=self._again(number, own, planned))

    # --- other checkpoints of the job ------------------------------------------------------------

    def _checkpoint(self, number: int) -> CheckpointInventory:
        if number not in self._held:
            self._held[number] = as_checkpoint(self._inventory.checkpoint(number))
        return self._held[number]

    def _group(self, place: int) -> object:
        """Return what tells apart the jobs of an upload, and the pipelines of a SeaTunnel job."""
        job = self._listed[place]["job"]
        if self._engine != SEATUNNEL:
            return job
        facts = {fact.name: fact.value for fact in self._checkpoint(place).facts}
        return job, facts.get("pipeline")

    def _of_job(self, number: int) -> list[int]:
        """Return the places of the checkpoints of the same job."""
        own = self._group(number)
        return [place for place in range(len(self._listed)) if self._group(place) == own]

    def _older(self, number: int) -> list[int]:
        """Return the places of the older checkpoints of the job that were completed."""
        return [
            place
            for place in self._of_job(number)
            if place < number and self._listed[place]["status"] == COMPLETED
        ]

    def _before(self, number: int, own: CheckpointInventory) -> CheckpointInventory | None:
        places = [place for place in self._of_job(number) if place < number]
        if self._engine != SPARK or not places:
            return None
        before = self._checkpoint(places[-1])
        return before if before.id == own.id - 1 else None

    def _newest(self, number: int) -> int:
        """Return the place of the newest checkpoint of the job whose files are here."""
        places = [
            place
            for place in self._of_job(number)
            if self._rank(place) and self._listed[place]["status"] == COMPLETED
        ]
        return places[-1] if places else number

    # --- what is read again ----------------------------------------------------------------------

    def _again(self, number: int, own: CheckpointInventory, planned: RestorePlan) -> ReadAgain:
        if self._engine == SPARK:
            return self._batches_again(number, own)
        if (untold := why_not_read(own)) is not None:
            return untold
        newest = self._newest(number)
        if newest == number:
            return newest_of("pipeline" if self._engine == SEATUNNEL else "job")
        if self._engine != FLINK:
            return IN_THE_CONNECTOR
        last = self._checkpoint(newest)
        splits = self._splits(newest, last)
        return read_by_sources(planned.read_again, splits, last.title)

    def _batches_again(self, number: int, own: CheckpointInventory) -> ReadAgain:
        later = [place for place in self._of_job(number) if place > number]
        if len(later) > MOST_LATER:
            return too_many_batches(own, self._listed[later[-1]]["id"])
        return run_again(own, [self._checkpoint(place) for place in later])

    def _splits(self, number: int, own: CheckpointInventory) -> dict[str, SourceSplits]:
        """Return the splits of every operator that has the state of a source's reader."""
        if self._engine != FLINK:
            return {}
        return {
            operator.id: self._splits_of(number, operator)
            for operator in own.operators
            if any(state.name == _READER for state in operator.states)
        }

    def _splits_of(self, number: int, operator: OperatorInventory) -> SourceSplits:
        rows = list(self._rows(number, operator, _READER))
        positions = [position_of(row) for row in rows if row is not None]
        known = [item for item in positions if item is not None]
        waiting = self._waiting(number, operator)
        return SourceSplits(
            tuple(sorted([*known, *(waiting or ())], key=_by_split)),
            None if waiting is None else len(waiting),
            len(rows) - len(known),
        )

    def _waiting(self, number: int, operator: OperatorInventory) -> tuple[Position, ...] | None:
        if all(state.name != _COORDINATED for state in operator.states):
            return None
        rows = list(self._rows(number, operator, _COORDINATED))
        return waiting_of(rows[0]) if len(rows) == 1 and rows[0] is not None else None

    def _rows(self, number: int, operator: OperatorInventory, state: str) -> Iterator[bytes | None]:
        """Yield the bytes of each entry of a state; None where they are not kept whole."""
        held = self._inventory.checkpoint(number)
        page = self._inventory.entries(held, operator.id, state, limit=MOST_SPLITS)
        for row in page.rows:
            yield _bytes_of(row)
        yield from [None] * (page.total > MOST_SPLITS)

    def _positions(self, number: int, source: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the first entries of each state of a source."""
        for state in source["states"]:
            page = entries(self._inventory, number, source["operator"], state, limit=MOST_POSITIONS)
            yield {"state": state} | page

    # --- variants --------------------------------------------------------------------------------

    def _of_checkpoint(
        self, number: int, own: CheckpointInventory, asked: RestorePlan
    ) -> Iterator[RestoreVariant]:
        title = own.title
        if not asked.without:
            yield variant_of(asked, f"{title}, whole", number, is_asked=True)
            return
        whole = self._plan(number, frozenset(asked.kept))
        yield variant_of(whole, f"{title}, whole", number, is_asked=False)
        names = {item.id: item.name or item.id for item in own.operators}
        removed = listed([names[id] for id in asked.without], MOST_NAMED)
        yield variant_of(asked, f"{title} without {removed}", number, is_asked=True)

    def _of_older(self, older: list[int], kept: frozenset[str]) -> Iterator[RestoreVariant]:
        for place in reversed(older[-MOST_OLDER:]):
            own = self._checkpoint(place)
            planned = self._plan(place, kept & {item.id for item in own.operators})
            yield variant_of(planned, f"{own.title}, whole", place, is_asked=False)


def operator_named(held: CheckpointInventory, text: str) -> OperatorInventory:
    """Return the operator with this id, uid or name. Raises: NotPlannable."""
    for field in ("id", "uid", "name"):
        matches = [item for item in held.operators if getattr(item, field) == text]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise NotPlannable(
                f"{len(matches)} operators have the {field} {text[:100]}: give the id of one."
            )
    raise NotPlannable(f"The checkpoint has no operator with the id, uid or name {text[:100]}.")


def _by_split(position: Position) -> tuple[int, str]:
    return len(position.split), position.split


def _bytes_of(row: dict[str, Any]) -> bytes | None:
    """Return the bytes of an entry's value: as text in hex, or whole as its beginning."""
    if row["value"] is not None:
        value = orjson.loads(row["value"])
        text = value.get("hex") if isinstance(value, dict) else None
        return bytes.fromhex(text) if isinstance(text, str) else None
    head = row["head"]
    return head if head is not None and len(head) == row["bytes"] else None
