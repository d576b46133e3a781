"""Simulated recordings: the check of a request, and the run as a native file."""

import gzip
from collections.abc import Callable, Mapping
from typing import Any

from snapshots.files.uploads import Draft
from snapshots.readers.logs.native import write_lines
from snapshots.simulating import dataflows, topology_documents
from snapshots.simulating.parameters import Parameters
from snapshots.simulating.simulated_runs import SimulatedRun
from snapshots.simulating.workload_runs import WorkloadParameters

PARAMETERS: tuple[type[Parameters], ...] = (WorkloadParameters, *dataflows.PROTOCOLS.values())
"""All models of parameters: of a workload on a topology, and of each protocol on a dataflow."""
_LINES_BETWEEN_REPORTS = 2_000


def checked_for(
    definition: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Return the checked parameters of a run, and words that distinguish it from others.

    Args:
        definition: the definition of the stored topology, which may be a dataflow's.
        given: the request.

    Raises: Refused, with the parameter as field.
    """
    if "dataflow" in definition:
        run = dataflows.checked(definition, given)
        return run.stored(), run.label
    parameters = WorkloadParameters.checked(given, topology_documents.as_domain(definition))
    return parameters.stored(), parameters.label


def write(
    draft: Draft,
    name: str,
    parameters: Mapping[str, Any],
    progress: Callable[[str, int, int], None],
) -> None:
    """Run the simulation into the draft, as compressed native lines.

    Args:
        draft: the file to write.
        name: the name of the recording.
        parameters: checked parameters, with the ``topology``.
        progress: is called with the phase, the amount done and the amount in all; may raise to
            cancel.
    """
    run = _run(name, parameters)
    lines = write_lines(run.header, run.events)
    with gzip.GzipFile(fileobj=draft, mode="wb", compresslevel=1, mtime=0) as packed:
        for number, line in enumerate(lines):
            packed.write(line)
            if number % _LINES_BETWEEN_REPORTS == 0:
                progress("simulating", min(number, run.expected), run.expected)


def _run(name: str, stored: Mapping[str, Any]) -> SimulatedRun:
    if "dataflow" in stored["topology"]:
        return dataflows.run(name, stored)
    topology = topology_documents.as_domain(stored["topology"])
    return WorkloadParameters.read(stored, topology).run(topology, name)
