"""Settings that are dangerous where others can reach the server are named, with the change."""

import ipaddress
import shutil
import subprocess
import sys
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from snapshots.models import Recording
from tests.stack import ROOT, clean_environment, migrated_database
from tests.web.given import a_client, a_person
from webapp import launch
from webapp.accounts import audit
from webapp.accounts.models import AuditEntry
from webapp.operating import connections, dangers, presence
from webapp.operating.noted import Noted
from webapp.operating.presence import Worker

pytestmark = pytest.mark.django_db

SAFE = {
    "PUBLIC_URL": "https://cutline.example",
    "ALLOWED_HOSTS": ["cutline.example"],
    "METRICS_TOKEN": "c2b0f5f0a1d94fd3a6c1",
    "SECRET_KEY": "k" * 50,
    "SILENCED_SYSTEM_CHECKS": [],
}


@pytest.fixture
def in_the_open(settings, data_dir):
    """Provide the settings of a server that others reach, and in which nothing is dangerous."""
    for name, value in SAFE.items():
        setattr(settings, name, value)
    (data_dir / "secret_key").touch(mode=0o600)
    data_dir.chmod(0o700)
    return settings


def found(noted: Noted | None = None) -> list[tuple[str, str]]:
    return [(each.id, str(each.obj)) for each in dangers.every(noted or Noted())]


def test_nothing_is_found_where_nothing_is_dangerous(in_the_open):
    assert found() == []


def change(settings, monkeypatch, changes: dict) -> None:
    """Set settings; the database is replaced in what they name, not for the test's own rows."""
    for key, value in changes.items():
        if key == "DATABASE":
            monkeypatch.setitem(settings.DATABASES, "default", value)
        else:
            setattr(settings, key, value)


POSTGRES = {"ENGINE": "webapp.postgres", "HOST": "db.example"}
UNSAFE = [
    ("W001", "PUBLIC_URL", {"PUBLIC_URL": "http://cutline.example"}),
    ("W001", "PUBLIC_URL", {"PUBLIC_URL": "http://127.0.0.1:8000"}),  # ALLOWED_HOSTS has a name
    ("W001", "PUBLIC_URL", {"PUBLIC_URL": "http://x", "ALLOWED_HOSTS": [], "HOST": "0.0.0.0"}),
    ("W002", "METRICS_TOKEN", {"METRICS_TOKEN": ""}),
    ("W002", "METRICS_TOKEN", {"METRICS_TOKEN": "prometheus"}),
    ("W002", "METRICS_TOKEN", {"METRICS_TOKEN": "CHANGE-ME-CHANGE-ME"}),
    ("W003", "DEBUG", {"DEBUG": True}),
    ("W004", "ALLOWED_HOSTS", {"ALLOWED_HOSTS": ["*"]}),
    ("W005", "TRUSTED_PROXIES", {"TRUSTED_PROXIES": (ipaddress.ip_network("::/0"),)}),
    ("W006", "SECRET_KEY", {"SECRET_KEY": "short"}),
    ("W006", "SECRET_KEY", {"SECRET_KEY": "CHANGE-ME" * 5}),
    (
        "W007",
        "MAIL_SECURITY",
        {"EMAIL_HOST": "mail.example", "EMAIL_USE_TLS": False, "EMAIL_USE_SSL": False},
    ),
    ("W008", "REDIS_URL", {"REDIS_URL": "rediss://redis.example:6379/0"}),
    ("W009", "REDIS_URL", {"REDIS_URL": "redis://:secret@redis.example:6379/0"}),
    ("W010", "DATABASE_URL", {"DATABASE": POSTGRES}),
    ("W012", "SPARK_AUTH_SECRET", {"SPARK_MASTER": "spark://spark.example:7077"}),
    ("W012", "SPARK_REMOTE", {"SPARK_REMOTE": "sc://spark.example:15002"}),
    ("W013", "MAX_STORED_BYTES", {"MAX_STORED_BYTES": 0}),
    ("W013", "MIN_FREE_BYTES", {"MIN_FREE_BYTES": 0}),
    ("W015", "DATA_DIR", {"MIN_FREE_BYTES": 10**18}),
]


@pytest.mark.parametrize(("name", "setting", "changes"), UNSAFE)
def test_each_danger_is_found_alone_and_says_what_to_do(
    in_the_open, monkeypatch, name, setting, changes
):
    change(in_the_open, monkeypatch, changes)
    (danger,) = dangers.every(Noted())
    assert (danger.id, danger.obj) == (f"cutline.{name}", setting)
    assert setting in danger.msg + danger.hint
    assert danger.hint.endswith(".")
    assert not danger.is_serious()  # Django would refuse to migrate


SAFE_CHANGES = [
    {"REDIS_URL": "rediss://:secret@redis.example:6379/0"},
    {"REDIS_URL": "unix:///run/redis.sock"},
    {"DATABASE": POSTGRES | {"OPTIONS": {"sslmode": "verify-full"}}},
    {"DATABASE": POSTGRES | {"HOST": "/run/postgresql"}},
    {"SPARK_REMOTE": "sc://spark.example:15002/;use_ssl=true"},
    {"SPARK_MASTER": "spark://spark.example:7077", "SPARK_AUTH_SECRET": "s"},
    {"EMAIL_HOST": "mail.example", "EMAIL_USE_TLS": True},
    {"EMAIL_HOST": "localhost", "EMAIL_USE_TLS": False},
    {"TRUSTED_PROXIES": (ipaddress.ip_network("10.0.0.0/8"),)},
]


@pytest.mark.parametrize("changes", SAFE_CHANGES)
def test_what_is_guarded_is_not_named(in_the_open, monkeypatch, changes):
    change(in_the_open, monkeypatch, changes)
    assert found() == []


def test_an_object_store_without_tls_is_named(in_the_open, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://objects.example:9000")
    assert found() == []
    in_the_open.UPLOADS_URL = "s3://bucket/uploads"
    assert found() == [("cutline.W011", "AWS_ENDPOINT_URL")]


def test_what_counts_only_in_the_open_waits_until_others_can_reach_the_server(in_the_open):
    in_the_open.PUBLIC_URL, in_the_open.ALLOWED_HOSTS = "http://localhost:8000", ["127.0.0.1"]
    in_the_open.METRICS_TOKEN = ""
    assert found() == []
    assert [each.id for each in dangers.once_open()] == ["cutline.W001", "cutline.W002"]


def test_secrets_that_other_users_may_read_are_named(in_the_open, data_dir):
    (data_dir / "secret_key").chmod(0o640)
    assert found() == [("cutline.W014", "DATA_DIR")]
    assert str(data_dir / "secret_key") in dangers.every(Noted())[0].msg


@pytest.fixture
def old_recording(in_the_open):
    row = Recording.objects.create(owner=a_person(), name="banks")
    Recording.objects.update(created_at=timezone.now() - timedelta(days=2))
    return row


def test_a_new_installation_needs_no_backup_yet(in_the_open):
    Recording.objects.create(owner=a_person(), name="of today")
    Recording.objects.create(owner=None, name="sample")
    Recording.objects.filter(owner=None).update(created_at=timezone.now() - timedelta(days=9))
    assert found() == []


def test_no_backup_ever_is_said_as_such(old_recording):
    (danger,) = dangers.every(Noted())
    assert danger.id == "cutline.W016"
    assert danger.msg.startswith("No backup was ever made with manage.py backup.")


@pytest.mark.django_db(transaction=True)
def test_a_backup_counts_for_a_day(old_recording, tmp_path_factory):
    folder = tmp_path_factory.mktemp("backups") / "today"
    call_command("backup", str(folder))
    assert found() == []
    entry = AuditEntry.objects.get(action=audit.BACKED_UP)
    assert entry.subject == str(folder)


def test_an_old_backup_says_how_old_it_is(old_recording):
    at = timezone.now() - timedelta(hours=27, minutes=1)
    AuditEntry.objects.create(at=at, action=audit.BACKED_UP, subject="/backups/old")
    (danger,) = dangers.every(Noted())
    assert danger.msg.startswith(f"The newest backup is 1 d 3 h old ({at:%Y-%m-%d %H:%M} UTC).")


def a_worker(host: str = "a", concurrency: int = 1) -> Worker:
    return Worker(host, 7, presence.now(), presence.now(), concurrency)


@pytest.mark.only("sqlite", reason="it is about SQLite")
def test_sqlite_on_two_machines_is_named(in_the_open):
    assert found(Noted(workers=[a_worker(), a_worker()])) == []
    two = Noted(workers=[a_worker("a"), a_worker("b")])
    assert found(two) == [("cutline.W018", "DATABASE_URL")]
    assert "on 2 machines (a, b)" in dangers.every(two)[0].msg


def test_a_redis_that_removes_keys_is_named(in_the_open, live_redis):
    in_the_open.REDIS_URL = live_redis.empty_redis_url
    assert found(Noted.read()) == []
    memory = Noted.read().memory | {"maxmemory": 10**9, "maxmemory_policy": "allkeys-lru"}
    assert found(Noted(memory=memory)) == [("cutline.W019", "REDIS_URL")]


@pytest.mark.only("postgres", reason="SQLite has no limit of connections")
def test_a_postgresql_with_too_few_connections_is_named(in_the_open):
    assert connections.limit().number == 197
    assert found(Noted(workers=[a_worker(concurrency=4)])) == []
    many = Noted(workers=[a_worker(concurrency=4)] * 10)
    (danger,) = dangers.every(many)
    assert danger.id == "cutline.W017"
    assert "max_connections is 200, and 3 of them are reserved" in danger.msg
    assert "10 workers and 1 web process may open 250 at once" in danger.msg
    with connection.cursor() as cursor:
        cursor.execute("ALTER ROLE CURRENT_USER CONNECTION LIMIT 30")  # until the test ends
    (danger,) = dangers.every(Noted())
    assert danger.msg.startswith("PostgreSQL takes 30 connections (the limit of the role)")


def test_accepted_findings_are_not_shown_but_named(in_the_open):
    in_the_open.METRICS_TOKEN, in_the_open.DEBUG = "", True
    in_the_open.SILENCED_SYSTEM_CHECKS = ["cutline.W002"]
    assert [each.id for each in dangers.not_silenced(dangers.every(Noted()))] == ["cutline.W003"]
    operator = a_person("operator@example.org")
    operator.is_staff = True
    operator.save()
    in_the_open.REDIS_URL = "redis://127.0.0.1:1/0"
    health = a_client(operator).get("/api/operator/health", headers={"Host": "cutline.example"})
    told = health.json()
    assert told["accepted"] == ["cutline.W002"]
    assert [(each["id"], each["setting"]) for each in told["findings"]] == [
        ("cutline.W003", "DEBUG")
    ]


def checked(tmp_path, *arguments: str, **variables: str) -> str:
    """Return what the command prints with a database of its own; it must exit with 1."""
    environment = clean_environment() | {"DATA_DIR": str(tmp_path)} | variables
    ran = subprocess.run(
        [sys.executable, "manage.py", "check", "--fail-level", "WARNING", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1, ran.stdout
    return ran.stderr


@pytest.mark.slow
def test_the_command_prints_what_is_dangerous_and_can_fail_for_it(tmp_path):
    shutil.copy(migrated_database(), tmp_path)
    once_open = checked(tmp_path, "--deploy", "--tag", "database")
    assert (
        "(cutline.W001) PUBLIC_URL begins with http. Once others can reach it, whoever" in once_open
    )
    variables = {"PUBLIC_URL": "http://cutline.example", "METRICS_TOKEN": "x" * 32}
    said = checked(tmp_path, **variables)
    assert "Others can reach this server (PUBLIC_URL names cutline.example; " in said
    assert "HINT: Put a proxy with a certificate before it" in said
    assert "cutline.W002" not in said


def test_the_launcher_prints_the_same_sentences(in_the_open, capsys):
    launch.warn()
    assert capsys.readouterr().err == ""
    in_the_open.METRICS_TOKEN = ""
    launch.warn()
    (danger,) = dangers.every(Noted())
    assert capsys.readouterr().err == f"Warning: {danger.msg} {danger.hint} (cutline.W002)\n"


@pytest.mark.slow
def test_make_run_warns_where_others_can_reach_it(launched_with, tmp_path):
    (tmp_path / "var").mkdir()
    shutil.copy(migrated_database(), tmp_path / "var")
    run = launched_with("worker: exec sleep 1000\n", PUBLIC_URL="http://cutline.example")
    run.wait_to_say(r"Warning: PUBLIC_URL begins with http\. Others can reach this server")
    run.wait_to_say(r"worker")


@pytest.mark.django_db(transaction=True)
def test_a_backup_is_whole_if_the_database_cannot_note_it(data_dir, tmp_path_factory, capsys):
    def refuse(execute, sql, parameters, many, context):
        if sql.startswith("INSERT"):
            raise OperationalError("attempt to write a readonly database")
        return execute(sql, parameters, many, context)

    folder = tmp_path_factory.mktemp("backups") / "today"
    with connection.execute_wrapper(refuse):
        call_command("backup", str(folder))
    assert "The backup is complete, but the database could not note it" in capsys.readouterr().err
    assert (folder / "SHA256SUMS").exists()
