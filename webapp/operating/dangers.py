"""Find settings that are dangerous where others can reach the server.

``manage.py check``, the launcher and the operator's page show the same sentences. Each is one of
Django's warnings: ``obj`` is the setting, ``msg`` says what it is and why that is dangerous, and
``hint`` the change to make. None is an error, because Django would then refuse to migrate.
"""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Warning

from webapp.operating import running_dangers
from webapp.operating.noted import Noted

SHORTEST_SECRET = 32  # characters
SHORTEST_TOKEN = 16
EXAMPLE = "CHANGE-ME"  # in deploy/cutline.env
CHECKED_TLS = {"verify-ca", "verify-full"}


def every(noted: Noted | None = None) -> list[CheckMessage]:
    """Return what is dangerous now, also what was accepted with SILENCED_CHECKS.

    Args:
        noted: what Redis holds, where it was read already.
    """
    in_the_open = _in_the_open() if is_open() else []
    return [*in_the_open, *_always(), *running_dangers.every(noted or Noted.read())]


def once_open() -> list[CheckMessage]:
    """Return what would be dangerous if others could reach the server; empty if they can."""
    return [] if is_open() else list(_in_the_open())


def at_start() -> list[CheckMessage]:
    """Return what the launcher prints: what settings alone make dangerous in the open."""
    return not_silenced([*_in_the_open(), *_always()]) if is_open() else []


def is_open() -> bool:
    """Return whether the settings name an address at which others can reach the server."""
    return bool(open_addresses())


def open_addresses() -> list[str]:
    """Return the settings that name such an address, with the address."""
    named = [("PUBLIC_URL", urlsplit(settings.PUBLIC_URL).hostname or ""), ("HOST", settings.HOST)]
    named += [("ALLOWED_HOSTS", host) for host in settings.ALLOWED_HOSTS]
    found = [f"{setting} names {host}" for setting, host in named if not is_loopback(host)]
    return list(dict.fromkeys(found))


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone; an empty one, as of a socket, is."""
    bare = host.strip("[]").lower()
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return bare in {"", "localhost"} or bare.startswith("/")


def not_silenced(found: list[CheckMessage]) -> list[CheckMessage]:
    return [each for each in found if not each.is_silenced()]


def _always() -> Iterator[CheckMessage]:
    """Yield what is dangerous wherever the server runs."""
    yield from _hosts()
    yield from _proxies()
    yield from _secret_key()
    yield from _mail()
    yield from _redis()
    yield from _postgres()
    yield from _object_store()
    yield from _spark()


def _in_the_open() -> Iterator[CheckMessage]:
    """Yield what is dangerous where others can reach the server."""
    yield from _https()
    yield from _metrics_token()
    yield from _debug()
    yield from _limits()


def _https() -> Iterator[CheckMessage]:
    if settings.PUBLIC_URL.startswith("https://"):
        return
    where = "; ".join(open_addresses()[:3])
    others = f"Others can reach this server ({where}), so" if where else "Once others can reach it,"
    yield Warning(
        f"PUBLIC_URL begins with http. {others} whoever can watch the network reads "
        "cookies, tokens and recordings, and can use them.",
        hint="Put a proxy with a certificate before it (deploy/nginx.conf), and set PUBLIC_URL to "
        "its https address.",
        obj="PUBLIC_URL",
        id="cutline.W001",
    )


def _metrics_token() -> Iterator[CheckMessage]:
    token = settings.METRICS_TOKEN
    if not token:
        yield Warning(
            "METRICS_TOKEN is not set, so only an operator can read /metrics. A monitoring that "
            "is to read it would have to keep an operator's own token, which may do all that an "
            "operator may.",
            hint="Set METRICS_TOKEN to a random text, and give it to the monitoring alone.",
            obj="METRICS_TOKEN",
            id="cutline.W002",
        )
    elif len(token) < SHORTEST_TOKEN or EXAMPLE in token:
        yield Warning(
            f"METRICS_TOKEN can be guessed: it has {len(token)} characters"
            f"{', and it is the text of the example' if EXAMPLE in token else ''}. Whoever guesses "
            "it reads how much is stored, how busy the server is, and when its parts fail.",
            hint="Set METRICS_TOKEN to a random text, as “openssl rand -hex 32” prints.",
            obj="METRICS_TOKEN",
            id="cutline.W002",
        )


def _debug() -> Iterator[CheckMessage]:
    if settings.DEBUG:
        yield Warning(
            "DEBUG is on. A page that fails then shows code, settings and the data of the request "
            "to whoever caused it.",
            hint="Take DEBUG out of the settings.",
            obj="DEBUG",
            id="cutline.W003",
        )


def _hosts() -> Iterator[CheckMessage]:
    if "*" in settings.ALLOWED_HOSTS:
        yield Warning(
            "ALLOWED_HOSTS has *, so a request may claim any host name. A foreign page whose name "
            "is made to lead here (DNS rebinding) then reaches this server through a visitor's "
            "browser.",
            hint="List the names that people type. The host of PUBLIC_URL is always allowed.",
            obj="ALLOWED_HOSTS",
            id="cutline.W004",
        )


def _proxies() -> Iterator[CheckMessage]:
    wide = [str(network) for network in settings.TRUSTED_PROXIES if network.prefixlen == 0]
    if wide:
        yield Warning(
            f"TRUSTED_PROXIES has {wide[0]}, which is every address. Anybody can then say from "
            "which address a request comes: the audit log holds what they say, and limits for each "
            "address hold nobody back.",
            hint="Name the addresses of your proxies.",
            obj="TRUSTED_PROXIES",
            id="cutline.W005",
        )


def _secret_key() -> Iterator[CheckMessage]:
    key = settings.SECRET_KEY
    if len(key) < SHORTEST_SECRET or EXAMPLE in key:
        yield Warning(
            f"SECRET_KEY can be guessed: it has {len(key)} characters"
            f"{', and it is the text of the example' if EXAMPLE in key else ''}. Whoever guesses "
            "it can sign what the server takes for its own.",
            hint="Take SECRET_KEY out of the settings, and Cutline makes one. For several machines "
            "set it to a random text, as “openssl rand -hex 32” prints. All people sign in again.",
            obj="SECRET_KEY",
            id="cutline.W006",
        )


def _mail() -> Iterator[CheckMessage]:
    is_plain = not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL)
    if settings.EMAIL_HOST and is_plain and not is_loopback(settings.EMAIL_HOST):
        yield Warning(
            f"MAIL_SECURITY is none, and the mail server {settings.EMAIL_HOST} is another machine. "
            "Its password and all e-mails cross the network readable.",
            hint="Set MAIL_SECURITY to starttls or tls.",
            obj="MAIL_SECURITY",
            id="cutline.W007",
        )


def _redis() -> Iterator[CheckMessage]:
    url = urlsplit(settings.REDIS_URL)
    if url.scheme == "unix" or is_loopback(url.hostname or ""):
        return
    if not url.password:
        yield Warning(
            f"REDIS_URL has no password, and Redis runs on {url.hostname}. Whoever reaches its "
            "port can read live updates, empty the queue and feed workers.",
            hint="Give Redis a password (requirepass), and write it into REDIS_URL.",
            obj="REDIS_URL",
            id="cutline.W008",
        )
    if url.scheme != "rediss":
        yield Warning(
            f"REDIS_URL reaches {url.hostname} without TLS. Its password and all live updates "
            "cross the network readable.",
            hint="Use rediss://…?ssl_cert_reqs=required, or a network that nobody else can watch.",
            obj="REDIS_URL",
            id="cutline.W009",
        )


def _postgres() -> Iterator[CheckMessage]:
    database = settings.DATABASES["default"]
    host = database.get("HOST") or ""
    if "postgres" not in database["ENGINE"] or is_loopback(host):
        return
    mode = (database.get("OPTIONS") or {}).get("sslmode", "prefer")
    if mode not in CHECKED_TLS:
        yield Warning(
            f"DATABASE_URL reaches PostgreSQL on {host} with sslmode={mode}, which does not check "
            "who answers. Somebody in between can read the password and every row.",
            hint="Add ?sslmode=verify-full to DATABASE_URL, with sslrootcert if the certificate is "
            "of your own authority.",
            obj="DATABASE_URL",
            id="cutline.W010",
        )


def _object_store() -> Iterator[CheckMessage]:
    from os import environ

    is_used = settings.STORE_URL.startswith("s3:") or settings.UPLOADS_URL.startswith("s3:")
    url = urlsplit(environ.get("AWS_ENDPOINT_URL", ""))
    if is_used and url.scheme == "http" and not is_loopback(url.hostname or ""):
        yield Warning(
            f"AWS_ENDPOINT_URL reaches the object store on {url.hostname} without TLS. All "
            "recordings and uploads cross the network readable.",
            hint="Give the object store a certificate, and begin AWS_ENDPOINT_URL with https.",
            obj="AWS_ENDPOINT_URL",
            id="cutline.W011",
        )


def _spark() -> Iterator[CheckMessage]:
    remote = urlsplit(settings.SPARK_REMOTE)
    if settings.SPARK_REMOTE:
        parameters = parse_qs(remote.path.lstrip("/;").replace(";", "&"))
        is_checked = "token" in parameters or parameters.get("use_ssl") == ["true"]
        if not is_checked and not is_loopback(remote.hostname or ""):
            yield Warning(
                f"SPARK_REMOTE reaches {remote.hostname} with neither a token nor TLS. Whoever "
                "reaches that port can run code there, and read the uploads that it reads.",
                hint="Let nobody else reach the port, or set a token: sc://host:15002/;token=….",
                obj="SPARK_REMOTE",
                id="cutline.W012",
            )
    elif settings.SPARK_MASTER.startswith("spark://") and not settings.SPARK_AUTH_SECRET:
        yield Warning(
            "SPARK_AUTH_SECRET is not set, so the Spark cluster takes work from whoever reaches "
            "its ports. That is code that runs there, with the rights to read uploads and stores.",
            hint="Give the cluster a secret (spark.authenticate), and set SPARK_AUTH_SECRET to it.",
            obj="SPARK_AUTH_SECRET",
            id="cutline.W012",
        )


def _limits() -> Iterator[CheckMessage]:
    lifted = [
        name
        for name in ("MAX_STORED_BYTES", "MAX_OPEN_JOBS", "MIN_FREE_BYTES")
        if getattr(settings, name) == 0
    ]
    for name in lifted:
        yield Warning(
            f"{name} is 0. {_LIFTED[name]}",
            hint=f"Take {name} out of the settings, or set it to a number.",
            obj=name,
            id="cutline.W013",
        )


_LIFTED = {
    "MAX_STORED_BYTES": "One person can fill the disk, and then nobody can upload.",
    "MAX_OPEN_JOBS": "One person can queue any number of jobs.",
    "MIN_FREE_BYTES": "Uploads may fill the disk to its last byte, and then the database on it "
    "cannot be written.",
}
