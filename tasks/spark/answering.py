"""Whether Spark still answers: its JVM, or the server of Spark Connect."""

import threading

from pyspark.sql import SparkSession

from tasks.spark import connect
from tasks.spark.time_limits import within

ANSWER_SECONDS = 60.0
"""A JVM that collects garbage on a busy machine is silent for seconds."""
PULSE_SECONDS = 15.0


def answers(session: SparkSession) -> bool:
    """Return whether the JVM, or the server, behind a session is still there."""
    try:
        if connect.is_remote(session):
            connect.need_server(connect.address())
        return bool(within(ANSWER_SECONDS, lambda: session.conf.get("spark.sql.session.timeZone")))
    except Exception:  # py4j and grpc have many ways to say that the other side is gone
        return False


class Pulse:
    """Asks a session now and then, beside a stage, whether it answers.

    ``stopped``: whether it did not. Calls over py4j and gRPC may wait for ever for what is frozen.
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
