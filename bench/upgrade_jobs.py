"""Jobs on a real Flink whose state is found again, or is not, when they start from a savepoint.

`bench/real_upgrades.py` starts this with a Python that has `apache-flink`, not with Cutline's own:

    python bench/upgrade_jobs.py

Each line that it reads is a JSON object: ``do`` (describe, savepoint, checkpoint or start),
``design`` (how the job differs from the one in `DEFAULTS`), ``folder``, and ``reply``, the file for
the answer. The operators note in a file what they find at the first record of a key, and what they
write.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment

DEFAULTS: dict[str, Any] = {
    "port": "8971",  # of the REST API
    "mode": "thread",  # "process" keeps the state of Python functions as bytes
    "backend": "hashmap",
    "format": "CANONICAL",
    "uids": True,
    "uid_of": {},  # another uid than the name
    "hash_of": {},  # an id of Flink that is set by hand
    "chaining": True,
    "max_parallelism": 8,
    "width": 1,  # the parallelism of what sets none
    "parallelism": {},
    "order": ["count", "account"],  # the stateful operators in the order of the flow
    "inserted": False,  # a map without state before the first of them
    "key": "string",
    "count": {"name": "count", "kind": "value", "type": "long"},
    "parity": True,
    "history": "long",
    "timers": True,
    "sql": None,
    "settings": {},  # of Flink, beyond SETTINGS
}
SETTINGS = {
    "rest.address": "127.0.0.1",
    "restart-strategy.type": "none",
    "python.executable": sys.executable,
    "python.client.executable": sys.executable,
    "python.fn-execution.bundle.size": "20",
    "python.fn-execution.bundle.time": "100",
    "execution.checkpointing.storage": "jobmanager",
    "taskmanager.numberOfTaskSlots": "12",
    "taskmanager.memory.network.max": "64m",
    "taskmanager.memory.managed.size": "128m",
}
KEYS = 5
SECONDS_EACH = 0.005
LONGEST = 90  # seconds until a job has shown what it finds
FAR_AWAY = 4_102_444_800_000  # of timers, in ms: the year 2100


def type_of(name: str) -> Any:
    """Return the type of PyFlink that a design names."""
    return {"long": Types.LONG, "string": Types.STRING}[name]()


class Notes:
    """What an operator finds and writes, a line of JSON for each."""

    def __init__(self, path: str, operator: str) -> None:
        self.path, self.operator = path, operator
        self.keys: set[object] = set()

    def found(self, key: object, **states: object) -> None:
        """Note what is there at the first record of a key."""
        if key not in self.keys:
            self.keys.add(key)
            self._add("found", key, states)

    def written(self, key: object, **states: object) -> None:
        """Note what is there after a record."""
        self._add("written", key, states)

    def _add(self, what: str, key: object, states: dict[str, object]) -> None:
        line = {"what": what, "operator": self.operator, "key": str(key), "states": states}
        with open(self.path, "a") as file:  # noqa: PTH123  (one system call for each line)
            file.write(json.dumps(line) + "\n")


class Count(KeyedProcessFunction):
    """Counts the records of a key, and the odd and even numbers among them."""

    def __init__(self, notes: str, design: dict[str, Any]) -> None:
        self.path, self.design = notes, design

    def open(self, context: Any) -> None:
        """Register the states."""
        self.notes = Notes(self.path, "count")
        state = self.design["count"]
        self.kind, self.convert = state["kind"], {"long": int, "string": str}[state["type"]]
        of = type_of(state["type"])
        self.count = None
        if self.kind == "value":
            self.count = context.get_state(ValueStateDescriptor(state["name"], of))
        elif self.kind == "list":
            self.count = context.get_list_state(ListStateDescriptor(state["name"], of))
        self.parity = None
        if self.design["parity"]:
            self.parity = context.get_map_state(
                MapStateDescriptor("parity", Types.STRING(), Types.LONG())
            )

    def process_element(self, value: Any, context: Any) -> Any:
        """Count a record."""
        key = context.get_current_key()
        self.notes.found(key, **self._held())
        if self.kind == "value":
            self.count.update(self.convert(int(self.count.value() or 0) + 1))
        elif self.kind == "list":
            self.count.update([sum(self.count.get() or []) + 1])
        if self.parity is not None:
            name = "odd" if value[1] % 2 else "even"
            self.parity.put(name, (self.parity.get(name) or 0) + 1)
        if self.design["timers"]:
            context.timer_service().register_processing_time_timer(FAR_AWAY)
        self.notes.written(key, **self._held())
        yield value

    def on_timer(self, timestamp: int, context: Any) -> Any:
        """Do nothing: no timer fires before the year 2100."""
        yield from ()

    def _held(self) -> dict[str, object]:
        held: dict[str, object] = {}
        if self.kind == "value":
            held[self.design["count"]["name"]] = self.count.value()
        elif self.kind == "list":
            held[self.design["count"]["name"]] = list(self.count.get() or []) or None
        if self.parity is not None:
            held["parity"] = dict(sorted(self.parity.items() or [])) or None
        return held


class Account(KeyedProcessFunction):
    """Adds up the numbers of a key, and keeps the last three."""

    def __init__(self, notes: str, design: dict[str, Any], operator: str = "account") -> None:
        self.path, self.design, self.operator = notes, design, operator

    def open(self, context: Any) -> None:
        """Register the states."""
        self.notes = Notes(self.path, self.operator)
        row = Types.ROW([Types.STRING(), Types.LONG()])
        self.total = context.get_state(ValueStateDescriptor("total", row))
        self.history = None
        if self.design["history"]:
            of = type_of(self.design["history"])
            self.history = context.get_list_state(ListStateDescriptor("history", of))

    def process_element(self, value: Any, context: Any) -> Any:
        """Add a number."""
        from pyflink.common import Row

        key = context.get_current_key()
        self.notes.found(key, **self._held())
        before = self.total.value()
        self.total.update(Row(str(value[0]), (before[1] if before else 0) + value[1]))
        if self.history is not None:
            self.history.update([*(self.history.get() or []), value[1]][-3:])
        self.notes.written(key, **self._held())
        yield value

    def _held(self) -> dict[str, object]:
        total = self.total.value()
        held: dict[str, object] = {"total": None if total is None else list(total)}
        if self.history is not None:
            held["history"] = list(self.history.get() or []) or None
        return held


def paired(design: dict[str, Any], notes: str) -> Any:
    """Return the function that gives each number a key, slowly."""
    seen = Notes(notes, "numbers")

    def pair(number: int) -> tuple[Any, int]:
        time.sleep(SECONDS_EACH)
        seen.found("first", position=number)
        seen.written("first", position=number)
        key = number % KEYS
        return (key if design["key"] == "long" else f"k{key}", number)

    return pair


def an_environment(design: dict[str, Any], folder: Path) -> StreamExecutionEnvironment:
    """Return an environment with the settings of the design."""
    configuration = Configuration()
    settings = SETTINGS | {
        "rest.port": design["port"],
        "rest.bind-port": design["port"],
        "python.execution-mode": design["mode"],
        "state.backend.type": design["backend"],
        "pipeline.operator-chaining.enabled": str(design["chaining"]).lower(),
        "execution.checkpointing.dir": folder.resolve().as_uri(),
        **design["settings"],
    }
    if "savepoint" in design:
        settings["execution.state-recovery.path"] = Path(design["savepoint"]).resolve().as_uri()
        settings["execution.state-recovery.ignore-unclaimed-state"] = str(
            design.get("allow", False)
        ).lower()
    for name, value in settings.items():
        configuration.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(design["width"])
    if design["max_parallelism"] is not None:
        environment.set_max_parallelism(design["max_parallelism"])
    return environment


def build(environment: StreamExecutionEnvironment, design: dict[str, Any], notes: str) -> None:
    """Add the operators of a design to an environment."""

    def named(stream: Any, name: str) -> Any:
        stream = stream.name(name)
        if name in design["hash_of"]:
            return stream.set_uid_hash(design["hash_of"][name])
        if design["uids"] or name in design["uid_of"]:
            stream = stream.uid(design["uid_of"].get(name, name))
        return stream

    key_type = type_of(design["key"])
    pair_type = Types.TUPLE([key_type, Types.LONG()])
    functions = {
        "count": Count(notes, design),
        "account": Account(notes, design),
        "extra": Account(notes, design, "extra"),
    }
    source = environment.from_source(
        NumberSequenceSource(1, 100_000_000),
        WatermarkStrategy.no_watermarks(),
        "numbers",
        Types.LONG(),
    )
    stream = named(named(source, "numbers").map(paired(design, notes), pair_type), "to-pair")
    if design["inserted"]:
        stream = named(stream.rebalance().map(lambda pair: pair, pair_type), "inserted")
    for name in design["order"]:
        keyed = stream.key_by(lambda pair: pair[0], key_type)
        stream = named(keyed.process(functions[name], pair_type), name)
        stream = stream.set_parallelism(design["parallelism"].get(name, 2))
    sink = stream.print()
    sink.name("out").set_parallelism(1)
    if design["uids"]:
        sink.uid("out")


def build_sql(environment: StreamExecutionEnvironment, design: dict[str, Any]) -> None:
    """Add the operators of a query to an environment."""
    tables = StreamTableEnvironment.create(environment)
    for name, value in design["sql"].get("settings", {}).items():
        tables.get_config().set(name, value)
    for table in design["sql"]["tables"]:
        tables.execute_sql(table)
    statements = tables.create_statement_set()
    statements.add_insert_sql(design["sql"]["insert"])
    statements.attach_as_datastream()


def graph_of(design: dict[str, Any], folder: Path) -> tuple[StreamExecutionEnvironment, Any]:
    """Build the job, and return its environment and Flink's stream graph."""
    environment = an_environment(design, folder)
    if design["sql"]:
        build_sql(environment, design)
    else:
        build(environment, design, str((folder / "notes.jsonl").resolve()))
    return environment, environment._generate_stream_graph(clear_transformations=True)


# --- what the job is ------------------------------------------------------------------------------


def describe(design: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write the execution plan, the plan of the REST API and the ids of the job graph."""
    _, graph = graph_of(design, folder)
    (folder / "execution-plan.json").write_text(graph.getStreamingPlanAsJSON())
    job_graph = graph.getJobGraph()
    vertices = [
        {
            "vertex": vertex.getName(),
            "parallelism": vertex.getParallelism(),
            "maxParallelism": vertex.getMaxParallelism(),
            "operators": [_operator(pair) for pair in vertex.getOperatorIDs()][::-1],
        }
        for vertex in job_graph.getVerticesSortedTopologicallyFromSources()
    ]
    (folder / "uids.json").write_text(json.dumps(vertices, indent=1))
    generator = get_gateway().jvm.org.apache.flink.runtime.jobgraph.jsonplan.JsonPlanGenerator
    plan = generator.generatePlan(job_graph)
    mapper = get_gateway().jvm.org.apache.flink.util.jackson.JacksonMapperFactory
    written = mapper.createObjectMapper().writeValueAsString(plan)
    (folder / "plan.json").write_text(json.dumps({"plan": json.loads(written)}, indent=1))
    return {"status": "DESCRIBED"}


def _operator(pair: Any) -> dict[str, Any]:
    own = pair.getUserDefinedOperatorID()
    id_ = own.get() if own.isPresent() else pair.getGeneratedOperatorID()
    return {
        "operatorId": id_.toString(),
        "uid": pair.getUserDefinedOperatorUid(),
        "name": pair.getUserDefinedOperatorName(),
    }


# --- what it does ---------------------------------------------------------------------------------


def take_savepoint(design: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run the job for a while and stop it with a savepoint."""
    environment, graph = graph_of(design, folder)
    client = environment._j_stream_execution_environment.executeAsync(graph)
    end = client.getJobExecutionResult()
    if not _runs(client, end, folder / "notes.jsonl", design):
        return {"status": "ENDED", "causes": _causes(end)}
    formats = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    target = (folder / "savepoint").resolve().as_uri()
    path = client.stopWithSavepoint(False, target, getattr(formats, design["format"])).get()
    _causes(end)
    return {"status": "STOPPED", "savepoint": path}


def keep_checkpoint(design: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run the job for a while and cancel it; the newest checkpoint stays."""
    environment, graph = graph_of(design, folder)
    client = environment._j_stream_execution_environment.executeAsync(graph)
    end = client.getJobExecutionResult()
    if not _runs(client, end, folder / "notes.jsonl", design):
        return {"status": "ENDED", "causes": _causes(end)}
    client.cancel().get()
    _causes(end)
    kept = sorted(folder.glob("*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime)
    return {"status": "CANCELLED", "savepoint": str(kept[-1].parent) if kept else None}


def start(design: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Start the job from a savepoint, and return what became of it."""
    try:
        environment, graph = graph_of(design, folder)
        client = environment._j_stream_execution_environment.executeAsync(graph)
    except Py4JJavaError as error:
        return {"status": "REFUSED", "causes": _chain(error.java_exception)}
    end = client.getJobExecutionResult()
    if not _runs(client, end, folder / "notes.jsonl", design):
        return {"status": "ENDED", "causes": _causes(end)}
    client.cancel().get()
    _causes(end)
    return {"status": "RUNNING", "causes": []}


def _runs(client: Any, end: Any, notes: Path, design: dict[str, Any]) -> bool:
    """Wait until every operator has noted every key; tell whether the job still runs then.

    A query notes nothing, and runs for the seconds of its design.
    """
    until = time.monotonic() + design.get("seconds", LONGEST)
    while time.monotonic() < until:
        if end.isDone():
            return False
        if not design["sql"] and _all_noted(notes, design):
            break
        time.sleep(0.2)
    time.sleep(1)
    return not end.isDone() and client.getJobStatus().get().toString() == "RUNNING"


def _all_noted(notes: Path, design: dict[str, Any]) -> bool:
    lines = notes.read_text().splitlines() if notes.exists() else []
    whole = [json.loads(line) for line in lines if line.endswith("}")]
    keys = {(line["operator"], line["key"]) for line in whole if line["what"] == "written"}
    operators = ["numbers", *(name for name in design["order"] for _ in range(KEYS))]
    return len(keys) == len(operators)


def _causes(end: Any) -> list[str]:
    """Wait for the end of a job, and return the exception that ended it with its causes."""
    try:
        end.get()
    except Py4JJavaError as error:
        return _chain(error.java_exception)
    return []


def _chain(exception: Any) -> list[str]:
    chain = []
    while exception is not None:
        chain.append(exception.toString())
        exception = exception.getCause()
    return chain


def main() -> None:
    # The interpreter inside of Flink's JVM does not look into a virtual environment by itself.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    does = {
        "describe": describe,
        "savepoint": take_savepoint,
        "checkpoint": keep_checkpoint,
        "start": start,
    }
    for line in sys.stdin:
        asked = json.loads(line)
        folder = Path(asked["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        try:
            reply = does[asked["do"]](DEFAULTS | asked["design"], folder)
        except Exception as error:  # the next job must run all the same
            reply = {"status": "NOT RUN", "causes": [str(error)]}
        written = Path(asked["reply"])
        written.with_suffix(".part").write_text(json.dumps(reply, indent=1))
        written.with_suffix(".part").rename(written)


if __name__ == "__main__":
    main()
