"""A page loads all of its JavaScript modules at once."""

import re

import pytest
from django.template import Context, Template, TemplateSyntaxError

from snapshots.templatetags.modules import modules_of
from tests.stack import ROOT
from webapp.edge.static_files import catalogue

TAG = re.compile(r"{% modulepreload '([^']+)' %}")
SCRIPT = re.compile(r"""<script type="module" src="{% static '([^']+)' %}">""")


@pytest.fixture
def static_files(tmp_path, settings):
    modules_of.cache_clear()
    catalogue.cache_clear()
    settings.STATICFILES_DIRS = [tmp_path]
    yield tmp_path
    modules_of.cache_clear()
    catalogue.cache_clear()


def a_module(folder, path: str, text: str = "") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def preloaded(entry: str) -> list[str]:
    text = f"{{% load modules %}}{{% modulepreload '{entry}' %}}"
    page = Template(text).render(Context())
    links = page.splitlines()
    shape = '<link rel="modulepreload" href="/static/[0-9a-f]{12}/(.+)">'
    return [re.fullmatch(shape, link)[1] for link in links]


def test_modules_are_found_through_imports_of_every_shape(static_files):
    a_module(static_files, "views/a.js", 'import { x } from "./b.js";\nimport "../lib/c.js";\n')
    a_module(static_files, "views/b.js", 'export { y } from "../lib/d.js";\n')
    a_module(static_files, "lib/c.js", 'import {\n  x,\n  y,\n} from "../views/b.js";\n')
    a_module(static_files, "lib/d.js", 'import { x } from "../views/a.js";\nh("./no.js");\n')
    a_module(static_files, "lib/other.js")
    assert preloaded("views/a.js") == ["lib/c.js", "lib/d.js", "views/a.js", "views/b.js"]


def test_plotly_is_fetched_beside_the_modules_that_draw_with_it():
    text = "{% load modules %}{% modulepreload 'js/views/bytes/index.js' %}"
    last = Template(text).render(Context()).splitlines()[-1]
    assert re.fullmatch(
        '<link rel="preload" as="script" href="/static/[0-9a-f]{12}/plotly/plotly.min.js">', last
    )
    assert "preload" not in Template(text.replace("bytes", "review")).render(Context()).replace(
        "modulepreload", ""
    )


def test_an_import_of_nothing_is_refused(static_files):
    a_module(static_files, "a.js", 'import { x } from "./b.js";\n')
    with pytest.raises(TemplateSyntaxError, match="There is no static file b.js."):
        preloaded("a.js")


def test_pages_ask_for_the_modules_of_their_own_script():
    pages = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    pages = [text for text in pages if "modulepreload" in text]
    assert len(pages) == 12
    for text in pages:
        assert TAG.findall(text) == SCRIPT.findall(text)
