"""Pages that show a part of their address show it as text: their elements stay the same."""

from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from tests.hostile.payloads import ALL, PAYLOADS
from tests.web.given import a_ready_recording

pytestmark = pytest.mark.django_db

HARMLESS = "nothing has this name"
PAGES = [
    *("/?q=", "/?sort=", "/?status=", "/jobs?q=", "/topologies?q=", "/mappings?q=", "/archive?q="),
    *("/compare?recordings=", "/learn/rules?channel=", "/learn/rules?rule=", "/sign-in?next=/"),
    *("/recordings/{pk}/snapshots?id=", "/recordings/{pk}/snapshots?page=", "/recordings/{pk}?t="),
    *("/recordings/{pk}/states?snapshot=", "/recordings/{pk}/proof?snapshot="),
    *("/recordings/{pk}/rules?channel=", "/recordings/{pk}/side-by-side?seed="),
    "/recordings/{pk}/properties?phase=",
]


class Structure(HTMLParser):
    """The elements of a page with the names of their attributes, without contents."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[tuple[str, ...]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.parts.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        self.parts.append((f"/{tag}",))

    def handle_comment(self, data):
        self.parts.append(("a comment", data))


@pytest.fixture
def visited(ada, client, data_dir):
    """Return a function that gives the status and the structure of a page."""
    client.force_login(ada)
    pk = a_ready_recording(ada).pk

    def visit(page: str, text: str) -> tuple[int, list[tuple[str, ...]]]:
        answer = client.get(page.format(pk=pk) + quote(text, safe=""))
        return answer.status_code, Structure(answer.content.decode()).parts

    return visit


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "payloads",
    [
        pytest.param([each[0] for each in PAYLOADS.values()], id="quick"),
        pytest.param(ALL, id="whole", marks=pytest.mark.long),
    ],
)
def test_a_payload_in_an_address_is_text(visited, page, payloads):
    expected = visited(page, HARMLESS)
    assert expected[0] < 500
    differing = [payload for payload in payloads if visited(page, payload) != expected]
    assert not differing
