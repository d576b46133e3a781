"""A task of a micro-batch: from the version of the state to the next one."""

from typing import TYPE_CHECKING

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE
from snapshots.domain.dataflow_logs.kinds import READ, TASK_END, TX_BEGIN, TX_PRECOMMIT, WRITE
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.simulators.dataflows.functions import Record, apply, emitted
from snapshots.domain.simulators.dataflows.tasks import value_text
from snapshots.domain.simulators.micro_batches.tasks import Shuffle, SparkTask
from snapshots.domain.simulators.protocols.spark_epochs import Batch

if TYPE_CHECKING:
    from snapshots.domain.simulators.micro_batches.run import SparkRun


class SparkWork:
    def __init__(self, run: "SparkRun") -> None:
        self.run = run

    def launch(self, task: SparkTask, batch: Batch) -> None:
        task.running = True
        self.run.task_later(task, self.run.plan.control_delay, self._start, batch)

    def _start(self, task: SparkTask, batch: Batch) -> None:
        task.state = task.versions[batch.id]
        if task.tx is not None:
            self.run.log.add(task.id, TX_BEGIN, {"tx": task.tx.begin(self.run.queue.now)})
        self._go_on(task, batch)

    def _go_on(self, task: SparkTask, batch: Batch) -> None:
        """The next record, after its cost, or the end."""
        cost = round(task.cost * (0.5 + self.run.rng.random()))
        shuffle = next((shuffle for shuffle in task.inputs if shuffle.waiting), None)
        if shuffle is not None:
            self.run.task_later(task, cost, self._process, shuffle, batch)
        elif task.vertex.kind == SOURCE and task.state["offset"] < batch.ranges[task.id][1]:
            self.run.task_later(task, cost, self._read, batch)
        else:
            self._end(task, batch)

    def _read(self, task: SparkTask, batch: Batch) -> None:
        offset = task.state["offset"]
        record = self.run.splits[task.id].record(offset)
        task.state = {"offset": offset + 1}
        extra = {"rid": list(record.rid), "split": task.id, "offset": offset}
        self.run.log.add(task.id, READ, extra, value=value_text(record), state=task.state_text)
        self.run.rereading.note_read(task.id, offset)
        task.made.append(record)
        self._go_on(task, batch)

    def _process(self, task: SparkTask, shuffle: Shuffle, batch: Batch) -> None:
        message, record = shuffle.waiting.popleft()
        if task.vertex.kind == SINK:
            task.state = {"written": task.state["written"] + 1}
        else:
            task.state, made = apply(task.vertex, task.state, record, shuffle.port)
            task.made += made
        self.run.log.add(
            task.id,
            RECEIVE,
            {"rid": list(record.rid)},
            channel=shuffle.id,
            message=message,
            value=value_text(record),
            state=task.state_text,
        )
        if task.vertex.kind == SINK:
            self._write(task, record, batch)
        self._go_on(task, batch)

    def _write(self, task: SparkTask, record: Record, batch: Batch) -> None:
        name = task.vertex.id
        task.written.append(record)
        if self.run.sinks[name].skips(batch.id):
            return
        self.run.counted.written.setdefault(name, []).append(record)
        self.run.counted.tables.setdefault(name, {})[record.key] = record.value
        self.run.sinks[name].write(record)
        tx = None if task.tx is None else task.tx.write(record)
        extra = {"rid": list(record.rid), "sink": name, "tx": tx}
        self.run.log.add(task.id, WRITE, extra, value=value_text(record), state=task.state_text)

    def _end(self, task: SparkTask, batch: Batch) -> None:
        made, task.made = task.made, []
        for edge, subtask, record in emitted(self.run.dataflow, task.edges, task.index, made):
            shuffle = task.outputs[edge.target, subtask]
            shuffle.sent.append(record)
            self.send(task, shuffle, record)
        if task.tx is not None:
            extra = {"tx": task.tx.precommit(batch.id), "batch": batch.id}
            self.run.log.add(task.id, TX_PRECOMMIT, extra)
        task.versions[batch.id + 1] = task.state
        task.running = False
        extra = {
            "batch": batch.id,
            "attempt": batch.attempt,
            "operator": task.vertex.id,
            "partition": task.index,
            "state_version": batch.id + 1,
        }
        self.run.log.add(task.id, TASK_END, extra, snapshot=str(batch.id))
        self.run.later(self.run.plan.control_delay, self._ended, task)

    def _ended(self, task: SparkTask) -> None:
        self.run.act(self.run.steps.on_task_end(self.run.driver, task.id))

    def send(
        self, task: SparkTask, shuffle: Shuffle, record: Record, *, restored: bool | None = None
    ) -> None:
        self.run.messages += 1
        message = f"m{self.run.messages}"
        self.run.log.add(
            task.id,
            SEND,
            {"rid": list(record.rid), "restored": restored},
            channel=shuffle.id,
            message=message,
            value=value_text(record),
            state=task.state_text,
        )
        shuffle.waiting.append((message, record))
