"""Read from a stored recording the few events that tell what its tasks and coordinators do."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from snapshots.domain.dataflow_logs.control.events import (
    BACK_KINDS,
    DOWN_KINDS,
    TELLING,
    WITH_FIELDS,
    WORK,
    Place,
    is_work,
)
from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent, dataflow_of, fields_of
from snapshots.domain.dataflow_logs.kinds import TASK_END
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.topology import JsonText, ProcessId
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.tables import Tables


class ControlEvents:
    """The events that ``domain.dataflow_logs.control`` reads, of one recording."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.kinds = tables.manifest.kinds

    @cached_property
    def plan(self) -> Plan:
        """What the header says of the run."""
        extra = self.tables.manifest.header_extra
        unit = self.tables.manifest.time_unit
        return Plan(self.tables.topology, dataflow_of(extra), unit, is_derived(extra))

    @cached_property
    def telling(self) -> tuple[Ints, Ints]:
        """Process and index of the events of the kinds TELLING, by process and index: int64[N]."""
        found = [self._of_kinds(code, TELLING) for code in self.tables.all_processes.tolist()]
        codes = np.repeat(self.tables.all_processes, [len(own) for own in found])
        return codes, np.concatenate([np.zeros(0, np.int64), *found])

    def _of_kinds(self, code: int, kinds: frozenset[str]) -> Ints:
        """Return the indices of the events of a process that are of some kinds."""
        wanted = self.tables.kind_codes(kinds)
        return np.flatnonzero(np.isin(self.tables.events.run("kind", code), wanted))

    @cached_property
    def lasts(self) -> Mapping[ProcessId, Place]:
        """The place of the last event of each process that has any."""
        lengths = self.tables.events.length
        codes = np.flatnonzero(lengths)
        rows = self.tables.events.pick(codes, lengths[codes] - 1)
        names = [self.tables.topology.processes[code].id for code in codes.tolist()]
        places = map(Place, rows.values("at").tolist(), rows.values("step").tolist())
        return dict(zip(names, places, strict=True))

    def read(self) -> list[ProtocolEvent]:
        """Return the events that tell what processes do, in order."""
        told = self._events(*self.telling)
        works = [work for code, own in self._starts(told) for work in self._first_works(code, own)]
        return sorted([*told, *works], key=lambda event: event.step)

    def of_kinds(self, kinds: frozenset[str]) -> list[ProtocolEvent]:
        """Return the events of some kinds with all their fields, in order."""
        found = [self._of_kinds(code, kinds) for code in self.tables.all_processes.tolist()]
        codes = np.repeat(self.tables.all_processes, [len(own) for own in found])
        indices = np.concatenate([np.zeros(0, np.int64), *found])
        return sorted(self._events(codes, indices, kinds), key=lambda event: event.step)

    def of_task(self, process: ProcessId, kinds: frozenset[str]) -> list[ProtocolEvent]:
        """Return the events of some kinds of one process with all their fields, in order.

        Raises: KeyError if there is no such process.
        """
        code = self.tables.process_code(process)
        indices = self._of_kinds(code, kinds)
        return self._events(np.full(len(indices), code), indices, kinds)

    def count_of_task(self, process: ProcessId, kinds: frozenset[str]) -> int:
        """Return how many events of some kinds a process has. Raises: KeyError."""
        return len(self._of_kinds(self.tables.process_code(process), kinds))

    def _events(
        self, codes: Ints, indices: Ints, with_fields: frozenset[str] = WITH_FIELDS | WORK
    ) -> list[ProtocolEvent]:
        rows = self.tables.events.pick(codes, indices)
        names = "kind", "at", "step", "channel", "snapshot"
        numbers = [rows.values(name).tolist() for name in names]
        needed = TELLING | WORK if self.plan.is_derived else with_fields
        fields = self._fields(codes, indices, rows.values("kind"), needed)
        topology, snapshots = self.tables.topology, self.tables.manifest.snapshots
        columns = zip(codes.tolist(), indices.tolist(), *numbers, rows.texts("label"), strict=True)
        return [
            ProtocolEvent(
                topology.processes[code].id,
                index,
                self.kinds[kind],
                at,
                step,
                None if channel == NONE else topology.channels[channel].id,
                None if snapshot == NONE else snapshots[snapshot],
                label,
                fields=fields_of(fields.get((code, index))),
            )
            for code, index, kind, at, step, channel, snapshot, label in columns
        ]

    def _fields(
        self, codes: Ints, indices: Ints, kinds: Ints, needed: frozenset[str]
    ) -> dict[tuple[int, int], JsonText | None]:
        """Return the further fields of those events whose fields are needed."""
        lanes = np.flatnonzero(np.isin(kinds, self.tables.kind_codes(needed)))
        chosen = codes[lanes], indices[lanes]
        texts = self.tables.events.pick(*chosen).json("extra")
        places = zip(chosen[0].tolist(), chosen[1].tolist(), strict=True)
        return dict(zip(places, texts, strict=True))

    def _starts(self, told: list[ProtocolEvent]) -> list[tuple[int, Ints]]:
        """Return where the first work of each task is looked for: after what, by its code.

        A task works anew after it began, came back, failed or ended a batch.
        """
        processes = self.tables.topology.processes
        code_of: dict[str, int] = {process.id: code for code, process in enumerate(processes)}
        starts = {code_of[name]: {0} for name in self.plan.tasks}
        for event in told:
            if event.kind in BACK_KINDS or event.kind == TASK_END:
                starts.setdefault(code_of[event.process], set()).add(event.index + 1)
            elif event.kind in DOWN_KINDS:
                named = [code_of[name] for name in event.names("scope") or () if name in code_of]
                codes = np.array(named or list(starts), np.int64)
                steps = np.full(len(codes), event.step)
                indices = self.tables.events.bisect_in("step", codes, steps)
                for code, index in zip(codes.tolist(), indices.tolist(), strict=True):
                    starts.setdefault(code, set()).add(index)
        return [(code, np.array(sorted(own), np.int64)) for code, own in starts.items()]

    def _first_works(self, code: int, starts: Ints) -> Iterator[ProtocolEvent]:
        """Yield the first work of a process from each index on; all of them are sorted."""
        works = self._of_kinds(code, WORK)
        places = np.unique(np.searchsorted(works, starts))
        while len(places := places[places < len(works)]):
            events = self._events(np.full(len(places), code), works[places])
            is_found = np.array([is_work(event) for event in events])
            yield from (event for event, found in zip(events, is_found, strict=True) if found)
            places = places[~is_found] + 1
