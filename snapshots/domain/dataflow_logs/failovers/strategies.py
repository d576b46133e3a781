"""Names which of a dataflow's tasks a failure restarted."""

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.dataflow_logs.events import Plan
from snapshots.domain.dataflow_logs.failovers.report import FULL, PIPELINE, REGION, SOME, UPSTREAM
from snapshots.domain.model.topology import ProcessId


def strategy(plan: Plan, scope: tuple[ProcessId, ...], failed: ProcessId | None) -> str:
    """Return the widest strategy that the scope amounts to, or ``some`` if it is none of them.

    Args:
        scope: the tasks that went down.
        failed: the task that failed; None if the job did.
    """
    tasks = set(scope)
    if tasks >= set(plan.tasks):
        return FULL
    if plan.dataflow is None:
        return SOME
    if any(tasks == pipeline for pipeline in _pipelines(plan, plan.dataflow)):
        return PIPELINE
    if any(tasks == set(region) for region in plan.dataflow.regions):
        return REGION
    return UPSTREAM if failed in tasks and _has_all_before(plan, tasks) else SOME


def behind(plan: Plan, scope: tuple[ProcessId, ...]) -> set[ProcessId]:
    """Return the tasks outside the scope to which ways of channels lead from it."""
    if set(scope) >= set(plan.tasks):
        return set()
    targets: dict[ProcessId, list[ProcessId]] = {}
    for channel in plan.topology.channels:
        targets.setdefault(channel.source, []).append(channel.target)
    reached, new = set(scope), list(scope)
    while new:
        found = {target for name in new for target in targets.get(name, ())} - reached
        reached |= found
        new = list(found)
    return (reached - set(scope)) & set(plan.tasks)


def _has_all_before(plan: Plan, tasks: set[ProcessId]) -> bool:
    """Tell whether the tasks are those of whole vertices, with all vertices before these."""
    vertices = {plan.vertex_of(name) for name in tasks}
    if any(plan.vertex_of(name) in vertices for name in plan.tasks if name not in tasks):
        return False
    channels = plan.topology.channels
    return all(channel.source in tasks for channel in channels if channel.target in tasks)


def _pipelines(plan: Plan, dataflow: Dataflow) -> list[set[ProcessId]]:
    """Return the tasks of each pipeline.

    If pipelines are scopes of the topology, enumerators and committers are among them.
    """
    scopes = plan.topology.scopes
    if len(scopes) > 1:
        scope_of = {process.id: process.scope for process in plan.topology.processes}
        return [{name for name in plan.tasks if scope_of[name] == scope} for scope in scopes]
    return [
        {name for name in plan.tasks if plan.vertex_of(name) in vertices}
        for vertices in dataflow.pipelines
    ]
