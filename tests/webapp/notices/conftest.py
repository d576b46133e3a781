"""A receiver, a webhook that leads to it, and the function that workers call."""

import pytest

from tasks.queue.notices import Sender
from tests.webapp.notices.given import LOOPBACK, Here
from tests.webapp.receiver import Receiver
from webapp.notices import kinds, services
from webapp.notices.models import Webhook
from webapp.teams import services as teams


@pytest.fixture(autouse=True)
def near(settings):
    """Allow what a receiver on this machine needs, and configure e-mail."""
    settings.WEBHOOK_HTTP = True
    settings.WEBHOOK_PRIVATE_NETWORKS = LOOPBACK
    settings.EMAIL_HOST = "mail.example.org"


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def webhook(ada, receiver) -> Webhook:
    return services.create(ada, ada, receiver.url, kinds.NAMES)


@pytest.fixture
def send(monkeypatch):
    """Return the function with which workers send what is due."""
    monkeypatch.setattr("tasks.queue.notices.connections.close_all", lambda: None)
    return Sender(Here()).send_due


@pytest.fixture
def team(ada):
    return teams.create_team(ada, "payments")


@pytest.fixture
def teams_webhook(ada, team, receiver) -> Webhook:
    return services.create(team.account, ada, receiver.url, kinds.NAMES)
