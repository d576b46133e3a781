"""Change logs as they arrive in practice: out of order, without times, with clocks that differ."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from hypothesis import strategies as st

from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.simulators.script import Log
from tests.builders import runs


@st.composite
def logs(draw, *, max_processes: int = 40) -> Log:
    """Generate logs of any shape, some of them as the simulator writes them."""
    log = draw(runs(max_processes=max_processes))
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=2)):
        log = draw(change(log))
    return log


@st.composite
def shuffled(draw, log: Log) -> Log:
    """Put the lines in another order, so that only indexes show what came first."""
    return _numbered(log, draw(st.permutations(log.events)) if log.events else ())


def by_process(log: Log) -> st.SearchStrategy[Log]:
    """Sort by process, as if the logs of the processes had been joined."""
    return st.just(_numbered(log, sorted(log.events, key=lambda event: event.process)))


@st.composite
def without_times(draw, log: Log) -> Log:
    """Remove ``at`` from all or some events."""
    return _changed(log, _lacking("at", draw(st.sampled_from([1, 1, 2, 3]))))


@st.composite
def without_indexes(draw, log: Log) -> Log:
    """Remove ``index`` from all or some events."""
    return _changed(log, _lacking("index", draw(st.sampled_from([1, 1, 3]))))


def with_gaps(log: Log) -> st.SearchStrategy[Log]:
    """Remove every other index."""
    return st.just(_changed(log, lambda n, event: {"index": event.index and 2 * event.index}))


@st.composite
def skewed(draw, log: Log) -> Log:
    """Make the clocks of the processes differ."""
    offsets = draw(st.lists(st.integers(0, 20_000), min_size=3, max_size=3))
    ids = [process.id for process in log.header.topology.processes]
    ahead = {name: offsets[n % 3] for n, name in enumerate(ids)}
    return _changed(log, _moved(lambda event: event.at + ahead[event.process]))


def coarse(log: Log) -> st.SearchStrategy[Log]:
    """Make the clock so coarse that many events share an instant."""
    return st.just(_changed(log, _moved(lambda event: event.at // 5_000)))


CHANGES = (shuffled, by_process, without_times, without_indexes, with_gaps, skewed, coarse)

Fields = Callable[[int, LoggedEvent], Mapping[str, object]]


def _lacking(field: str, every: int) -> Fields:
    return lambda n, event: {} if n % every else {field: None}


def _moved(clock: Callable[[LoggedEvent], int]) -> Fields:
    return lambda n, event: {} if event.at is None else {"at": clock(event)}


def _changed(log: Log, fields: Fields) -> Log:
    return _numbered(
        log, [replace(event, **fields(n, event)) for n, event in enumerate(log.events)]
    )


def _numbered(log: Log, events: Iterable[LoggedEvent]) -> Log:
    lines = tuple(replace(event, line=line) for line, event in enumerate(events, 2))
    return Log(log.header, lines)
