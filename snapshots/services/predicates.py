"""Check predicates over all consistent cuts for the pages and the API."""

from typing import Any

from snapshots.domain.conditions.conjunctions import NotLocal, conjunction
from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Invalid, Refused


def checked(recording: Recording, expression: Any) -> str:
    """Return the expression if it is a conjunction of local conditions on processes.

    Raises: Invalid, Refused. For an expression that is not local, ``instead`` names where to
    evaluate it.
    """
    if not isinstance(expression, str):
        raise Invalid("expression must be a text.", field="expression")
    processes = frozenset(process.id for process in open_recording(recording).topology.processes)
    try:
        conjunction(expression, processes)
    except NotLocal as error:
        raise _elsewhere(Refused.of_expression(error, "not-local"), recording) from None
    except ExpressionError as error:
        raise Refused.of_expression(error) from None
    return expression


def _elsewhere(refused: Refused, recording: Recording) -> Refused:
    """Add to a refusal where the expression can be evaluated; ``reason`` keeps its own sentence."""
    address = f"/api/recordings/{recording.pk}/properties"
    refused.members |= {"reason": refused.detail, "instead": address}
    refused.detail += f" POST {address} with the same expression does that."
    return refused
