"""Take off what stands around JSON that was pasted: headers, prompts, fences, another encoding.

``curl -i`` prints the headers first, a notebook or a shell its prompt, a chat puts a fence around
the text, and PowerShell writes UTF-16. What is taken off leaves its line ends, so that the numbers
of lines stay as they are.
"""

import codecs
import re

_WIDE = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_HTTP = re.compile(rb"\s*HTTP/\d(?:\.\d)? \d{3}[^\n]{0,200}\n(?:[A-Za-z-]{1,60}:[^\n]{0,4000}\n)*")
_PROMPT = re.compile(
    rb"[ \t]*(?:>>>|\.\.\.|In ?\[\d*\]:|scala>|spark-sql>|pyspark>"
    rb"|(?:\$|[\w.@~:/-]{1,100}[$#]) )[^\n]*"
)
_OUTPUT = re.compile(rb"[ \t]*(?:Out ?\[\d*\]:|res\d+:[^={]{0,200}=)[ \t]*(?=$|[\[{(])")
_FENCE = re.compile(rb"[ \t]*(?:```|~~~)[\w-]{0,20}[ \t]*\r?")
_MOST_AROUND = 50  # lines before or behind that are looked at
_LINE = 2**12  # bytes


def bare(data: bytes) -> bytes:
    """Return pasted JSON without what stands around it, as UTF-8; any other bytes as they are."""
    data = _as_utf8(data)
    if header := _HTTP.match(data):
        data = _blank(header[0]) + data[header.end() :]
    if data[:_LINE].lstrip()[:1] in (b"{", b"["):
        return _without_end(data)
    lines = data.split(b"\n", _MOST_AROUND)
    for place, line in enumerate(lines[:_MOST_AROUND]):
        if _FENCE.fullmatch(line) or _PROMPT.fullmatch(line):
            lines[place] = b""
        elif output := _OUTPUT.match(line):
            lines[place] = line[output.end() :]
            if lines[place].strip():
                break
        elif line.strip():
            break
    return _without_end(b"\n".join(lines))


def _as_utf8(data: bytes) -> bytes:
    for mark, encoding in _WIDE.items():
        if data.startswith(mark):
            whole = data[: len(data) - len(data) % 2]
            return whole.decode(encoding, "replace").encode()
    return data


def _blank(data: bytes) -> bytes:
    return b"\n" * data.count(b"\n")


def _without_end(data: bytes) -> bytes:
    """Take off the fence and the prompts behind the last line."""
    for _ in range(_MOST_AROUND):
        begin = data.rstrip().rfind(b"\n") + 1
        line = data[begin : begin + _LINE].rstrip()
        if not begin or not (_FENCE.fullmatch(line) or _PROMPT.fullmatch(line + b" ")):
            break
        data = data[:begin]
    return data
