"""Nobody else on the machine can use the Spark of a session.

The driver's JVM listens on three ports of loopback: py4j's gateway, which requires a token, and
Spark's RPC and block manager, which require SASL with the session's secret. Python workers and
accumulators have sockets in a folder that only the owner can enter or, if its path is too long for
sockets, ports that require a secret.
"""

import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tasks.spark.driver import descendants
from tests.spark.running import processes

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RPC_REQUEST, STREAM_REQUEST = 3, 6  # of Spark's network protocol
STREAM_FAILURE = 8
SECRET = "a-secret-of-the-cluster"


@pytest.mark.long
def test_each_port_of_a_session_asks_for_a_secret():
    with tempfile.TemporaryDirectory() as folder:  # short enough for sockets
        processes.run(__name__, "check_ports", DATA_DIR=folder)


@pytest.mark.long
def test_python_workers_ask_for_a_secret_where_paths_are_too_long_for_sockets(tmp_path):
    folder = tmp_path / ("long" * 20)
    processes.run(__name__, "check_python_ports", DATA_DIR=folder)


@pytest.mark.long
def test_the_secret_of_a_cluster_stands_in_no_command_line(tmp_path, cluster):
    environment = {
        "SPARK_MASTER": cluster,
        "DATA_DIR": tmp_path,
        "PYSPARK_PYTHON": sys.executable,
    }
    processes.run(__name__, "check_cluster", SPARK_AUTH_SECRET=SECRET, **environment)
    processes.run(__name__, "check_no_cluster", SPARK_AUTH_SECRET="", **environment)


def check_ports() -> None:
    from tasks.spark import session

    spark = session.warm()
    jvm = session._driver.process.pid
    ports = listening(jvm)
    assert len(ports) == 3, ports
    assert not listening(os.getpid())
    assert not [port for pid in descendants(jvm) for port in listening(pid)]
    rpc = int(spark.conf.get("spark.driver.port"))
    gateway = spark.sparkContext._gateway.java_parameters.port
    [block_manager] = ports - {rpc, gateway}
    assert b"Authentication error" in asked(gateway, b"c\no0\nx\ne\n")
    for port in (rpc, block_manager):
        assert b"Expected SaslMessage" in asked(port, frame(RPC_REQUEST, open_blocks()))
    assert asked(rpc, frame(STREAM_REQUEST, text("/files/x")))[8] == STREAM_FAILURE
    check_sockets(jvm)


def check_sockets(jvm: int) -> None:
    from tasks.spark import session

    folder = session._driver.scratch.path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    sockets = list(folder.glob(".*.sock"))
    assert len(sockets) == 2, sockets  # of the accumulators and of the Python daemon


def check_python_ports() -> None:
    from tasks.spark import session

    session.warm()
    [accumulators] = listening(os.getpid())
    jvm = session._driver.process.pid
    [daemon] = {port for pid in descendants(jvm) for port in listening(pid)}
    wrong = b"x" * 44
    assert asked(accumulators, wrong) == b""
    answer = asked(daemon, struct.pack(">i", len(wrong)) + wrong, end=b"err")
    assert answer.endswith(b"err")


def check_cluster() -> None:
    from tasks.spark import session

    session.warm()
    jvm = session._driver.process.pid
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert len(commands) > 3
    assert not [command for command in commands if SECRET.encode() in command]
    assert b"spark.master" in Path(f"/proc/{jvm}/cmdline").read_bytes()


def check_no_cluster() -> None:
    from tasks.spark import session

    os.environ["SPARK_START_SECONDS"] = "30"
    with pytest.raises(session.SparkUnavailable, match="Is the master reachable"):
        session.get()


def listening(pid: int) -> set[int]:
    """Return the TCP ports that a process listens on."""
    answer = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True)
    lines = [line for line in answer.stdout.splitlines() if f"pid={pid}," in line]
    addresses = [line.split()[3].rpartition(":") for line in lines]
    assert all("127.0.0.1" in host for host, _, _ in addresses), addresses
    return {int(port) for _, _, port in addresses}


def asked(port: int, request: bytes, end: bytes = b"") -> bytes:
    """Return what a port answers until it closes, is silent or sends ``end``."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        try:
            while received := connection.recv(65536):
                answer += received
                if not end or answer.endswith(end):
                    break
        except TimeoutError:
            pass
        return answer


def frame(kind: int, body: bytes) -> bytes:
    return struct.pack(">qb", 9 + len(body), kind) + body


def open_blocks() -> bytes:
    """Return the body of a request for a block by a client without the secret."""
    blocks = b"\0" + text("app") + text("driver") + struct.pack(">i", 1) + text("rdd_0_0")
    return struct.pack(">qi", 7, len(blocks)) + blocks


def text(words: str) -> bytes:
    return struct.pack(">i", len(words)) + words.encode()


@pytest.fixture
def cluster(tmp_path):
    """Start a master and a worker of a standalone cluster with a secret."""
    import pyspark

    home = Path(pyspark.__file__).parent
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.authenticate true\n")
    environment = os.environ | {
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "_SPARK_AUTH_SECRET": SECRET,
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
    }
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    master = ["Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["Worker", "--host", "127.0.0.1", "--webui-port", "0"]
    worker += ["--cores", "1", "--memory", "1g", url]
    started = []
    for name, *arguments in (master, worker):
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name.lower()}.{name}"]
        started.append(
            subprocess.Popen(
                [*command, *arguments],
                env=environment,
                stdout=(tmp_path / name).open("w"),
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )
        wait_for_port(port)
    yield url
    for process in started:
        for pid in [process.pid, *descendants(process.pid)]:
            os.kill(pid, 9)
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, "the master did not start"
            time.sleep(0.2)
