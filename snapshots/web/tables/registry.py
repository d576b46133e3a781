"""The tables of each page, by the name of its address."""

from collections.abc import Mapping

from snapshots.web.tables import of_dataflows, of_inventory, of_people, of_recordings, of_workbench
from snapshots.web.tables.model import Table

_OF_EDITOR = (
    of_recordings.VERTICES,
    of_recordings.EDGES,
    of_recordings.PROCESSES,
    of_recordings.CHANNELS,
)

TABLES: Mapping[str, tuple[Table, ...]] = {
    "recordings": (of_recordings.RECORDINGS,),
    "recording": (*of_workbench.OF_WORKBENCH, of_recordings.DEFECTS),
    "defects": (of_recordings.DEFECTS,),
    "snapshot-by-query": (of_recordings.SNAPSHOTS, *of_recordings.OF_SNAPSHOT),
    "snapshot": of_recordings.OF_SNAPSHOT,
    "job": (of_recordings.RESTORE_DIFFERENCES,),
    "jobs": (of_recordings.JOBS,),
    "live": (of_recordings.LIVE_PROCESSES,),
    "mappings": (of_recordings.MAPPINGS,),
    "topologies": (of_recordings.TOPOLOGIES,),
    "new-topology": _OF_EDITOR,
    "topology": _OF_EDITOR,
    "compare": (
        of_recordings.COMPARED_RECORDINGS,
        of_recordings.PARAMETERS,
        of_recordings.FAILURES_COMPARED,
    ),
    "compare-two": (of_recordings.DIFFERENCES,),
    "properties": (of_recordings.PROPERTIES,),
    "predicates": (of_recordings.PREDICATE_CUTS, of_recordings.EARLIER_QUESTIONS),
    "bisect": of_recordings.OF_BISECT,
    "bisect-archived": of_recordings.OF_BISECT,
    "states": (of_recordings.GLOBAL_STATES,),
    "smallest-part": (of_recordings.SMALLEST_PART,),
    "proof": (
        of_recordings.PROOF_EVENTS,
        of_recordings.PROOF_STATES,
        of_recordings.PROOF_CHECKS,
    ),
    "side-by-side": (of_recordings.SIDE_BY_SIDE,),
    "rules": (of_recordings.WHAT_FOLLOWS,),
    "checkpoints": of_dataflows.OF_CHECKPOINTS,
    "answer": (of_dataflows.LOADS,),
    "archive": (of_dataflows.ARCHIVED_JOBS, of_dataflows.COLLECTORS),
    "archived-job": (
        of_dataflows.ARCHIVED_CHECKPOINTS,
        of_dataflows.SLOWEST,
        of_dataflows.CAUSES,
        of_dataflows.RESCALES,
    ),
    "archived-checkpoint": (of_dataflows.ARCHIVED_TASKS,),
    "archived-front": (of_dataflows.FRONT,),
    "compare-archived": (
        of_dataflows.BOTH_CHECKPOINTS,
        of_dataflows.SHARES,
        of_dataflows.RISES,
    ),
    "inventory": (of_inventory.CHECKPOINTS, of_inventory.FILES),
    "checkpoint-inventory": of_inventory.OF_CHECKPOINT,
    "inventory-bytes": of_inventory.OF_BYTES,
    "upload-check": (of_inventory.CHECKS, of_inventory.ABSENT, of_inventory.UNNEEDED),
    "restore-check": (of_inventory.NEEDED,),
    "inventory-difference": of_inventory.OF_DIFFERENCE,
    "inventory-difference-keys": (of_inventory.KEYS,),
    "restore-plan": of_inventory.OF_PLAN,
    "account": (of_people.TOKENS, of_people.SESSIONS, of_people.ENTRIES),
    "activity": (of_people.ENTRIES,),
    "notifications": (of_people.WEBHOOKS, of_people.MAILS),
    "webhook": (of_people.DELIVERIES,),
    "teams": (of_people.TEAMS,),
    "reviews": (of_people.REVIEWS,),
    "follow-ups": (of_people.FOLLOW_UPS,),
    "team": (of_people.MEMBERS, of_people.INVITATIONS, of_people.ENTRIES),
    "operator": (of_people.WORKERS,),
    "people": (of_people.PEOPLE, of_people.TEAM_ACCOUNTS),
    "team-of-operator": (of_people.ENTRIES,),
    "audit": (of_people.AUDIT,),
}
