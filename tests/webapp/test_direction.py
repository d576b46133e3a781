"""Characters that change the direction of text are shown by their number, where people read."""

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from tests.web.given import a_ready_recording
from webapp import direction

NAME = "a\u202etxt.exe"
SHOWN = "a⟨U+202E⟩txt.exe"
HTML = {
    f"<p>{NAME}</p>": f"<p>{SHOWN}</p>",
    f'<a href="{NAME}" title="{NAME}">{NAME}': f'<a href="{NAME}" title="{SHOWN}">{SHOWN}',
    f"<input value='{NAME}' alt='{NAME}'>": f"<input value='{NAME}' alt='{SHOWN}'>",
    f'<i data-title="{NAME}" aria-label="{NAME}">': f'<i data-title="{NAME}" aria-label="{SHOWN}">',
    f"<textarea name=a>{NAME}\n{NAME}</textarea>": f"<textarea name=a>{NAME}\n{NAME}</textarea>",
    f"<option value='{NAME}'>{NAME}</option>": f"<option value='{NAME}'>{SHOWN}</option>",
    f"<SCRIPT>{NAME}</SCRIPT>{NAME}": f"<SCRIPT>{NAME}</SCRIPT>{SHOWN}",
    f"1 < 2 {NAME}": f"1 < 2 {SHOWN}",
    "\u2066a\u2069 \u202b\u2068": "⟨U+2066⟩a⟨U+2069⟩ ⟨U+202B⟩⟨U+2068⟩",
    "שלום \u200e حساب": "שלום \u200e حساب",
}


@pytest.mark.parametrize("html", HTML)
def test_html_shows_what_is_read_and_keeps_what_is_sent_back(html):
    assert direction.in_html(html) == HTML[html]


def test_a_text_shows_every_such_character():
    assert direction.in_text(f"<b title={NAME}>") == f"<b title={SHOWN}>"


@pytest.mark.parametrize(
    ("response", "content"),
    [
        (HttpResponse(f"<p>{NAME}"), f"<p>{SHOWN}"),
        (HttpResponse(f"<p>{NAME}", content_type="text/csv; charset=utf-8"), f"<p>{NAME}"),
        (StreamingHttpResponse([f"<p>{NAME}".encode()]), f"<p>{NAME}"),
    ],
)
def test_only_pages_are_changed(response, content):
    answered = direction.middleware(lambda request: response)(None)
    assert b"".join(answered).decode() == content


@pytest.mark.django_db
def test_a_page_shows_such_a_name(ada, client, data_dir):
    row = a_ready_recording(ada)
    type(row).objects.filter(pk=row.pk).update(name=NAME)
    client.force_login(ada)
    page = client.get("/").content.decode()
    assert SHOWN in page
    assert NAME not in page
    assert f'value="{NAME}"' in client.get(f"/recordings/{row.pk}/rename").content.decode()
    api = client.get(f"/api/recordings/{row.pk}").json()
    assert api["name"] == NAME
