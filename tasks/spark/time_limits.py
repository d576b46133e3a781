"""Limit the time of calls that have no limit, such as those over py4j and some over gRPC."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return what ``call`` returns. Raises what it raises, and TimeoutError when time is up.

    A call whose time is up continues in its thread, which does not keep the process alive.
    """
    outcome: dict[str, Any] = {}
    thread = threading.Thread(target=_keep, args=(call, outcome), daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"There was no answer within {seconds:g} seconds.")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def _keep(call: Callable[[], Any], outcome: dict[str, Any]) -> None:
    try:
        outcome["result"] = call()
    except BaseException as error:
        outcome["error"] = error
