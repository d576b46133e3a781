"""Simulated runs of dataflows: the protocols, and the check and the run of a request.

A protocol is a model of its parameters (``run_parameters.DataflowParameters``), entered here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.simulators.dataflows.parameters import MOST_EVENTS
from snapshots.simulating.continuous_runs import ContinuousParameters
from snapshots.simulating.dataflow_documents import refusal
from snapshots.simulating.flink_runs import FlinkParameters
from snapshots.simulating.parameters import refused
from snapshots.simulating.run_parameters import DataflowParameters
from snapshots.simulating.seatunnel_runs import SeaTunnelParameters
from snapshots.simulating.simulated_runs import SimulatedRun
from snapshots.simulating.spark_runs import SparkParameters

PROTOCOLS: dict[str, type[DataflowParameters]] = {
    model.PROTOCOL.name: model
    for model in (FlinkParameters, SeaTunnelParameters, SparkParameters, ContinuousParameters)
}
"""The protocols by name. The first is the default."""
FAILOVERS: dict[str, tuple[str, ...]] = {
    name: model.FAILOVERS for name, model in PROTOCOLS.items() if model.FAILOVERS
}
"""The failover strategies of the protocols that have several."""


class RunTooLong(Exception):
    """The run was not over after MOST_EVENTS events."""

    permanent = True

    def __init__(self) -> None:
        super().__init__(
            f"The run was not over after {MOST_EVENTS:,} events, and a part of it would be "
            "misleading. Do checkpoints fail again and again, or failures follow too fast?"
        )


def checked(definition: Mapping[str, Any], given: Mapping[str, Any]) -> DataflowParameters:
    """Return the parameters with every default filled in.

    Args:
        definition: the definition of a dataflow's topology.
        given: the request; its ``protocol`` decides which parameters there are.

    Raises: Refused, with the parameter as field.
    """
    protocol = given.get("protocol")
    model = PROTOCOLS.get(_default(protocol)) if isinstance(protocol, str | None) else None
    if model is None:
        raise refused(f"The protocol is one of {', '.join(PROTOCOLS)}.", "protocol")
    dataflow = _dataflow(definition)
    try:
        parameters = model.checked(given, dataflow)
        parameters.check(dataflow)
    except DataflowRefused as error:
        raise refusal(error) from None
    return parameters


def run(name: str, stored: Mapping[str, Any]) -> SimulatedRun:
    """Return a run whose events may raise RunTooLong.

    Args:
        name: the name of the recording.
        stored: checked parameters, with the ``topology``.
    """
    dataflow = _dataflow(stored["topology"])
    run = PROTOCOLS[stored["protocol"]].read(stored, dataflow).run(dataflow, name)
    return run._replace(events=_whole(run.events))


def _default(protocol: str | None) -> str:
    return next(iter(PROTOCOLS)) if protocol is None else protocol


def _dataflow(definition: Mapping[str, Any]) -> Dataflow:
    return Dataflow.from_json(definition["dataflow"])


def _whole(events: Iterable[LoggedEvent]) -> Iterator[LoggedEvent]:
    for number, event in enumerate(events, start=1):
        if number > MOST_EVENTS:
            raise RunTooLong
        yield event
