"""What can go wrong with Spark itself, as far as a caller can act on it."""


class SparkUnavailable(Exception):
    """No Spark session can be had now; a later try may succeed."""

    permanent = False


class SparkTaskFailed(Exception):
    """A job failed in one of its tasks, and would again."""

    permanent = True


def first_line(error: BaseException) -> str:
    """What an error says, as one sentence; of one from the JVM, what the exception there says."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".") + "."
