"""Every sentence of a first answer is checked to have evidence one click away."""

import re

from tests.web.api.uploading import Uploaded
from tests.web.given import signed_in, text_of


def require_evidence(uploaded: Uploaded, user) -> None:
    """Require that the page shows every sentence, and that every link of it leads somewhere."""
    browser = signed_in(user)
    page = text_of(browser.get(f"/recordings/{uploaded.id}/answer"))
    seen: dict[str, str] = {}
    for subject in uploaded.get("/answer")["subjects"]:
        assert 3 <= len(subject["sentences"]) <= 7
        for sentence in subject["sentences"]:
            assert sentence["evidence"] or sentence["upload"], sentence["text"]
            assert _escaped(sentence["text"]) in page
            for one in sentence["evidence"]:
                path, _, anchor = one["address"].partition("#")
                if path not in seen:
                    seen[path] = browser.get(path).content.decode()
                    assert browser.get(path).status_code == 200, one
                assert f'href="{one["address"].replace("&", "&amp;")}"' in page
                assert not anchor or re.search(rf'id="{anchor}"', seen[path]), one


def _escaped(text: str) -> str:
    for plain, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#x27;")):
        text = text.replace(plain, entity)
    return text.replace('"', "&quot;")
