import os
import stat
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.stack import ROOT
from webapp import env, secret_key


def settings_with(tmp_path, **variables) -> subprocess.CompletedProcess:
    """Return what a fresh process prints when it reads its settings from ``variables``."""
    return subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", PRINT_SETTINGS],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data")} | variables,
        capture_output=True,
        text=True,
    )


PRINT_SETTINGS = """
from django.conf import settings
from django.db import connection
print(settings.ALLOWED_HOSTS, settings.SESSION_COOKIE_SECURE, settings.REDIS_URL)
if connection.vendor == "sqlite":
    mode = connection.cursor().execute("pragma journal_mode").fetchone()
    print(mode, connection.transaction_mode)
else:
    told = connection.settings_dict
    print(told["HOST"], told["NAME"], sorted(told["OPTIONS"].items()))
"""


@pytest.mark.parametrize("name", env.SETTINGS)
def test_every_setting_is_documented(name):
    assert f"`{name}`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("many", "X='many' is not a whole number."),
        ("0", "X='0' is less than 1."),
        ("1.5", "X='1.5' is not a whole number."),
    ],
)
def test_a_wrong_number_is_one_sentence(monkeypatch, text, sentence):
    monkeypatch.setattr(env, "SETTINGS", {})
    monkeypatch.setenv("X", text)
    with pytest.raises(ImproperlyConfigured, match=f"^{sentence}$"):
        env.env_int("X", 7, "a number")


def test_a_wrong_port_or_word_is_one_sentence(monkeypatch):
    monkeypatch.setattr(env, "SETTINGS", {})
    monkeypatch.setenv("X", "70000")
    with pytest.raises(ImproperlyConfigured, match="ports end at 65535"):
        env.env_port("X", 7, "a port")
    with pytest.raises(ImproperlyConfigured, match="neither yes nor no"):
        env.env_bool("X", False, "a word")


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setattr(env, "SETTINGS", {})
    monkeypatch.setenv("X", "")
    assert env.env_int("X", 7, "a number") == 7
    assert env.SETTINGS["X"] == env.Setting("X", "7", "a number")


def test_a_folder_that_cannot_be_made_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(env, "SETTINGS", {})
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="file/var cannot be created"):
        env.env_folder("X", tmp_path / "file" / "var", "a folder", shown="./var")


def test_a_command_says_what_is_wrong_without_a_traceback(tmp_path):
    ran = settings_with(tmp_path, MAX_PROCESSES="many")
    assert ran.returncode == 1
    assert ran.stderr == "MAX_PROCESSES='many' is not a whole number.\n"


@pytest.mark.slow
def test_sqlite_writes_ahead_and_takes_turns(tmp_path):
    ran = settings_with(tmp_path)
    assert ran.stdout.splitlines()[1] == "('wal',) IMMEDIATE", ran.stderr


@pytest.mark.slow
def test_another_database_is_one_setting(tmp_path):
    ran = settings_with(tmp_path, DATABASE_URL="postgres://u:p@db.example/cutline?sslmode=require")
    shown = "db.example cutline [('connect_timeout', 5), ('sslmode', 'require')]"
    assert ran.stdout.splitlines()[1] == shown, ran.stderr


@pytest.mark.slow
def test_https_in_front_means_secure_cookies(tmp_path):
    ran = settings_with(tmp_path, PUBLIC_URL="https://cutline.example/", REDIS_URL="redis://r/1")
    assert ran.stdout.splitlines()[0] == (
        "['127.0.0.1', 'localhost', '[::1]', 'cutline.example'] True redis://r/1"
    )


def test_the_secret_key_is_made_once_and_private(tmp_path):
    path = tmp_path / "secret_key"
    first = secret_key.read_or_make(path)
    assert len(first) >= 50
    assert secret_key.read_or_make(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_starter_takes_the_firsts_key(tmp_path, monkeypatch):
    path = tmp_path / "secret_key"
    path.write_text("the first's")
    monkeypatch.setattr(type(path), "exists", lambda self: False)
    assert secret_key.read_or_make(path) == "the first's"


def test_plotly_comes_from_its_package(client):
    answer = client.get("/static/plotly/plotly.min.js")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert int(answer.headers["Content-Length"]) == len(answer.content) > 1_000_000


@pytest.mark.django_db
def test_healthz_names_what_is_wrong(client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "failed", "database": "ok", "redis": "unreachable"}


def test_healthz_is_ok_when_all_answer(server):
    assert server.answers()
