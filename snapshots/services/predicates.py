"""Predicates over all consistent cuts, as the pages and the API ask for them."""

from typing import Any

from snapshots.domain.conditions.conditions import NotLocal, conjunction
from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Invalid, Refused


def checked(recording: Recording, expression: Any) -> str:
    """The expression, if it is a conjunction of local conditions on processes of the recording.

    Raises: Invalid, Refused; of what is not local it says where else to ask, in ``instead``.
    """
    if not isinstance(expression, str):
        raise Invalid("expression is a text.", field="expression")
    processes = frozenset(process.id for process in open_recording(recording).topology.processes)
    try:
        conjunction(expression, processes)
    except NotLocal as error:
        raise _elsewhere(Refused.of_expression(error, "not-local"), recording) from None
    except ExpressionError as error:
        raise Refused.of_expression(error) from None
    return expression


def _elsewhere(refused: Refused, recording: Recording) -> Refused:
    """reason: the sentence without the way out."""
    address = f"/api/recordings/{recording.pk}/properties"
    refused.members |= {"reason": refused.detail, "instead": address}
    refused.detail += f" POST {address} with the same expression does that."
    return refused
