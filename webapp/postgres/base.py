"""Django's engine for PostgreSQL, with connections that survive a restart of the server.

A web process opens a connection for each request. A worker keeps one for a whole job, and may use
it minutes later, after the server was restarted.
"""

import time

from django.db.backends.postgresql import base

REST_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a connection that was idle before it is used again, and replaces a broken one."""

    _used_at = 0.0

    def close_if_health_check_failed(self) -> None:
        """Check a connection that was idle; Django calls this before each statement.

        Inside a transaction nothing is checked, because its work is lost with its connection.
        """
        now = time.monotonic()
        if self._is_doubtful(now):
            self.health_check_done = False
        self._used_at = now
        super().close_if_health_check_failed()

    def _is_doubtful(self, now: float) -> bool:
        if self.connection is None or self.in_atomic_block or not self.connection.autocommit:
            return False
        return self.connection.closed or now - self._used_at > REST_SECONDS
