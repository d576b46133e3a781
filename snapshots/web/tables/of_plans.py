"""Declare the tables of the plan of a SeaTunnel job."""

from snapshots.web.tables.model import Table, text, unit_of_recording, value, whole

VERTICES = Table(
    "vertices",
    "all vertices of the plan",
    "vertices",
    (
        whole("pipeline"),
        text("vertex"),
        text("kind"),
        whole("parallelism"),
        value("fed_by", "inputs"),
        value("tasks"),
        whole("tasks_with_state", "with_state"),
    ),
)
START = Table(
    "start",
    "the steps of the start",
    "steps",
    (
        whole("pipeline"),
        whole("start"),
        text("step"),
        text("who"),
        text("waits"),
        whole("first", unit=unit_of_recording),
        text("first_process"),
        whole("last", unit=unit_of_recording),
        text("last_process"),
        whole("processes", "count"),
        text("why_not_known", "why"),
    ),
)
OF_PLAN = (VERTICES, START)
