"""An object store that speaks S3, as a process of its own: moto's server, which keeps memory only.

It takes any credentials.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import boto3

PATIENCE_SECONDS = 60
ROOT = Path(__file__).resolve().parents[2]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


PORT = _free_port()
ADDRESS = f"http://127.0.0.1:{PORT}"
ENVIRONMENT = {
    "AWS_ENDPOINT_URL": ADDRESS,
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "not-a-secret",
}
"""Where the tests of this process find the object store; Spark takes it along when it starts."""


class ObjectServer:
    """A server process of an S3 object store, at an address that is known before it starts."""

    def __init__(self, delay: float = 0.0) -> None:
        """Take the seconds before each answer, as if the store were far away."""
        self._delay = delay
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        where = ["-H", "127.0.0.1", "-p", str(PORT)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.objects.quick_moto", *where],
            cwd=ROOT,
            env=os.environ
            | {"MOTO_S3_DEFAULT_KEY_BUFFER_SIZE": str(2**30), "MOTO_DELAY": str(self._delay)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"{ADDRESS}/moto-api/data.json", timeout=5).close()
                return
            except OSError:
                assert self._process.poll() is None, "moto's server ended"
                assert time.monotonic() < deadline, "moto's server does not answer"
                time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the server take connections, and neither read nor answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @property
    def client(self):
        return boto3.client(
            "s3",
            endpoint_url=ADDRESS,
            region_name="us-east-1",
            aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        )

    def bucket(self) -> str:
        """Make a new bucket and return its name."""
        name = f"cutline-{uuid.uuid4().hex}"
        self.client.create_bucket(Bucket=name)
        return name
