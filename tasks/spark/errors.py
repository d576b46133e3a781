"""What can go wrong with Spark itself, as far as a caller can act on it."""


class SparkUnavailable(Exception):
    """No Spark session can be had now; a later try may succeed."""

    permanent = False


class SparkTaskFailed(Exception):
    """A job failed in one of its tasks, and would again."""

    permanent = True
