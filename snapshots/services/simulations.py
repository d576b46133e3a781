"""Queue recordings of simulated runs: one, or one for each failover strategy.

Raises: problems.Problem for a wrong request.
"""

from typing import Any

from django.db import transaction

from snapshots import allowances
from snapshots.fields import clipped
from snapshots.models import Job, Recording, Topology
from snapshots.problems import Conflict
from snapshots.services.jobs import create_job
from snapshots.simulating.dataflows import FAILOVERS
from snapshots.simulating.reruns import DEMONSTRATION, Rerun
from snapshots.simulating.simulations import checked_for


@transaction.atomic
def request_simulation(owner, topology: Topology, parameters: dict[str, Any], by=None) -> Job:
    """Queue a recording of a simulated run. Raises: Refused, with the parameter as field.

    Args:
        owner: the account of a person or of a team.
        topology: the topology or dataflow on which it runs.
        parameters: the parameters as the person gave them.
        by: the person who requests it, by default the owner.
    """
    allowances.require_room_for(owner, 0)
    checked, word = checked_for(topology.definition, parameters)
    name = checked.pop("name") or f"{topology.name}, {word}"
    recording = Recording.objects.create(
        owner=owner,
        name=clipped(name, 200),
        topology=None if topology.is_sample and owner is None else topology,
        parameters={**checked, "topology": topology.definition},
    )
    return create_job(Job.Kind.SIMULATE, owner, by=by, recording=recording)


@transaction.atomic
def request_rerun(owner, recording: Recording | None, again: Rerun, words: str, by=None) -> Job:
    """Queue a run that was looked at in memory as a recording of its own.

    Args:
        owner: the account of a person or of a team.
        recording: the recording that is run again; None for the demonstration.
        again: the parameters of the new run.
        words: what distinguishes it, for its name.
        by: the person who requests it, by default the owner.
    """
    allowances.require_room_for(owner, 0)
    name = recording.name if recording else "three banks"
    definition = (recording.parameters if recording else DEMONSTRATION)["topology"]
    row = Recording.objects.create(
        owner=owner,
        name=clipped(f"{name}, {words}", 200),
        topology=recording.topology if recording else None,
        parameters={**again.parameters.stored(), "topology": definition},
    )
    return create_job(Job.Kind.SIMULATE, owner, by=by, recording=row)


@transaction.atomic
def request_failover_comparison(owner, recording: Recording, by=None) -> list[Job]:
    """Queue the recording's simulated dataflow once more for each failover strategy.

    Everything else stays the same. Raises: Conflict if it is not such a run, or nothing fails in
    it.
    """
    parameters = recording.parameters or {}
    if parameters.get("protocol") not in FAILOVERS or not parameters.get("failures"):
        raise Conflict(
            "Only a simulated run of Flink, SeaTunnel or Spark in which a task fails can be run "
            "again with each failover strategy."
        )
    jobs = []
    for failover in FAILOVERS[parameters["protocol"]]:
        variant = Recording.objects.create(
            owner=owner,
            name=clipped(f"{recording.name}, {failover} failover", 200),
            topology=recording.topology,
            parameters={**parameters, "failover": failover},
        )
        jobs.append(create_job(Job.Kind.SIMULATE, owner, by=by, recording=variant))
    return jobs
