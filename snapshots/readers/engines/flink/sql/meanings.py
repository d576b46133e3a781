"""What the states of Flink SQL's operators hold, by the names that Flink gives them.

A state is told apart by its name, its operator and the type of its keys, which are rows; all three
stand in the checkpoint. A name that belongs to no operator of SQL has no meaning here.
Source: Flink 2.3.0, the operators of flink-table-runtime; docs/formats/flink-sql.md.
"""

import re
from dataclasses import dataclass

from snapshots.domain.inventory.held import (
    AS_PROGRAMMED,
    BOUNDED,
    ENTRIES,
    GROUPS,
    KEYS,
    MATCH,
    ONE_A_KEY,
    PASSES,
    ROWS,
    UNTIL_RETRACTED,
    VALUES,
    WINDOW,
)

JOINED, LISTED, ONE, UNCOUNTED = "joined", "listed", "one", "uncounted"  # how rows are counted
KEYS_OF_ROWS = "rowdata"  # how the type of SQL's keys begins

_NAMED = re.compile(r"([A-Z]\w*)(?:\[\d+\]|\()")  # an operator's name: Join[36], Join(joinType=…
_UID = re.compile(r"\d+_([a-z]+(?:-[a-z]+)*)")  # by Flink's rule: 36_join

_AGGREGATES = "GroupAggregate|GlobalGroupAggregate|IncrementalGroupAggregate|GroupTableAggregate"
_TOP_N = "Rank|SortLimit|Limit"
_WINDOWS = "WindowAggregate|GlobalWindowAggregate|GroupWindowAggregate"

OPERATORS = {
    "Join": "a join",
    "MultiJoin": "a join of several inputs",
    "IntervalJoin": "an interval join",
    "TemporalJoin": "a temporal join",
    "WindowJoin": "a join by window",
    "Rank": "a Top-N",
    "SortLimit": "ORDER BY with LIMIT",
    "Limit": "LIMIT",
    "Deduplicate": "a deduplication",
    "GroupAggregate": "GROUP BY",
    "GlobalGroupAggregate": "GROUP BY, behind partial sums",
    "IncrementalGroupAggregate": "GROUP BY with DISTINCT, in buckets",
    "GroupTableAggregate": "GROUP BY with a table aggregate function",
    "OverAggregate": "OVER",
    "Match": "MATCH_RECOGNIZE",
    "WindowAggregate": "GROUP BY a window",
    "GlobalWindowAggregate": "GROUP BY a window, behind partial sums",
    "GroupWindowAggregate": "GROUP BY a window, in the old syntax",
    "WindowRank": "a Top-N in each window",
    "WindowDeduplicate": "a deduplication in each window",
    "TemporalSort": "ORDER BY time",
    "SinkMaterializer": "an upsert materializer before a sink",
    "ChangelogNormalize": "the normalization of a changelog",
    "ProcessTableFunction": "a process table function",
}
"""What each operator with state does, by its name in Flink's plans."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one state holds.

    Attributes:
        what: what lies in it, with an article.
        counts: one of JOINED, LISTED, ONE and UNCOUNTED.
        unit: what is counted, in the singular.
        stays: one of the rules of ``domain.inventory.held`` by which entries go.
    """

    what: str
    counts: str
    unit: str
    stays: str


_Row = tuple[str, str, Meaning]  # operators, names of states or name:type, what they hold


def _row(operators: str, states: str, what: str, counts: str, unit: str, stays: str) -> _Row:
    return operators, states, Meaning(what, counts, unit, stays)


_KNOWN: tuple[_Row, ...] = (
    _row("Join", "left-records", "the left side of the join", JOINED, ROWS, UNTIL_RETRACTED),
    _row("Join", "right-records", "the right side of the join", JOINED, ROWS, UNTIL_RETRACTED),
    _row("WindowJoin", "left-records", "the left side of the join", LISTED, ROWS, WINDOW),
    _row("WindowJoin", "right-records", "the right side of the join", LISTED, ROWS, WINDOW),
    _row("IntervalJoin", "IntervalJoinLeftCache",
         "the left side of the join", LISTED, ROWS, PASSES),
    _row("IntervalJoin", "IntervalJoinRightCache",
         "the right side of the join", LISTED, ROWS, PASSES),
    _row("IntervalJoin", "IntervalJoinLeftTimerState",
         "when rows of the left side are cleared next", ONE, KEYS, PASSES),
    _row("IntervalJoin", "IntervalJoinRightTimerState",
         "when rows of the right side are cleared next", ONE, KEYS, PASSES),
    _row("TemporalJoin", "left", "rows that wait for the watermark", LISTED, ROWS, PASSES),
    _row("TemporalJoin", "right", "the versions of each key, of which the last one stays",
         LISTED, ROWS, ONE_A_KEY),
    _row("TemporalJoin", "next-index",
         "the number of the next row of each key", ONE, KEYS, ONE_A_KEY),
    _row("TemporalJoin", "timer", "when each key goes on", ONE, KEYS, PASSES),
    _row(_TOP_N, "data-state-with-append", "the first rows of each partition",
         LISTED, ROWS, ONE_A_KEY),
    _row(_TOP_N, "data-state-with-update", "the first rows of each partition",
         LISTED, ROWS, ONE_A_KEY),
    _row(_TOP_N, "data-state", "all rows of each partition, because its input retracts",
         LISTED, ROWS, UNTIL_RETRACTED),
    _row(_TOP_N, "sorted-map", "how many rows each sort key has", UNCOUNTED, KEYS, UNTIL_RETRACTED),
    _row("Rank", "Top1-Rank-State", "the first row of each partition", ONE, ROWS, ONE_A_KEY),
    _row("Rank", "counterState", "how many rows of each partition were given on",
         ONE, KEYS, ONE_A_KEY),
    _row("Deduplicate", "deduplicate-state:boolean",
         "the keys that were seen", ONE, KEYS, ONE_A_KEY),
    _row("Deduplicate", "deduplicate-state",
         "the row that is kept of each key", ONE, ROWS, ONE_A_KEY),
    _row("Deduplicate", "waiting-to-emit-on-timer", "rows that wait for the watermark",
         ONE, ROWS, PASSES),
    _row("Deduplicate", "already-emitted-state-boolean", "the keys of which a row was given on",
         ONE, KEYS, ONE_A_KEY),
    _row(_AGGREGATES, "accState", "the accumulators of each group", ONE, GROUPS, ONE_A_KEY),
    _row(_AGGREGATES, r"distinctAcc_\d+",
         "the distinct values of each group, and how often each came",
         LISTED, VALUES, UNTIL_RETRACTED),
    _row(_AGGREGATES, r"distinctAcc_\d+_null_state", "how often null came in each group",
         ONE, GROUPS, UNTIL_RETRACTED),
    _row(_AGGREGATES, r"agg\d+\$(map|list|retractList)",
         "the values over which an aggregate takes retractions", LISTED, VALUES, UNTIL_RETRACTED),
    _row("OverAggregate", "inputState", "rows in the frame, or rows that wait for the watermark",
         LISTED, ROWS, PASSES),
    _row("OverAggregate", "valueMapState",
         "all rows of each partition", LISTED, ROWS, UNTIL_RETRACTED),
    _row("OverAggregate", "sortedListState", "the order of the rows of each partition",
         UNCOUNTED, KEYS, UNTIL_RETRACTED),
    _row("OverAggregate", "accMapState", "the accumulators at each sort key",
         LISTED, VALUES, UNTIL_RETRACTED),
    _row("OverAggregate", "accState", "the accumulators of each partition", ONE, KEYS, ONE_A_KEY),
    _row("OverAggregate", "idState|processedCountState|lastTriggeringTsState|smallestTSState",
         "where each partition is", ONE, KEYS, ONE_A_KEY),
    _row("OverAggregate", "cleanupTsState", "when a frame is cleared", ONE, KEYS, PASSES),
    _row("OverAggregate|IntervalJoin|TemporalJoin", r"\w*CleanupTime|cleanup-timestamp",
         "when a key is cleared, by the time to live", ONE, KEYS, PASSES),
    _row("Match", "nfaStateName", "the partial matches of each key", ONE, KEYS, MATCH),
    _row("Match", "sharedBuffer-events", "the rows of partial matches", LISTED, ROWS, MATCH),
    _row("Match", "sharedBuffer-entries-with-lockable-edges",
         "how the rows of partial matches follow each other", UNCOUNTED, KEYS, MATCH),
    _row("Match", "sharedBuffer-events-count", "how many rows came at one time",
         UNCOUNTED, KEYS, MATCH),
    _row("Match", "eventQueuesStateName", "rows that wait for the watermark", LISTED, ROWS, PASSES),
    _row(_WINDOWS, "window-aggs",
         "the accumulators of each group and window", ONE, ENTRIES, WINDOW),
    _row(_WINDOWS, "session-window-mapping", "which sessions were merged", UNCOUNTED, KEYS, WINDOW),
    _row("WindowRank", "window_rank", "the first rows of each window", LISTED, ROWS, WINDOW),
    _row("WindowDeduplicate", "window_deduplicate", "the row that is kept of each window",
         ONE, ROWS, WINDOW),
    _row("TemporalSort", "dataState", "rows that wait for the watermark", LISTED, ROWS, PASSES),
    _row("TemporalSort", "lastTriggeringTsState", "up to which time rows were given on",
         ONE, KEYS, BOUNDED),
    _row("SinkMaterializer", "values|list", "all rows of each key that were not retracted",
         LISTED, ROWS, UNTIL_RETRACTED),
    _row("SinkMaterializer", "sqnToNodeState",
         "all rows of each key that were not retracted, by number",
         LISTED, ROWS, UNTIL_RETRACTED),
    _row("SinkMaterializer", "rowToSqnState",
         "the numbers of these rows", UNCOUNTED, KEYS, UNTIL_RETRACTED),
    _row("SinkMaterializer", "highestSqnState", "the first and the last number of each key",
         ONE, KEYS, UNTIL_RETRACTED),
    _row("MultiJoin", "multi-join-input-0",
         "the first input of the join", JOINED, ROWS, UNTIL_RETRACTED),
    _row("MultiJoin", r"multi-join-input-\d+",
         "another input of the join", JOINED, ROWS, UNTIL_RETRACTED),
    _row("ProcessTableFunction", "internal-named-timers-map", "when each named timer fires",
         LISTED, VALUES, PASSES),
    _row("ProcessTableFunction", r"(?!_timer_state/).*", "a state of the function's own",
         UNCOUNTED, KEYS, AS_PROGRAMMED),
)  # fmt: skip
_COMPILED = tuple(
    (frozenset(operators.split("|")), re.compile(states), meaning)
    for operators, states, meaning in _KNOWN
)


def operator_kind(name: str | None, uid: str | None) -> str | None:
    """Return which operator of SQL it is, such as ``Join``; None if its name does not tell."""
    if name and (named := _NAMED.match(name)) and named.group(1) in OPERATORS:
        return named.group(1)
    if uid and (by_rule := _UID.fullmatch(uid)):
        kind = by_rule.group(1).title().replace("-", "")
        return kind if kind in OPERATORS else None
    return None


def meaning_of(kind: str, state: str, type_: str) -> Meaning | None:
    """Return what a state of an operator holds, by its name and type; None if not known."""
    for operators, names, meaning in _COMPILED:
        if kind in operators and (names.fullmatch(f"{state}:{type_}") or names.fullmatch(state)):
            return meaning
    return None
