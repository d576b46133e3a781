"""Check whether Spark still answers: its JVM, or the server of Spark Connect."""

import threading

from pyspark.sql import SparkSession

from tasks.spark import connect
from tasks.spark.time_limits import within

ANSWER_SECONDS = 60.0
"""A JVM that collects garbage on a busy machine can be silent for seconds."""
PULSE_SECONDS = 15.0


def answers(session: SparkSession) -> bool:
    """Return whether the JVM or the server behind a session still answers."""
    try:
        if connect.is_remote(session):
            connect.need_server(connect.address())
        return bool(within(ANSWER_SECONDS, lambda: session.conf.get("spark.sql.session.timeZone")))
    except Exception:  # py4j and grpc raise many kinds of errors when the other side is gone
        return False


class Pulse:
    """Checks regularly, while a stage runs, whether its session still answers.

    ``stopped`` becomes True when it does not. A call over py4j or gRPC to a frozen process would
    wait for ever.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._over = threading.Event()
        self.stopped = False

    def __enter__(self) -> "Pulse":
        threading.Thread(target=self._beat, name="spark-pulse", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self.stopped and not self._over.wait(PULSE_SECONDS):
            self.stopped = not answers(self._session)
