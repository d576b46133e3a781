"""Define Django's settings; environment variables are read here and listed in the README."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
import plotly
from csp.constants import NONCE, NONE, SELF

from webapp.env import (
    env_bool,
    env_choice,
    env_folder,
    env_int,
    env_list,
    env_networks,
    env_port,
    env_str,
)
from webapp.operating import folder_lock, logging
from webapp.secret_key import read_or_make
from webapp.sso import configuration as sso

os.umask(0o077)  # no other user of the machine may read what our processes write

BASE_DIR = Path(__file__).resolve().parent.parent

# --- files ---------------------------------------------------------------------------------

DATA_DIR = env_folder(
    "DATA_DIR",
    BASE_DIR / "var",
    "Folder for everything that is kept: database, store, uploads, Redis, secret key.",
    shown="./var",
)
UPLOADS_DIR = DATA_DIR / "uploads"
UPLOADS_DIR.mkdir(exist_ok=True)

STORE_CACHE_BYTES = env_int(
    "STORE_CACHE_BYTES",
    512 * 2**20,
    "Memory in which each process keeps what it read of recordings on an object store.",
    minimum=2**20,
)
STORE_WRITE_SECONDS = env_int(
    "STORE_WRITE_SECONDS",
    20,
    "Seconds after which an object store that does not take what is sent to it is given up.",
    minimum=1,
)
STORE_URL = env_str(
    "STORE_URL",
    (DATA_DIR / "store").as_uri(),
    "Where recordings are stored. Every worker and web process must reach it.",
    shown="file:$DATA_DIR/store",
)

UPLOADS_URL = env_str(
    "UPLOADS_URL",
    "",
    "Where uploads are kept: `s3://bucket/prefix`, if machines share no folder.",
    shown="$DATA_DIR/uploads",
)

SET_ASIDE_DAYS = env_int(
    "SET_ASIDE_DAYS",
    7,
    "Days that files without a recording are set aside before they are removed.",
    minimum=0,
)

DATABASE_URL = env_str(
    "DATABASE_URL",
    f"sqlite:///{DATA_DIR}/cutline.sqlite3",
    "The database, for example postgres://user:password@host/name.",
    shown="sqlite:///$DATA_DIR/cutline.sqlite3",
)
DATABASES = {"default": dj_database_url.parse(DATABASE_URL)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE: a transaction that will write takes its turn at the start and waits for it,
    # instead of failing with "database is locked" when it first writes.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;",
    }
elif DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    DATABASES["default"]["ENGINE"] = "webapp.postgres"
    # A connection ends with its request: under ASGI each request has a thread of its own, and
    # no other request would use the connection again.
    DATABASES["default"] |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True}
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# `make run` writes the address of its Redis here, for commands in other shells.
EMBEDDED_REDIS_URL = DATA_DIR / "redis" / "url"
REDIS_URL = env_str(
    "REDIS_URL",
    EMBEDDED_REDIS_URL.read_text() if EMBEDDED_REDIS_URL.exists() else "redis://127.0.0.1:6379/0",
    "Redis for jobs and live updates; unset, `make run` starts its own.",
    shown="the embedded Redis",
)

# --- access --------------------------------------------------------------------------------

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
HOST = env_str("HOST", "127.0.0.1", "Address the server listens on.")
# The address with which `make run` was started, for commands in other shells.
_running: dict[str, Any] = {"port": 8000, "url": ""} | (folder_lock.running(DATA_DIR) or {})
PORT = env_port("PORT", _running["port"], "Port the server listens on.", shown="8000")
PUBLIC_URL = env_str(
    "PUBLIC_URL",
    _running["url"] or f"http://127.0.0.1:{PORT}",
    "Address that people type, if a proxy is in front; https turns on secure cookies.",
    shown="http://127.0.0.1:$PORT",
).rstrip("/")
ALLOWED_HOSTS = env_list(
    "ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]", "Host names that requests may carry."
)
TRUSTED_PROXIES = env_networks(
    "TRUSTED_PROXIES",
    "" if urlsplit(PUBLIC_URL).hostname in LOOPBACK else "127.0.0.1,::1",
    "Addresses or networks of proxies whose X-Forwarded-For, -Proto and X-Request-ID are believed.",
    shown="this machine if PUBLIC_URL names a proxy",
)
ALLOWED_HOSTS.append(urlsplit(PUBLIC_URL).hostname or "127.0.0.1")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

SECRET_KEY = env_str(
    "SECRET_KEY",
    "",
    "Signs sessions; unset, one is created and kept in DATA_DIR.",
    shown="made once",
) or read_or_make(DATA_DIR / "secret_key")
DEBUG = env_bool("DEBUG", False, "Django's debug pages; never where others can reach it.")

SESSION_ENGINE = "webapp.accounts.sessions"
SESSION_DAYS = env_int("SESSION_DAYS", 14, "Days after which a person signs in again.")
SESSION_COOKIE_AGE = SESSION_DAYS * 86_400
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Scripts and styles come from files. A <style> in a page needs the nonce of its response, which
# stands in the policy of that response alone. docs/security.md explains each directive.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:", "blob:"],  # Plotly makes pictures of charts from them
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
SIGN_IN_LINK_SECONDS = 3600

# --- single sign-on ------------------------------------------------------------------------

OIDC_ISSUER = env_str(
    "OIDC_ISSUER",
    "",
    "OpenID provider that signs people in, https://login.example.org; unset, none does.",
    shown="unset",
).rstrip("/")
OIDC_CLIENT_ID = env_str("OIDC_CLIENT_ID", "", "Cutline's name at the provider.", shown="unset")
OIDC_CLIENT_SECRET = env_str(
    "OIDC_CLIENT_SECRET", "", "Cutline's secret at the provider.", shown="unset"
)
OIDC_NAME = env_str("OIDC_NAME", "single sign-on", "What people call the provider.")
OIDC_NEW_PEOPLE = env_list(
    "OIDC_NEW_PEOPLE",
    "",
    "Domains, such as example.org, whose people get an account at their first sign-in.",
    shown="none",
)

# --- notifications ---------------------------------------------------------------------------

WEBHOOK_HTTP = env_bool("WEBHOOK_HTTP", False, "Webhooks may be sent over http, too.")
WEBHOOK_PRIVATE_NETWORKS = env_networks(
    "WEBHOOK_PRIVATE_NETWORKS",
    "",
    "Private networks, such as 10.0.0.0/8, to which webhooks may be sent.",
    shown="none",
)
EMAIL_HOST = env_str("MAIL_HOST", "", "Mail server; unset, no e-mail is sent.", shown="unset")
EMAIL_PORT = env_port("MAIL_PORT", 587, "Port of the mail server.")
EMAIL_HOST_USER = env_str("MAIL_USER", "", "User at the mail server.", shown="unset")
EMAIL_HOST_PASSWORD = env_str("MAIL_PASSWORD", "", "Password at the mail server.", shown="unset")
_mail_security = env_choice(
    "MAIL_SECURITY",
    ("starttls", "tls", "none"),
    "How the connection to the mail server is secured.",
)
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail_security == "starttls", _mail_security == "tls"
DEFAULT_FROM_EMAIL = env_str(
    "MAIL_FROM",
    f"cutline@{urlsplit(PUBLIC_URL).hostname}",
    "Sender of e-mails.",
    shown="cutline@ the host of PUBLIC_URL",
)
EMAIL_TIMEOUT = 15  # seconds

# --- public links ----------------------------------------------------------------------------

PUBLIC_LINKS = env_bool(
    "PUBLIC_LINKS", False, "People may make links that open without an account."
)

# --- limits on requests and uploads --------------------------------------------------------

MAX_UPLOAD_BYTES = env_int(
    "MAX_UPLOAD_BYTES", 2 * 1024**3, "Largest file that is uploaded in one request."
)
MAX_RESUMABLE_BYTES = env_int(
    "MAX_RESUMABLE_BYTES", 8 * 1024**3, "Largest file that is uploaded in pieces."
)
MAX_UNFINISHED_UPLOADS = env_int(
    "MAX_UNFINISHED_UPLOADS", 10, "Most uploads in pieces that a person has not finished."
)
UNFINISHED_UPLOAD_HOURS = env_int(
    "UNFINISHED_UPLOAD_HOURS",
    24,
    "Hours after its last piece until an unfinished upload is removed.",
)
MAX_RECORDING_BYTES = env_int(
    "MAX_RECORDING_BYTES", 8 * 1024**3, "Largest recording after decompression."
)
MAX_LINE_BYTES = env_int("MAX_LINE_BYTES", 16 * 1024**2, "Longest line of a recording.")
MAX_PROCESSES = env_int("MAX_PROCESSES", 20_000, "Most processes in a recording.")
MAX_CHANNELS = env_int("MAX_CHANNELS", 1_000_000, "Most channels in a recording.")

HEADER_SECONDS = env_int(
    "HEADER_SECONDS", 10, "Seconds within which the header of a request must be complete."
)
MAX_WAITING_CONNECTIONS = env_int(
    "MAX_WAITING_CONNECTIONS",
    1_000,
    "Connections without a complete header that a web process keeps; the oldest are closed first.",
)
BODY_SECONDS = env_int(
    "BODY_SECONDS", 30, "Longest pause, in seconds, in the body of a request that is being sent."
)
BODY_BYTES_PER_SECOND = env_int(
    "BODY_BYTES_PER_SECOND", 1_024, "Slowest pace of a body; it may fall behind by BODY_SECONDS."
)
MAX_BODIES_AT_ONCE = env_int(
    "MAX_BODIES_AT_ONCE", 64, "Bodies above 64 KiB that a web process receives at once."
)
MAX_UPLOADS_AT_ONCE = env_int(
    "MAX_UPLOADS_AT_ONCE", 6, "Bodies above 64 KiB that a web process receives from one person."
)
MIN_FREE_BYTES = env_int(
    "MIN_FREE_BYTES",
    256 * 1024**2,
    "Free disk space that uploads must leave; below it /readyz answers 503.",
    minimum=0,
)

FILE_UPLOAD_TEMP_DIR = UPLOADS_DIR
FILE_UPLOAD_HANDLERS = ["snapshots.files.uploads.UploadHandler"]
DATA_UPLOAD_MAX_NUMBER_FILES = None  # the handler counts them, and explains what to do instead
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024**2  # a request body that is not a file

# --- limits of one person (0: no limit) ------------------------------------------------------

MAX_OPEN_JOBS = env_int(
    "MAX_OPEN_JOBS", 200, "Most open jobs of a person or team; 0: no limit.", minimum=0
)
MAX_COLLECTORS = env_int(
    "MAX_COLLECTORS", 20, "Most collectors of a person or team; 0: no limit.", minimum=0
)
MAX_INVITATIONS = env_int(
    "MAX_INVITATIONS",
    30,
    "Most open invitations of a person and unproven accounts that came of them; 0: no limit.",
    minimum=0,
)
MAX_TEAMS = env_int("MAX_TEAMS", 20, "Most teams that a person owns; 0: no limit.", minimum=0)
MAX_STORED_BYTES = env_int(
    "MAX_STORED_BYTES",
    100 * 1024**3,
    "Most bytes of a person's or team's uploads and stores together; 0: no limit.",
    minimum=0,
)
RETENTION_DAYS = env_int(
    "RETENTION_DAYS",
    0,
    "Days until a recording is removed, which is announced a week before; 0: it is kept.",
    minimum=0,
)

# --- collectors ------------------------------------------------------------------------------

COLLECTOR_HOSTS = env_list(
    "COLLECTOR_HOSTS",
    "",
    "Hosts, such as jobmanager:8081 or jobmanager, from which people may collect.",
    shown="none",
)
COLLECTOR_FOLDERS = env_list(
    "COLLECTOR_FOLDERS",
    "",
    "Folders below which people may follow checkpoint folders of Spark queries.",
    shown="none",
)
MIN_COLLECT_SECONDS = env_int(
    "MIN_COLLECT_SECONDS", 5, "Fewest seconds between two rounds of a collector."
)

# --- jobs ------------------------------------------------------------------------------------

SPARK_REMOTE = env_str("SPARK_REMOTE", "", "Spark Connect server, sc://host:15002.", shown="none")
SPARK_MASTER = env_str("SPARK_MASTER", "local[*]", "Spark master, unless SPARK_REMOTE is set.")
SPARK_DRIVER_MEMORY = env_str("SPARK_DRIVER_MEMORY", "3g", "Heap of the worker's Spark driver.")
SPARK_START_SECONDS = env_int(
    "SPARK_START_SECONDS", 120, "Seconds that Spark may take to start before it is ended."
)
SPARK_AUTH_SECRET = env_str(
    "SPARK_AUTH_SECRET",
    "",
    "The cluster's `spark.authenticate.secret`; unset, its connections are not checked.",
    shown="unset",
)
SPARK_EXECUTOR_PYTHON = env_str(
    "SPARK_EXECUTOR_PYTHON",
    "",
    "Python of a cluster's executors; unset, python3 of their own PATH.",
    shown="unset",
)
SPARK_EXECUTOR_ENVIRONMENT = env_str(
    "SPARK_EXECUTOR_ENVIRONMENT",
    "",
    "Packed environment (.tar.gz) that is sent to a cluster's executors, with its Python.",
    shown="unset",
)
SPARK_CORES_MAX = env_int(
    "SPARK_CORES_MAX",
    0,
    "Most cores of a standalone cluster for each Spark session; 0 takes all.",
    minimum=0,
)
WORKER_CONCURRENCY = env_int(
    "WORKER_CONCURRENCY",
    1,
    "How many jobs a worker runs at once; each job has its own Spark session.",
)

# The job's row in the database is its record, so Celery keeps no results.
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_CONCURRENCY = WORKER_CONCURRENCY
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Seconds that a child may take to start; Spark and its first job each have their own limit.
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 2 * SPARK_START_SECONDS + 60
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A task is acknowledged when it has ended, so a killed worker's task is delivered again: at
# once if only the worker's child died, after the visibility timeout (seconds) if the worker did.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 30}

# --- Django's wiring -------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "webapp.accounts",
    "webapp.teams",
    "webapp.sso",
    "webapp.notices",
    "webapp.links",
    "webapp.operating",
    "simple_history",
    "snapshots",
    "snapshots.reviews",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "webapp.edge.caching.middleware",
    "webapp.edge.compression.middleware",
    "webapp.direction.middleware",
    "snapshots.problems.middleware",
    "webapp.edge.hosts.middleware",
    "webapp.edge.static_files.middleware",
    "webapp.edge.optional_writes.Sessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.edge.requests.note_person",
    "webapp.accounts.audit.middleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "webapp.links.visiting.middleware",
    "webapp.middleware.login_required",
]

# Without a provider nothing of allauth is imported, and none of its tables is made.
if OIDC_ISSUER:
    sso.require_complete(OIDC_ISSUER, OIDC_CLIENT_ID)
    INSTALLED_APPS += sso.APPS
    MIDDLEWARE.append(sso.MIDDLEWARE)
    SOCIALACCOUNT_ADAPTER = "webapp.sso.flow.Adapter"
    ACCOUNT_RATE_LIMITS = {"login": "20/m/ip"}  # in each web process

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
APPEND_SLASH = False

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "webapp.edge.channel_layer.RedisLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "cutline"},
    }
}

STATIC_URL = "/static/"
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("plotly", Path(plotly.__file__).parent / "package_data"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Files are served from their folders, without collectstatic.
    "staticfiles": {"BACKEND": "webapp.edge.static_files.HashedStorage"},
}

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# --- operators -------------------------------------------------------------------------------

LOG_FORMAT = env_choice(
    "LOG_FORMAT", ("line", "json"), "Log lines as text (line) or as JSON objects (json)."
)
ACCESS_LOG = env_bool("ACCESS_LOG", False, "A log line for every request and websocket.")
METRICS_TOKEN = env_str(
    "METRICS_TOKEN", "", "Bearer token with which /metrics can be read.", shown="unset"
)
SILENCED_SYSTEM_CHECKS = env_list(
    "SILENCED_CHECKS",
    "",
    "Findings of `manage.py check` that are accepted, such as cutline.W016.",
    shown="none",
)

LOGGING = logging.configuration(LOG_FORMAT)
