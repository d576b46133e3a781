"""The examples in ``deploy/`` work: nginx before two web processes, and the units of systemd."""

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from snapshots.domain.simulators.samples import two_banks
from tests.conftest import skip_or_fail
from tests.stack import ROOT, Stack
from tests.web.given import native
from webapp import embedded_redis
from webapp.edge.protocol import FLUSH_SECONDS

DEPLOY = ROOT / "deploy"
HOST = "cutline.example"
WEB = ("web-1", "web-2")

pytestmark = pytest.mark.slow


class Proxied(Stack):
    """Two web processes behind an nginx that runs the example."""

    def begin(self) -> None:
        self.start_redis()
        self.ports = [embedded_redis.free_port() for _ in WEB]
        self.environment |= {
            "PUBLIC_URL": f"https://{HOST}",
            "ACCESS_LOG": "yes",
            "LOG_FORMAT": "json",
        }
        for name, port in zip(WEB, self.ports, strict=True):
            self.start(name, *self.web_command(port))
        for port in self.ports:
            self.port = port
            self.wait_for(f"port {port}", self.answers)
        self.start_nginx()

    def web_command(self, port: int) -> list[str]:
        """Return the command of the unit of systemd, with this Python."""
        unit = (DEPLOY / "cutline-web@.service").read_text().replace("\\\n", " ")
        words = re.search("ExecStart=(.*)", unit)[1].replace("%i", str(port)).split()
        return [sys.executable, "-m", "uvicorn", *words[1:]]

    def start_nginx(self) -> None:
        self.https = embedded_redis.free_port()
        make_certificate(self.folder)
        site = (DEPLOY / "nginx.conf").read_text()
        for old, new in {
            "listen 443": f"listen 127.0.0.1:{self.https}",
            "listen 80;": f"listen 127.0.0.1:{embedded_redis.free_port()};",
            "127.0.0.1:8001": f"127.0.0.1:{self.ports[0]}",
            "127.0.0.1:8002": f"127.0.0.1:{self.ports[1]}",
            "/etc/ssl/cutline.example.pem": f"{self.folder}/cert.pem",
            "/etc/ssl/private/cutline.example.key": f"{self.folder}/key.pem",
        }.items():
            assert old in site, old
            site = site.replace(old, new)
        (self.folder / "site.conf").write_text(site)
        (self.folder / "nginx.conf").write_text(MAIN.format(folder=self.folder))
        self.start("nginx", nginx(), "-c", self.folder / "nginx.conf", "-g", "daemon off;")
        self.wait_for("nginx", lambda: self.ask("/livez")[0] == 200)

    def ask(self, path: str, method="GET", body=None, **headers) -> tuple[int, dict, bytes]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.https, context=unverified())
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"Host": HOST, **named})
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, names, answer.read()
        except OSError:
            return 0, {}, b""
        finally:
            connection.close()

    def access_lines(self, path: str) -> list[dict]:
        """Return the lines about a path; the server writes one after it has answered."""
        found = []

        def look() -> bool:
            lines = map(json.loads, "".join(map(self.said, WEB)).splitlines())
            found[:] = [line for line in lines if line.get("path") == path]
            return bool(found)

        self.wait_for(f"the line about {path}", look)
        return found


MAIN = """
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{}}
http {{
    access_log {folder}/nginx-access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def nginx() -> str:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        skip_or_fail("nginx is missing: apt-get install nginx-light.")
    return program


def make_certificate(folder: Path) -> None:
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", f"/CN={HOST}", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )


def unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.fixture(scope="module")
def proxied():
    nginx()
    with tempfile.TemporaryDirectory(prefix="cutline-nginx-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # nginx' workers run as another user
        stack = Proxied(Path(folder))
        try:
            stack.begin()
            yield stack
        finally:
            stack.stop()


def test_pages_come_over_https_and_from_both_processes(proxied):
    for _ in range(4):
        status, headers, page = proxied.ask("/sign-in")
        assert status == 200
        assert b"<h1>Sign in</h1>" in page
    assert "Secure" in headers["set-cookie"]
    for name in WEB:
        proxied.wait_for(name, lambda name=name: '"path": "/sign-in"' in proxied.said(name))


def test_the_address_and_the_id_come_from_the_proxy(proxied):
    forged = {"X-Request-ID": "forged", "X-Forwarded-Host": "evil.example"}
    _, headers, _ = proxied.ask("/api/nothing", **forged, **{"X-Forwarded-For": "198.51.100.9"})
    (line,) = proxied.access_lines("/api/nothing")
    assert line["address"] == "198.51.100.9"  # this test runs on loopback, which is trusted
    assert re.fullmatch("[0-9a-f]{32}", line["request"])
    assert headers["x-request-id"] == line["request"]


def test_static_files_and_pages_come_compressed_by_cutline(proxied):
    _, _, page = proxied.ask("/sign-in")
    style = re.search(rb'"(/static/[^"]+/css/base.css)"', page)[1].decode()
    status, headers, body = proxied.ask(style, Accept_Encoding="gzip, deflate, br")
    assert (status, headers["content-encoding"]) == (200, "br")
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert int(headers["content-length"]) == len(body)
    again = proxied.ask(style, Accept_Encoding="gzip, deflate, br", If_None_Match=headers["etag"])
    assert again[0] == 304
    sizes = {len(proxied.ask("/sign-in", Accept_Encoding="gzip")[2]) for _ in range(20)}
    assert len(sizes) > 5  # nginx has not packed it again without the random bytes


def test_every_line_of_a_web_process_is_json(proxied):
    proxied.ask("/livez?secret=yes")
    for line in "".join(map(proxied.said, WEB)).splitlines():
        assert {"time", "level", "logger", "message"} <= json.loads(line).keys()


def test_a_request_is_one_line_without_its_query(proxied):
    proxied.ask("/api/once?secret=yes")
    (line,) = proxied.access_lines("/api/once")
    said = "".join(map(proxied.said, WEB))
    assert said.count(line["request"]) == 1
    assert "secret=yes" not in said


def test_nginx_writes_no_line_with_a_secret_of_an_address(proxied):
    assert proxied.ask("/public/not-a-real-token")[0] == 404
    assert "not-a-real-token" not in (proxied.folder / "nginx-access.log").read_text()


def test_an_upload_passes(proxied):
    token = proxied.token()
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="log.jsonl"\r\n\r\n'
        + native(two_banks())
        + b"\r\n--x--\r\n"
    )
    status, _, answer = proxied.ask(
        "/api/recordings",
        "POST",
        body,
        Authorization=f"Bearer {token}",
        Content_Type="multipart/form-data; boundary=x",
    )
    assert status == 202, answer


def test_websockets_pass(proxied):
    with (
        connect(
            f"wss://{HOST}/ws/jobs",
            sock=socket.create_connection(("127.0.0.1", proxied.https)),
            ssl=unverified(),
            origin=f"https://{HOST}",
        ) as talk,
        pytest.raises(ConnectionClosed) as closed,
    ):
        talk.recv(timeout=10)
    assert closed.value.rcvd.code == 4401  # nobody has signed in; the consumer itself says so


def test_units_run_what_the_procfile_runs():
    procfile = (ROOT / "Procfile").read_text()
    for unit in ("cutline-web@.service", "cutline-worker.service"):
        text = (DEPLOY / unit).read_text().replace("\\\n", " ")
        words = re.search("ExecStart=.*/bin/(.*)", text)[1].split()
        line = next(line for line in procfile.splitlines() if f"exec {words[0]} " in line)
        flags = [word for word in words if word.startswith("--")]
        assert flags == [word for word in line.split() if word.startswith("--")]


def test_units_are_valid(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing.")
    for unit in (*DEPLOY.glob("*.service"), *DEPLOY.glob("*.target")):
        text = unit.read_text().replace(
            "/opt/cutline/.venv/bin/", f"{Path(sys.executable).parent}/"
        )
        (tmp_path / unit.name).write_text(text)
    names = ["cutline.target", "cutline-web@8001.service", "cutline-worker.service"]
    verify = ["systemd-analyze", "verify", *[tmp_path / name for name in names]]
    ran = subprocess.run(verify, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_every_setting_in_the_example_exists():
    from webapp.env import SETTINGS

    lines = (DEPLOY / "cutline.env").read_text().splitlines()
    names = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert names - set(SETTINGS) == {"JAVA_HOME"}


@pytest.mark.parametrize("name", ["Procfile", "deploy/cutline-web@.service"])
def test_a_websocket_whose_client_has_vanished_ends_within_half_a_minute(name):
    command = (ROOT / name).read_text()
    interval, timeout = (
        int(re.search(rf"--ws-ping-{part} (\d+)", command)[1]) for part in ("interval", "timeout")
    )
    assert interval + timeout + FLUSH_SECONDS <= 30
