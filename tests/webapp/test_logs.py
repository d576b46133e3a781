"""What lines of the log contain, and what they never contain."""

import io
import json
import logging
import re
from contextlib import contextmanager
from ipaddress import ip_network

import pytest

from snapshots.jobs import running
from snapshots.jobs.steps import STEPS
from snapshots.models import Job
from tests.web.given import a_person
from tests.webapp.asgi import get
from webapp.accounts.services import make_sign_in_link, make_token
from webapp.operating.logging import JsonFormatter, LineFormatter, about, configuration, redacted

MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@contextmanager
def written(formatter: logging.Formatter, name: str):
    """Collect what a logger writes in a format."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger = logging.getLogger(name)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lambda: stream.getvalue().splitlines()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def test_a_line_has_time_level_logger_and_what_it_is_about():
    with written(LineFormatter(), "snapshots.x") as lines, about(request="r1", user=3, job=7):
        logging.getLogger("snapshots.x").info("read")
    assert re.fullmatch(
        rf"{MOMENT} INFO snapshots.x: read \[request=r1 user=3 job=7\]",
        lines()[0],
    )


def test_json_lines_carry_the_same_as_members_and_tracebacks_on_one_line():
    with written(JsonFormatter(), "snapshots.x") as lines, about(job=7):
        try:
            raise ValueError("no")
        except ValueError:
            logging.getLogger("snapshots.x").exception("failed “so”")
    (line,) = map(json.loads, lines())
    assert (line["level"], line["logger"], line["message"], line["job"]) == (
        *("ERROR", "snapshots.x", "failed “so”"),
        7,
    )
    assert "ValueError: no" in line["exception"]
    assert "request" not in line


def test_what_a_line_is_about_ends_with_its_block():
    with written(LineFormatter(), "snapshots.x") as lines:
        with about(job=7):
            pass
        logging.getLogger("snapshots.x").info("after")
    assert lines()[0].endswith(": after")


@pytest.mark.parametrize(
    "text",
    [
        "GET /sign-in/{} HTTP/1.1",
        "http://127.0.0.1:8000/sign-in/{}",
        "POST /teams/join/{} HTTP/1.1",
        "Authorization: Bearer {}",
        "{{'authorization': 'bearer {}'}}",
        "token cut_{} was used",
        "webhook whsec_{}",
        "Cookie: sessionid={}; csrftoken={}",
        "redis://:{}@127.0.0.1:6379/0",
        "postgres://cutline:{}@db/cutline",
    ],
)
def test_secrets_do_not_reach_the_log(text):
    secret = "Zm9vYmFyYmF6cXV4"
    assert secret not in redacted(text.replace("{}", secret))
    for formatter in (LineFormatter(), JsonFormatter()):
        with written(formatter, "snapshots.x") as lines:
            try:
                raise ValueError(text.replace("{}", secret))
            except ValueError:
                logging.getLogger("snapshots.x").exception(text.replace("{}", secret))
        assert secret not in "".join(lines())


@pytest.mark.parametrize("format", ["line", "json"])
def test_each_format_configures_logging_anew(format):
    loggers = configuration(format)["loggers"]
    assert {"uvicorn.error", "django", "access"} <= set(loggers)


@pytest.mark.django_db(transaction=True)
async def test_every_answer_carries_a_request_id(settings):
    first, second = await get("/livez"), await get("/livez")
    assert re.fullmatch("[0-9a-f]{32}", first["headers"]["x-request-id"])
    assert first["headers"]["x-request-id"] != second["headers"]["x-request-id"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("trusted", "given", "is_taken"),
    [
        ("203.0.113.7", b"trace-1.a", True),
        ("10.0.0.1", b"trace-1.a", False),
        ("203.0.113.7", b"two words", False),
        ("203.0.113.7", b"x" * 65, False),
    ],
)
async def test_the_id_of_a_trusted_proxy_is_taken_over(settings, trusted, given, is_taken):
    settings.TRUSTED_PROXIES = (ip_network(trusted),)
    answer = await get("/livez", [(b"x-request-id", given)])
    assert (answer["headers"]["x-request-id"].encode() == given) is is_taken


@pytest.mark.django_db(transaction=True)
async def test_the_access_log_has_one_line_a_request(settings):
    from asgiref.sync import sync_to_async

    settings.ACCESS_LOG = True
    user = await sync_to_async(a_person)()
    _, token = await sync_to_async(make_token)(user, "test")
    header = (b"authorization", f"Bearer {token}".encode())
    with written(JsonFormatter(), "access") as lines:
        answer = await get("/api/recordings", [header])
    (line,) = map(json.loads, lines())
    assert {name: line[name] for name in ("method", "path", "status", "user", "address")} == {
        "method": "GET",
        "path": "/api/recordings",
        "status": 200,
        "user": user.pk,
        "address": "203.0.113.7",
    }
    assert line["bytes"] == len(answer["body"])
    assert line["ms"] >= 0
    assert line["request"] == answer["headers"]["x-request-id"]
    assert "secret=yes" not in str(line)


@pytest.mark.django_db(transaction=True)
async def test_a_sign_in_link_is_not_logged(settings):
    from asgiref.sync import sync_to_async

    settings.ACCESS_LOG = True
    link = await sync_to_async(lambda: make_sign_in_link(a_person()))()
    token = link.rpartition("/")[2]
    with written(LineFormatter(), "access") as lines:
        await get(f"/sign-in/{token}")
    assert "/sign-in/[hidden] " in lines()[0]
    assert token not in lines()[0]


@pytest.mark.django_db(transaction=True)
async def test_a_path_cannot_forge_a_line(settings):
    settings.ACCESS_LOG = True
    with written(LineFormatter(), "access") as lines:
        await get("/x\n2026 INFO access: forged")
    assert len(lines()) == 1


@pytest.mark.django_db(transaction=True)
async def test_without_access_log_nothing_is_written():
    with written(LineFormatter(), "access") as lines:
        await get("/livez")
    assert lines() == []


@pytest.mark.django_db
def test_what_a_job_logs_names_the_job_and_its_owner(monkeypatch):
    owner = a_person()
    job = Job.objects.create(kind="ingest", owner=owner)

    def fail(lease):
        raise ValueError("a fault")

    monkeypatch.setitem(STEPS, "ingest", fail)
    with written(LineFormatter(), "snapshots.jobs.running") as lines:
        running.run(job.pk)
    assert f"[user={owner.pk} job={job.pk}]" in "\n".join(lines())


@pytest.mark.spark
def test_a_worker_writes_as_the_server_does(celery_worker_process):
    line = next(
        line for line in celery_worker_process.said("worker").splitlines() if " ready." in line
    )
    assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z INFO celery.apps.worker: ", line)


def test_the_server_writes_as_everybody_does(server):
    assert re.search(rf"{MOMENT} INFO uvicorn.error: ", server.said("server"))
