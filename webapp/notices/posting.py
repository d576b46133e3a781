"""Sign a notice as https://www.standardwebhooks.com asks, and post it."""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from standardwebhooks import Webhook as Signer

from snapshots.payloads.dates import date
from webapp.notices import addresses
from webapp.notices.models import Delivery, Notice, Webhook
from webapp.notices.outcomes import NotDelivered
from webapp.version import VERSION

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0  # from the first connection to the answer's head, however slowly it comes


def body_of(notice: Notice) -> str:
    """Return the JSON that is posted, the same at each attempt."""
    about = {"title": notice.title, "sentence": notice.sentence}
    page = {"url": settings.PUBLIC_URL + notice.path} if notice.path else {}
    data = about | page | notice.data
    return json.dumps({"type": notice.kind, "timestamp": date(notice.at), "data": data})


def headers_of(delivery: Delivery, webhook: Webhook, body: str) -> dict[str, str]:
    now = datetime.now(UTC)
    message_id = f"msg_{delivery.message_id.hex}"
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Cutline/{VERSION}",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Signer(webhook.secret).sign(message_id, now, body),
    }


def post(delivery: Delivery, webhook: Webhook) -> int:
    """Post a notice to a webhook and return the status of the answer, whose body is not read.

    Raises: NotDelivered for every status but 2xx: a redirect is not followed.
    """
    body = body_of(delivery.notice)
    status = _status_of(webhook.url, body, headers_of(delivery, webhook, body))
    if 200 <= status < 300:
        return status
    if status == 410:
        sentence = "The receiver answered 410: it wants nothing more."
        raise NotDelivered(sentence, status=status, is_final=True, is_gone=True)
    moved = " A redirect is not followed: enter the new address." if 300 <= status < 400 else ""
    raise NotDelivered(f"The receiver answered {status}.{moved}", status=status)


def _status_of(url: str, body: str, headers: dict[str, str]) -> int:
    parts = urlsplit(url)
    target = parts._replace(scheme="", netloc="").geturl() or "/"
    target = target if target.startswith("/") else f"/{target}"
    try:
        with _connected(parts) as connection:
            connection.request("POST", target, body.encode(), headers | {"Host": parts.netloc})
            return connection.getresponse().status
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        raise NotDelivered(f"There is no secure connection: {reason}.") from None
    except TimeoutError:
        raise NotDelivered("The receiver did not answer in time.") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotDelivered(f"There is no connection: {_words(error)}.") from None


@contextmanager
def _connected(parts: SplitResult) -> Iterator[http.client.HTTPConnection]:
    """Connect to an address that was checked, and cut the connection off in time."""
    host, port = str(parts.hostname), addresses.port_of(parts)
    connection = http.client.HTTPConnection(host, port)
    candidates = addresses.resolved(host, port)
    ends_at = time.monotonic() + ANSWER_SECONDS
    connection.sock = _first_that_answers(candidates, port, ends_at)
    is_late = threading.Event()
    cut = threading.Timer(max(0.0, ends_at - time.monotonic()), _cut, [connection, is_late])
    cut.start()
    try:
        if parts.scheme == "https":
            _secure(connection, host)
        yield connection
    except (OSError, http.client.HTTPException):
        _require_time(is_late)
        raise
    else:
        _require_time(is_late)  # a head that was cut off is read as if it had ended there
    finally:
        cut.cancel()
        connection.close()


def _require_time(is_late: threading.Event) -> None:
    if is_late.is_set():
        raise TimeoutError


def _secure(connection: http.client.HTTPConnection, host: str) -> None:
    context = ssl.create_default_context()
    secured = context.wrap_socket(
        connection.sock, server_hostname=host, do_handshake_on_connect=False
    )
    connection.sock = secured  # so that it can be cut off while it shakes hands
    secured.do_handshake()


def _first_that_answers(candidates: list[str], port: int, ends_at: float) -> socket.socket:
    """Connect to the first address that answers before ``ends_at``. Raises: OSError."""
    failure: OSError = TimeoutError()
    for address in candidates:
        left = ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            return socket.create_connection((address, port), min(CONNECT_SECONDS, left))
        except OSError as error:
            failure = error
    raise failure


def _cut(connection: http.client.HTTPConnection, is_late: threading.Event) -> None:
    is_late.set()
    with suppress(OSError, AttributeError):  # it has ended meanwhile
        connection.sock.shutdown(socket.SHUT_RDWR)


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
