"""Serve static files from memory: each compressed once, under addresses that carry a hash.

An address is ``/static/VERSION/PATH``. VERSION is a hash of everything below the first folder of
PATH, such as ``js``. The relative imports of a module therefore lead to modules of the same
version, and no text has to be rewritten. Files of this version are kept for a year. An address
without a version or with another one, as pages of another release ask for it, gets the present
file, which is not kept without asking.
"""

import gzip
import hashlib
import mimetypes
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import brotli
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.cache import get_conditional_response

FOREVER = "public, max-age=31536000, immutable"
ASK_FIRST = "public, no-cache"
BROTLI_QUALITY = 9  # of Plotly, 11 saves a tenth more and takes ten times as long
BROTLI_QUALITY_OF_SMALL = 11  # saves a twelfth of a module, in some milliseconds
SMALL = 100_000  # bytes
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {  # the best first
    "br": lambda content: brotli.compress(
        content, quality=BROTLI_QUALITY_OF_SMALL if len(content) < SMALL else BROTLI_QUALITY
    ),
    "gzip": lambda content: gzip.compress(content, mtime=0),
}
# Without the hint Chromium compiles two thousand functions of Plotly one by one while the script
# runs, which blocks the page. With it they are compiled beside it. Other browsers see a comment.
COMPILED_AHEAD = {"plotly/plotly.min.js"}
HINT = b"//# allFunctionsCalledOnLoad\n"
OWN_MODULES = "js/"
# Types and explanations are for people who read the sources; of what is sent they were a quarter.
_DOC_COMMENT = re.compile(rb"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
_UNUSED = ["datasets", "templates", "widgetbundle.js", "*.map"]  # of the installed packages
_VERSION = re.compile(r"[0-9a-f]{12}")
_ACCEPTED = re.compile(r"\b(br|gzip)\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


@dataclass(frozen=True)
class StaticFile:
    """A file that is compressed when somebody first asks for it.

    To compress all of them would take half of the time in which a server starts.

    Attributes:
        media_type: value of the header Content-Type.
        content: the bytes as they are.
        is_text: whether it is worth compressing, which pictures are not.
    """

    media_type: str
    content: bytes
    is_text: bool

    @cached_property
    def digest(self) -> str:
        """Return a hash of the content."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @cached_property
    def bodies(self) -> dict[str, bytes]:
        """Return what was compressed so far, by encoding, and under "" the content."""
        return {"": self.content}

    def encoded(self, accepted: Collection[str]) -> tuple[str, bytes]:
        """Return the encoding to send, which is empty for none, and the bytes."""
        encodings = [name for name in COMPRESSORS if name in accepted] if self.is_text else []
        encoding = next(iter(encodings), "")
        if encoding not in self.bodies:
            self.bodies[encoding] = COMPRESSORS[encoding](self.content)
        body = self.bodies[encoding]
        return (encoding, body) if len(body) < len(self.content) else ("", self.content)

    def answer(self, request: HttpRequest, cache_control: str) -> HttpResponse:
        """Return the response in the best encoding that the browser takes."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        encoding, body = self.encoded(_ACCEPTED.findall(request.headers.get("Accept-Encoding", "")))
        etag = f'"{self.digest}{encoding}"'
        headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding", "ETag": etag}
        response = HttpResponse(body, content_type=self.media_type, headers=headers)
        response.headers["Content-Length"] = str(len(body))
        if encoding:
            response.headers["Content-Encoding"] = encoding
        return get_conditional_response(request, etag=etag, response=response) or response


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All static files of this release.

    Attributes:
        files: the files by path.
        versions: the hash of each first folder.
    """

    files: Mapping[str, StaticFile]
    versions: Mapping[str, str]

    def version_of(self, path: str) -> str:
        return self.versions[first_folder(path)]


class HashedStorage(StaticFilesStorage):
    """Gives templates the addresses of static files, with the version in them."""

    def url(self, name: str | None) -> str:
        if settings.DEBUG or not name:
            return super().url(name)
        if name not in catalogue().files:
            raise ValueError(f"There is no static file {name}.")
        return super().url(f"{catalogue().version_of(name)}/{name}")


def middleware(get_response):
    """Answer requests for static files, and pass on all others."""
    if not settings.DEBUG:
        catalogue()  # read everything before the first request

    def answer(request):
        if request.path_info.startswith(settings.STATIC_URL):
            path = request.path_info.removeprefix(settings.STATIC_URL)
            file, cache_control = find(path)
            if file is not None:
                return file.answer(request, cache_control)
        return get_response(request)

    return answer


def find(path: str) -> tuple[StaticFile | None, str]:
    """Return the file at an address below /static/, if there is one, and how long it is kept."""
    version, _, rest = path.partition("/")
    name = rest if _VERSION.fullmatch(version) else path
    if settings.DEBUG:  # somebody works on the files
        place = finders.find(name)
        return (static_file(name, _read(name, Path(place))) if place else None), ASK_FIRST
    file = catalogue().files.get(name)
    is_present = file is not None and version == catalogue().version_of(name)
    return file, FOREVER if is_present else ASK_FIRST


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return all static files, read at the first call."""
    contents = dict(sorted(_contents()))
    hashes: defaultdict[str, Any] = defaultdict(hashlib.sha256)
    for path, content in contents.items():
        hashes[first_folder(path)].update(f"{path}\0{len(content)}\0".encode() + content)
    return Catalogue(
        files={path: static_file(path, content) for path, content in contents.items()},
        versions={folder: each.hexdigest()[:12] for folder, each in hashes.items()},
    )


def first_folder(path: str) -> str:
    return path.partition("/")[0]


def static_file(path: str, content: bytes) -> StaticFile:
    """Tell what kind of file it is by its name."""
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    is_text = kind.startswith("text/") or kind in ("image/svg+xml", "application/json")
    return StaticFile(f"{kind}; charset=utf-8" if is_text else kind, content, is_text)


def _contents() -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file; the first of those with one path counts."""
    paths = set()
    for finder in finders.get_finders():
        for name, storage in finder.list(_UNUSED):
            prefix = getattr(storage, "prefix", None)
            path = f"{prefix}/{name}" if prefix else name
            if path not in paths:
                paths.add(path)
                yield path, _read(path, Path(storage.path(name)))


def _read(path: str, place: Path) -> bytes:
    """Return the content of a file as it is sent."""
    content = place.read_bytes()
    if path.startswith(OWN_MODULES) and path.endswith(".js"):
        content = _DOC_COMMENT.sub(b"", content)
    return HINT + content if path in COMPILED_AHEAD else content
