"""Open and close sessions of a Spark Connect server."""

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from tasks.spark.configuration import setting, start_seconds
from tasks.spark.errors import SparkUnavailable, first_line
from tasks.spark.time_limits import within

PORT = 15002
SECONDS_TO_CONNECT = 10
SECONDS_TO_CLOSE = 5.0
MOST_RETRIES, LONGEST_BACKOFF = 10, 5000  # ms
"""Retries last half a minute; the client's own ten minutes would also delay the process's end."""


SHORT_CALLS = (
    "analyze_plan",
    "clone_session",
    "config",
    "fetch_error_details",
    "get_status",
    "interrupt",
    "release_session",
)
"""The calls of Spark Connect that run no query."""


def address() -> str:
    """Return the server's address with its parameters, or an empty text if none is configured."""
    return setting("SPARK_REMOTE", "")


def is_remote(session: SparkSession) -> bool:
    """Return whether the session belongs to Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def connect(remote: str, options: Mapping[str, str]) -> SparkSession:
    """Open a new session. Raises: SparkUnavailable."""
    need_server(remote)
    try:
        session = within(start_seconds(), SparkSession.builder.remote(remote).create)
    except Exception as error:
        raise unreachable(remote, error) from error
    try:
        limit(session, start_seconds())
        for key, value in options.items():
            within(start_seconds(), partial(session.conf.set, key, value))
    except Exception as error:
        close(session)
        raise unreachable(remote, error) from error
    return session


def limit(session: SparkSession, seconds: float) -> None:
    """Limit how often the client tries a call, and how many seconds one may take.

    Its own limits are ten minutes to an hour, and no public name of PySpark changes them. Queries
    keep theirs, for they may take long: the client asks for the rest of the answer again.
    """
    # Only here, since they load gRPC and pandas, which no other session needs.
    from pyspark.sql.connect.client.core import RpcDeadlines
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=MOST_RETRIES, max_backoff=LONGEST_BACKOFF)
    session.client.set_retry_policies([policy])
    session.client._rpc_deadlines = replace(RpcDeadlines(), **dict.fromkeys(SHORT_CALLS, seconds))
    artifacts = session.client._artifact_manager
    artifacts._add_artifacts_timeout = artifacts._artifact_status_timeout = seconds


def close(session: SparkSession) -> None:
    """Close the connection without a call to the server, which may be gone."""
    with contextlib.suppress(Exception):
        within(SECONDS_TO_CLOSE, session.client.close)


def need_server(remote: str) -> None:
    """Check that the server's port is open, because Spark's client would try for ten minutes.

    Raises: SparkUnavailable.
    """
    parts = urlsplit(remote)
    try:
        target = parts.hostname or "", parts.port or PORT
        socket.create_connection(target, timeout=SECONDS_TO_CONNECT).close()
    except (OSError, ValueError) as error:
        raise unreachable(remote, error) from error


def unreachable(remote: str, error: Exception) -> SparkUnavailable:
    """Return the error without the parameters of the address, which may hold a token."""
    server = remote.partition("/;")[0]
    return SparkUnavailable(
        f"The Spark Connect server {server} (SPARK_REMOTE) cannot be reached: {first_line(error)}"
    )
