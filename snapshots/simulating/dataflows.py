"""Simulated runs of dataflows: which protocols there are, and the run that is asked for.

A protocol is a module with ``checked(dataflow, parameters)``, which gives its own parameters with
every default filled in, ``run(dataflow, checked, name)``, the run, and ``word(checked)``, which
tells runs apart in a list. The first two refuse with a field.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.model.recording import LoggedEvent
from snapshots.simulating import flink_runs, seatunnel_runs, spark_runs, topology_documents
from snapshots.simulating.dataflow_documents import refusal
from snapshots.simulating.parameters import one_of
from snapshots.simulating.simulated_runs import SimulatedRun

PROTOCOLS = {"flink": flink_runs, "seatunnel": seatunnel_runs, "spark": spark_runs}
MOST_EVENTS = 2_000_000


class RunTooLong(Exception):
    permanent = True

    def __init__(self) -> None:
        super().__init__(
            f"The run was not over after {MOST_EVENTS:,} events, and a part of it would tell the "
            "wrong story. Do checkpoints fail again and again, or failures follow too fast?"
        )


def checked_parameters(
    definition: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters with every default filled in. Raises: Refused with the parameter as field.

    definition: of a dataflow. protocol: one of PROTOCOLS; what else there is, its module says.
    """
    given = dict(parameters)
    name = given.pop("name", None)
    protocol = one_of(given, "protocol", PROTOCOLS, "flink")
    given.pop("protocol", None)
    try:
        checked = PROTOCOLS[protocol].checked(_dataflow(definition), given)
    except DataflowRefused as error:
        raise refusal(error) from None
    name = topology_documents.checked_name(name) if name else ""
    return {"name": name, "protocol": protocol, **checked}


def word(checked: Mapping[str, Any]) -> str:
    """What tells the run apart from others on the same dataflow."""
    return PROTOCOLS[checked["protocol"]].word(checked)


def run(name: str, parameters: Mapping[str, Any]) -> SimulatedRun:
    """parameters: checked ones, and the ``topology`` document. Its events raise RunTooLong."""
    protocol = PROTOCOLS[parameters["protocol"]]
    found = protocol.run(_dataflow(parameters["topology"]), parameters, name)
    return found._replace(events=_whole(found.events))


def _dataflow(definition: Mapping[str, Any]) -> Dataflow:
    return Dataflow.from_json(definition["dataflow"])


def _whole(events: Iterable[LoggedEvent]) -> Iterator[LoggedEvent]:
    for number, event in enumerate(events, start=1):
        if number > MOST_EVENTS:
            raise RunTooLong
        yield event
