"""Join ES modules into one classic script, which a page opened from a disk can run.

Such a page cannot import: a browser refuses modules from files. Each module becomes a function that
returns its exports, in the order in which they need each other. It knows the forms of import and
export that ``static/js`` uses, and refuses others.
"""

import re
from functools import cache
from pathlib import Path

from django.conf import settings

_ROOT = Path(settings.BASE_DIR) / "static" / "js"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\*? |const |let |class )", re.MULTILINE)
_NAMES = re.compile(
    r"^export (?:async )?(?:function\*?|const|let|class) (\w+|\{[^}]*\}|\[[^\]]*\])", re.MULTILINE
)
_LEFT = re.compile(r"^(?:import|export)\b|\bimport\(", re.MULTILINE)
_END = re.compile(r"</(?=script)", re.IGNORECASE)


class NotInlined(ValueError):
    """A module uses a form of import or export that is not known here; the message names it."""


@cache
def script_of(entry: str) -> str:
    """Return the script of a module and all that it needs.

    Args:
        entry: the path of the module under ``static/js``.

    Raises: NotInlined.
    """
    texts: dict[Path, str] = {}
    _collect((_ROOT / entry).resolve(), texts, ())
    parts = [_wrapped(_name(path), text) for path, text in texts.items()]
    return escaped("\n".join(['"use strict";', "const modules = {};", *parts]))


def escaped(script: str) -> str:
    """Return a script that ends no element ``script`` in which it stands."""
    return _END.sub(r"<\\/", script).replace("<!--", r"<\!--")


def _collect(path: Path, texts: dict[Path, str], above: tuple[Path, ...]) -> None:
    """Add a module behind all that it imports. Raises: NotInlined."""
    if path in texts:
        return
    if path in above:
        raise NotInlined(f"{_name(path)} imports itself through other modules.")
    source = path.read_text(encoding="utf-8")
    for _, target in _IMPORT.findall(source):
        _collect((path.parent / target).resolve(), texts, (*above, path))
    texts[path] = _transformed(path, source)


def _transformed(path: Path, source: str) -> str:
    """Return the body of the function that a module becomes. Raises: NotInlined."""
    names = _NAMES.findall(source)
    body = _IMPORT.sub(lambda match: _lookup(path, match[1], match[2]), source)
    body = _EXPORT.sub("", body)
    if left := _LEFT.search(body):
        line = body[left.start() :].partition("\n")[0]
        raise NotInlined(f"{_name(path)} has a line that cannot be inlined: {line}")
    if odd := [name for name in names if not name.isidentifier()]:
        raise NotInlined(f"{_name(path)} exports {odd[0]}; export one name at a time.")
    return f"{body}\nreturn {{ {', '.join(names)} }};"


def _lookup(path: Path, names: str, target: str) -> str:
    picked = re.sub(r"(\w+) as (\w+)", r"\1: \2", " ".join(names.split()))
    return f'const {{ {picked} }} = modules["{_name((path.parent / target).resolve())}"];'


def _wrapped(name: str, body: str) -> str:
    return f'modules["{name}"] = (() => {{\n{body}\n}})();'


def _name(path: Path) -> str:
    return path.relative_to(_ROOT.resolve()).as_posix()
