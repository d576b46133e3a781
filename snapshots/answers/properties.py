"""Evaluate properties over what snapshots recorded, for the pages and the API."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from snapshots.answers.outcomes import outcome_of
from snapshots.domain import properties
from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.properties.answers import Answer
from snapshots.domain.properties.global_state import GlobalState, at_start, of_stored
from snapshots.domain.properties.phases import FIRST, LAST, PHASE
from snapshots.models import Snapshot
from snapshots.payloads.cuts import snapshot_detail
from snapshots.problems import Invalid, Refused
from snapshots.sandbox import evaluation
from snapshots.store.reader import StoredRecording

MOST_SNAPSHOTS = 200  # evaluated at once


def evaluate(
    stored: StoredRecording, rows: Sequence[Snapshot], question: Mapping[str, Any]
) -> dict[str, Any]:
    """Evaluate a built-in property, or an expression, over snapshots. See PropertyStrip.

    Args:
        question: has exactly one of ``property`` and ``expression``, and for the property ``phase``
            the number of the phase, 1 if it is absent.
        rows: the snapshots, in order; those beyond MOST_SNAPSHOTS are only counted.

    Raises: Invalid, Refused.
    """
    name, text = property_or_expression(question)
    phase = phase_of(question, name)
    states = [recorded_state(stored, row) for row in rows[:MOST_SNAPSHOTS]]
    answers = _built_in(stored, states, name, phase) if name else _own(states, text)
    return {
        **(as_json(properties.built_in(name, phase)) if name else {"property": None}),
        "phase": phase if name == PHASE.name else None,
        "expression": text or None,
        "items": list(map(as_json, answers)),
        "total": len(rows),
        "omitted": len(rows) - len(states),
    }


def property_or_expression(question: Mapping[str, Any]) -> tuple[str, str]:
    """Return the property's name or the expression, and an empty text. Raises: Invalid."""
    given = [key for key in ("property", "expression") if question.get(key) is not None]
    if len(given) != 1:
        raise Invalid("Give exactly one of property and expression.", field="property")
    (field,) = given
    value = question[field]
    if not isinstance(value, str):
        raise Invalid(f"{field} must be a text.", field=field)
    if field == "expression":
        return "", value
    if value not in properties.BUILT_IN:
        names = ", ".join(properties.BUILT_IN)
        raise Invalid(f"There is no property {value[:60]!r}; there are {names}.", field=field)
    return value, ""


def phase_of(question: Mapping[str, Any], name: str) -> int:
    """Return the number of the phase that is asked about, the first if none is given.

    Raises: Invalid.
    """
    phase = question.get("phase")
    if phase is None:
        return FIRST
    if name != PHASE.name:
        raise Invalid("Only the property phase takes the number of a phase.", field="phase")
    if not isinstance(phase, int) or isinstance(phase, bool) or not FIRST <= phase <= LAST:
        raise Invalid(f"phase must be a whole number from {FIRST} to {LAST:,}.", field="phase")
    return phase


def recorded_state(stored: StoredRecording, row: Snapshot) -> GlobalState:
    """Return the state that a snapshot recorded, and recomputed parts where it recorded none."""
    detail = orjson.loads(orjson.dumps(snapshot_detail(row, stored, outcome_of(row))))
    scope = stored.scope(SnapshotId(row.snapshot))
    return of_stored(detail, scope, is_derived=is_derived(stored.manifest.header_extra))


def _built_in(
    stored: StoredRecording, states: Sequence[GlobalState], name: str, phase: int
) -> tuple[Answer, ...]:
    return properties.strip(name, states, at_start(stored.topology), phase)


def _own(states: Sequence[GlobalState], text: str) -> tuple[Answer, ...]:
    try:
        return evaluation.strip(text, states)
    except ExpressionError as error:
        raise Refused.of_expression(error) from None
