"""To which addresses a webhook is sent, and how a receiver is recognised."""

import ipaddress
import socket
import subprocess

import pytest

from snapshots.problems import Invalid
from tests.webapp.notices.given import LOOPBACK, happened, later
from tests.webapp.receiver import Receiver
from webapp.notices import addresses, kinds, services
from webapp.notices.models import Attempt

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address",
    [
        *["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"],
        *["0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1"],
        *["::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"],
        *["fec0::1", "feff::1", "::ffff:0:10.0.0.1", "::10.0.0.1", "::5db8:d822"],
    ],
)
def test_addresses_that_are_not_public_are_refused(ada, settings, address, monkeypatch):
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Invalid, match="is not a public address"):
        services.create(ada, ada, f"https://{host}/hook", [])
    resolves_to(monkeypatch, address)
    with pytest.raises(addresses.NotDelivered, match="is not a public address"):
        addresses.resolved("hooks.example.org", 443)


def resolves_to(monkeypatch, *answers: str) -> list[str]:
    """Let each question for a name get the next answer, and return the names asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host, port, *args, **options):
        if host.replace(".", "").isdigit() or ":" in host:
            return real(host, port, *args, **options)
        asked.append(host)
        answer = answers[min(len(asked), len(answers)) - 1]
        family = socket.AF_INET6 if ":" in answer else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (answer, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_public_addresses_are_allowed(settings, address):
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    assert addresses.is_allowed(ipaddress.ip_address(address))


def test_a_private_receiver_gets_nothing_unless_a_setting_allows_it(
    ada, webhook, receiver, send, settings
):
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    happened(ada)
    send()
    assert receiver.received == []
    assert "localhost is not a public address" in Attempt.objects.get().error
    settings.WEBHOOK_PRIVATE_NETWORKS = LOOPBACK
    later(minutes=1)
    send()
    assert len(receiver.received) == 1


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(
    ada, receiver, send, monkeypatch
):
    services.create(ada, ada, f"http://hooks.example.org:{receiver.port}/", kinds.NAMES)
    asked = resolves_to(monkeypatch, "127.0.0.1", "127.0.0.2")
    happened(ada)
    send()
    assert asked == ["hooks.example.org"]
    assert receiver.received[0].headers["Host"] == f"hooks.example.org:{receiver.port}"


def certificate_for(name: str, folder) -> str:
    """Return a file with a key and a certificate of its own."""
    key, file = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        [
            *["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            *["-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext"],
            *[f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(file)],
        ],
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + key.read_text())
    return str(file)


@pytest.mark.parametrize(
    ("name", "is_trusted", "outcome"),
    [
        ("localhost", True, ""),
        ("localhost", False, "There is no secure connection: self-signed certificate"),
        ("other.example", True, "There is no secure connection: Hostname mismatch"),
    ],
)
def test_a_certificate_is_checked(ada, send, tmp_path, monkeypatch, name, is_trusted, outcome):
    certificate = certificate_for(name, tmp_path)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
    receiver = Receiver(certificate)
    services.create(ada, ada, receiver.url, kinds.NAMES)
    happened(ada)
    send()
    receiver.stop()
    assert Attempt.objects.get().error.startswith(outcome)
    assert len(receiver.received) == (outcome == "")
