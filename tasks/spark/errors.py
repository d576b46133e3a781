"""The errors of Spark itself that a caller can act on."""

from collections.abc import Iterator


class SparkUnavailable(Exception):
    """No Spark session is available now; a later attempt may succeed."""

    permanent = False
    is_death = False  # whether Spark ended during a job, perhaps because of that job


class SparkStopped(SparkUnavailable):
    """The JVM of this process ended or froze in the middle of a job."""

    is_death = True


class SparkTaskFailed(Exception):
    """A job failed in one of its tasks, and would fail again."""

    permanent = True


class TaskLost(SparkTaskFailed):
    """A task ended without an error of its own: its Python worker ended, or Spark failed."""


DEEPEST_CAUSE = 20


def is_lost_worker(error: BaseException) -> bool:
    """Return whether a job failed because a Python worker ended."""
    return "Python worker exited unexpectedly" in str(error)


def is_lost_daemon(error: BaseException) -> bool:
    """Return whether a job failed because no Python worker could be started."""
    words = (
        "from pyspark.daemon",
        "pyspark.daemon's stdout",
        "failed to connect back",
        "PythonWorkerFactory.stopWorker",  # an idle worker had ended together with its daemon
    )
    return any(part in str(error) for part in words)


def is_error_of_task(error: BaseException) -> bool:
    """Return whether a job failed because the code of a task raised an error."""
    return "Traceback (most recent call last)" in str(error)


def is_disk_full(error: BaseException) -> bool:
    """Return whether Spark failed because the disk is full."""
    return "No space left on device" in str(error)


def java_causes(error: BaseException) -> Iterator:
    """Yield the exceptions of the JVM behind a Python exception, the outermost first."""
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    for _ in range(DEEPEST_CAUSE):
        if java is None:
            return
        yield java
        java = java.getCause()


def last_line(error: BaseException) -> str:
    """Return the last line of the Python worker's traceback, or of Spark's message."""
    text = str(error)
    if getattr(error, "java_exception", None) is not None:
        messages = [cause.getMessage() for cause in java_causes(error)]
        text = next((str(message) for message in reversed(messages) if message), text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    messages_only = [line for line in lines if not line.startswith(("at ", "File ", "Caused by"))]
    return messages_only[-1] if messages_only else text


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message as a sentence, preferring the JVM's message."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".") + "."
