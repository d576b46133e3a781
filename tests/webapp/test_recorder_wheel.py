"""The recorder's wheel: who gets it, what is in it, and that pip installs it and it works."""

import base64
import json
import subprocess
import sys
import zipfile
from io import BytesIO

import pytest
from django.core.management import call_command

from tests.recorder.judged import reports_of
from webapp import recorder_wheel
from webapp.accounts.services import make_token

pytestmark = pytest.mark.django_db

ADDRESS = f"/account/recorder/{recorder_wheel.NAME}"


def basic(password, name="cutline"):
    text = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


@pytest.fixture
def token(ada):
    return make_token(ada, "pip", scope="read", days=None)[1]


def test_the_wheel_is_for_sessions_and_tokens(client, ada, token):
    for headers in (basic(token), basic(token, ""), {"Authorization": f"Bearer {token}"}):
        assert client.get(ADDRESS, headers=headers).content == recorder_wheel.wheel()
    client.force_login(ada)
    assert client.get(ADDRESS).content == recorder_wheel.wheel()
    assert client.head(ADDRESS).status_code == 200
    assert client.post(ADDRESS).status_code == 405
    assert client.get("/account/recorder/cutline_recorder-9-py3-none-any.whl").status_code == 404


@pytest.mark.parametrize(
    "authorization",
    [None, "Basic", "Basic é", "Basic AAAA", "Basic /w==", "Bearer x", "Digest x", "Basic eDp5"],
)
def test_nobody_else_gets_it_and_a_wrong_token_is_no_fault_of_the_server(client, authorization):
    headers = {"Authorization": authorization} if authorization else {}
    answer = client.get(ADDRESS, headers=headers)
    assert (answer.status_code, answer["WWW-Authenticate"][:5]) == (401, "Basic")
    assert b"API token" in answer.content


def test_a_wrong_token_is_not_made_good_by_a_session(client, ada):
    client.force_login(ada)
    assert client.get(ADDRESS, headers=basic("wrong")).status_code == 401


def test_the_account_page_has_the_address_for_pip(client, ada):
    client.force_login(ada)
    page = client.get("/account").content.decode()
    assert f"pip install http://cutline:TOKEN@testserver{ADDRESS}" in page


def test_the_wheel_has_the_same_bytes_each_time_and_lists_its_files():
    first = recorder_wheel.wheel()
    recorder_wheel.wheel.cache_clear()
    assert recorder_wheel.wheel() == first
    with zipfile.ZipFile(BytesIO(first)) as package:
        assert package.testzip() is None
        names = package.namelist()
        (record,) = [name for name in names if name.endswith("/RECORD")]
        listed = [line.split(",")[0] for line in package.read(record).decode().splitlines()]
    assert listed == names
    assert "cutline_recorder/log.py" in names


IMPORTED = """
import importlib, json, pkgutil, sys
before = set(sys.modules)
import cutline_recorder
for module in pkgutil.iter_modules(cutline_recorder.__path__):
    if module.name != "__main__":
        importlib.import_module("cutline_recorder." + module.name)
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(new - set(sys.stdlib_module_names))))
"""
LOGGED = """
from cutline_recorder import Log, header
banks = header("two banks", {"A": 10, "B": 0}, ["A->B"])
with Log.to_file("A", "a.jsonl", banks) as a, Log.to_file("B", "b.jsonl", banks) as b:
    message = a.sent("A->B", 4, state=6)
    a.recorded("s1", 6)
    a.marker_sent("A->B", "s1")
    b.recorded("s1", 0)
    b.received("A->B", message, 4, state=4)
    b.marker_received("A->B", "s1")
    b.recorded_channel("s1", "A->B", [message])
"""


@pytest.mark.slow
def test_pip_installs_it_into_an_empty_environment_and_its_log_is_judged(
    live_server, ada, client, data_dir, tmp_path, transactional_db, token
):
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    address = live_server.url.replace("http://", f"http://cutline:{token}@") + ADDRESS
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir"]
    installed = subprocess.run([*pip, address], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    assert token not in installed.stdout + installed.stderr

    def run(*arguments):
        command = [python, "-I", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    assert json.loads(run("-c", IMPORTED)) == ["cutline_recorder"]
    run("-c", LOGGED)
    run("-m", "cutline_recorder", "join", "a.jsonl", "b.jsonl", "--into", "whole.jsonl")
    whole = tmp_path / "whole.jsonl"
    call_command("check_snapshots", whole)  # exits if a snapshot is not consistent
    assert [report.verdict for report in reports_of(whole.read_bytes()).values()] == ["consistent"]
    with whole.open("rb") as file:
        headers = {"Authorization": f"Bearer {make_token(ada, 'w', scope='write', days=None)[1]}"}
        answer = client.post("/api/recordings", {"file": file}, headers=headers)
    assert (answer.status_code, answer.json()["format"]) == (202, "native")
