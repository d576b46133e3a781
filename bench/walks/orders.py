"""A job on a real Flink whose checkpoints fail now and then, and which fails itself.

For `docs/walks.md`. It runs in a Python that has `apache-flink`, not in Cutline's own:

    python bench/walks/orders.py CHECKPOINT_FOLDER REST_PORT

Orders meet exchange rates, which are broadcast. A window adds up the turnover of each shop, and a
ledger books every order. The third subtask of the ledger becomes slow a minute after each start,
and fails a minute later. The source of the rates takes seconds to handle a trigger.
"""

import random
import sys
import time
from pathlib import Path

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import KeyedBroadcastProcessFunction, MapFunction, ReduceFunction
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingProcessingTimeWindows

SETTINGS = {
    "rest.address": "127.0.0.1",
    "execution.checkpointing.interval": "6s",
    "execution.checkpointing.timeout": "25s",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "execution.checkpointing.num-retained": "3",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "2s",
    "taskmanager.memory.segment-size": "4kb",
    "taskmanager.network.memory.buffers-per-channel": "1",
    "taskmanager.network.memory.floating-buffers-per-gate": "2",
    "python.executable": sys.executable,
    "python.client.executable": sys.executable,
    "python.fn-execution.bundle.size": "20",
    "python.fn-execution.bundle.time": "100",
}
CURRENCIES = ("USD", "GBP", "CHF")
RATES = MapStateDescriptor("rates", Types.STRING(), Types.DOUBLE())
ORDER = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
RATE = Types.TUPLE([Types.STRING(), Types.DOUBLE()])
PRICED = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])


def order(number: int) -> tuple[str, str, int]:
    time.sleep(0.008)
    chance = random.Random(number)
    shop = 0 if chance.random() < 0.4 else chance.randrange(1, 20)
    return f"shop-{shop}", chance.choice(CURRENCIES), chance.randrange(1, 500)


def rate(number: int) -> tuple[str, float]:
    time.sleep(1)
    chance = random.Random(number)
    return chance.choice(CURRENCIES), round(chance.uniform(0.8, 1.2), 4)


class InEuro(KeyedBroadcastProcessFunction):
    """Prices an order by the newest rate, and keeps the turnover of each shop."""

    def open(self, context) -> None:
        self.turnover = context.get_state(ValueStateDescriptor("turnover", Types.DOUBLE()))

    def process_element(self, value, context):
        shop, currency, amount = value
        newest = context.get_broadcast_state(RATES).get(currency)
        if newest is not None:
            euro = round(amount * newest, 2)
            self.turnover.update(round((self.turnover.value() or 0.0) + euro, 2))
            yield shop, euro, 1

    def process_broadcast_element(self, value, context) -> None:
        context.get_broadcast_state(RATES).put(*value)


class Add(ReduceFunction):
    """Adds up euros and orders of a shop."""

    def reduce(self, one, other):
        return one[0], round(one[1] + other[1], 2), one[2] + other[2]


class Ledger(MapFunction):
    """Books orders; its third subtask gets slow, and fails."""

    def open(self, context) -> None:
        self.is_ill, self.began = context.get_index_of_this_subtask() == 2, time.time()

    def map(self, value) -> str:
        age = time.time() - self.began
        if self.is_ill:
            time.sleep(0.001 if age < 60 else 0.2)
        if self.is_ill and age > 115:
            raise RuntimeError(f"ledger refused the booking of {value[0]}: connection reset")
        return f"{value[0]} {value[1]}"


def run(folder: Path, port: str) -> None:
    """Run the job. This never returns."""
    configuration = Configuration()
    ports = {"rest.port": port, "rest.bind-port": port}
    options = {"execution.checkpointing.dir": folder.resolve().as_uri(), **ports}
    for name, value in (SETTINGS | options).items():
        configuration.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(3)

    def numbers(name: str):
        source, lateness = NumberSequenceSource(1, 10_000_000), WatermarkStrategy.no_watermarks()
        return environment.from_source(source, lateness, name, Types.LONG()).uid(name)

    orders = numbers("orders").map(order, ORDER).name("parse").uid("parse")
    rates = numbers("rates").set_parallelism(1).map(rate, RATE).name("quote").uid("quote")
    rates = rates.set_parallelism(1).broadcast(RATES)
    priced = orders.key_by(lambda it: it[0], Types.STRING()).connect(rates)
    priced = priced.process(InEuro(), PRICED).name("in-euro").uid("in-euro")
    window = priced.key_by(lambda it: it[0], Types.STRING()).window(
        TumblingProcessingTimeWindows.of(Time.seconds(10))
    )
    window.reduce(Add()).name("turnover").uid("turnover").print().name("report")
    booked = priced.rebalance().map(Ledger(), Types.STRING()).name("ledger").uid("ledger")
    booked.print().name("booked")
    environment.execute("orders in euro")


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2])
