"""Check whether Spark still answers: its JVM, or the server of Spark Connect."""

import threading
from contextlib import suppress
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from tasks.spark import connect, executors
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
    wait for ever. It also counts the executors of a cluster.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._over = threading.Event()
        self.stopped = False
        self._began = datetime.now(UTC)
        self._alone_since: datetime | None = None

    def __enter__(self) -> "Pulse":
        threading.Thread(target=self._beat, name="spark-pulse", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self.stopped and not self._over.wait(PULSE_SECONDS):
            self.stopped = not answers(self._session)
            with suppress(Exception):  # whether Spark answers is said by the line before
                self._count(within(ANSWER_SECONDS, lambda: executors.joined(self._session)))

    def _count(self, joined: int | None) -> None:
        if joined:
            self._alone_since = None
        elif joined == 0 and self._alone_since is None:
            self._alone_since = datetime.now(UTC)

    def waits_for(self, has_begun: bool) -> str:
        """Return what the stage waits for in words, empty if it works.

        Args:
            has_begun: whether some task of the stage has begun.
        """
        since = self._alone_since
        if since is None and not has_begun and connect.is_remote(self._session):
            waited = (datetime.now(UTC) - self._began).total_seconds()
            since = self._began if waited > PULSE_SECONDS else None
        return executors.waiting(self._session, since) if since else ""
