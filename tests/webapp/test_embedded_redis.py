"""The Redis that `make run` starts: its version, password and files."""

import re
import stat
import time
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from tests.stack import ROOT, Stack
from tests.webapp.launched import PATIENCE_SECONDS, write_program
from webapp import embedded_redis

pytestmark = pytest.mark.slow


def test_redis_keeps_its_port_and_its_password_to_itself(tmp_path):
    first = embedded_redis.prepare(tmp_path)
    assert embedded_redis.prepare(tmp_path).url.rpartition(":")[2] == first.url.rpartition(":")[2]
    assert oct(first.config.stat().st_mode)[-3:] == "600"
    assert oct((tmp_path / "url").stat().st_mode)[-3:] == "600"


def test_the_redis_of_a_stack_answers_when_it_has_been_started(tmp_path):
    stack = Stack(tmp_path)
    stack.redis = embedded_redis.prepare(tmp_path / "redis")
    try:
        stack.run_redis()
        with redis.Redis.from_url(stack.redis.url) as client:
            assert client.ping()
    finally:
        stack.stop()


def version_of(url: str) -> tuple[int, ...]:
    with redis.Redis.from_url(url) as client:
        info = client.info("server")
    version = info.get("valkey_version") or info["redis_version"]
    return tuple(map(int, version.split(".")))


def test_the_embedded_redis_is_a_maintained_version(live_redis):
    assert version_of(live_redis.redis_url) >= (7, 0)


def test_the_systems_server_goes_before_the_one_in_the_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert embedded_redis.find_server().parent != tmp_path
    write_program(tmp_path / "redis-server", "")
    assert embedded_redis.find_server() == tmp_path / "redis-server"
    write_program(tmp_path / "valkey-server", "")
    assert embedded_redis.find_server() == tmp_path / "valkey-server"


def test_what_redis_writes_is_private(launched_with, tmp_path):
    folder = tmp_path / "var" / "redis"
    (folder / "appendonlydir").mkdir(parents=True)
    (folder / "redis.log").touch(mode=0o644)  # of an earlier version
    line = next(line for line in (ROOT / "Procfile").read_text().splitlines() if "redis:" in line)
    run = launched_with(f"{line}\nworker: exec sleep 1000\n")
    run.wait_to_say(r"redis.1 .* started|redis started")
    wait_until_redis_answers(folder)
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert any(path.suffix == ".aof" for path in folder.rglob("*"))


def wait_until_redis_answers(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with suppress(redis.RedisError, FileNotFoundError):
            redis.Redis.from_url((folder / "url").read_text()).set("key", "value")
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_redis_asks_for_the_password(live_redis):
    without = re.sub(r":[^:@/]+@", "", live_redis.redis_url)
    with redis.Redis.from_url(without) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
