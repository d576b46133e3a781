"""Say why an object store did not do what it was asked to.

The library tells it in a text that may hold an address, a header or a part of the answer. So only
the status and the code of S3 are taken out of it, and none of its words is repeated.
"""

import re

NO_BUCKET = "NoSuchBucket"
NO_KEY = "NoSuchKey"
NO_SUCH_BUCKET = "There is no such bucket. Was it created?"
NO_STORE = (
    "What answers there is no store of S3, but probably a web page. Does a proxy or a sign-in page "
    "of the network stand between, and does AWS_ENDPOINT_URL name the store?"
)
_MIXED = "Does a proxy between Cutline and the store mix up answers or change them?"
OTHER_OBJECT = f"It answered with another object than the one that was asked for. {_MIXED}"
OTHER_BYTES = f"It answered with other bytes than were written. {_MIXED}"
OTHER_LIST = f"It answered with another list than the one that was asked for. {_MIXED}"
NOT_KEPT = f"It answered that it took the object, and does not have it as it was sent. {_MIXED}"
NOT_REMOVED = f"It answered that it removed the object, and still has it. {_MIXED}"
BROKE_OFF = "Its answer broke off. Is the network steady, or was it restarted?"
NO_ANSWER = f"What it answered is not whole, or is no answer of S3 to this. {_MIXED}"
PASSING = (NO_STORE, BROKE_OFF, NO_ANSWER)
"""Causes of which a second request may be free."""
_ROLES = "169.254.169.254"  # where a machine of a cloud asks for the credentials of its role
_STATUS = re.compile(r"status code: ([0-9]{3})")
_CODE = re.compile(r"<Code>([A-Za-z]{1,40})</Code>")
_PAGE = re.compile(r"<(!doctype\s+)?html\b", re.IGNORECASE)

_WRONG_KEY = "It does not know these credentials. Do AWS_ACCESS_KEY_ID and its secret fit?"
_EXPIRED = (
    "The credentials have expired. Renew AWS_ACCESS_KEY_ID, its secret and AWS_SESSION_TOKEN, and "
    "start Cutline again."
)
_NO_RIGHT = (
    "It refuses the request. Do AWS_ACCESS_KEY_ID and its secret fit, and may this key list the "
    "bucket, and read, write and delete its objects?"
)
_OF_CODE = {
    NO_BUCKET: NO_SUCH_BUCKET,
    "AccessDenied": _NO_RIGHT,
    "InvalidAccessKeyId": _WRONG_KEY,
    "SignatureDoesNotMatch": _WRONG_KEY,
    "InvalidToken": _WRONG_KEY,
    "ExpiredToken": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "RequestTimeTooSkewed": (
        "Its clock and the clock of this machine differ by minutes. Which of them is wrong?"
    ),
}
_OF_STATUS = {
    401: _NO_RIGHT,
    403: _NO_RIGHT,
    404: NO_SUCH_BUCKET,
    429: "It gets more requests than it takes (429). Is it too small for its work?",
    503: "It is overloaded or being restarted (503). Is it too small for its work?",
    507: "It has no room (507). Are its disks full?",
}
_OF_WORDS = (
    (_ROLES, "There are no credentials. Are AWS_ACCESS_KEY_ID and its secret set?"),
    ("Received redirect", "The bucket is in another region. Does AWS_REGION name its region?"),
    ("non-partial", NO_STORE),
    ("Got invalid", NO_ANSWER),
    ("IncompleteBody", BROKE_OFF),
    ("kind: Interrupted", BROKE_OFF),
    ("kind: Connect", "It does not answer. Does it run, and does AWS_ENDPOINT_URL name it?"),
    ("kind: Timeout", "It does not answer in time. Is it overloaded, or the network slow?"),
)


def code_of(text: str) -> str:
    """Return the code that S3 has given; empty if there is none in the text of an error."""
    found = _CODE.search(text)
    return found[1] if found else ""


def is_beyond_end(text: str) -> bool:
    """Tell whether a range was asked for that begins beyond the end of its object."""
    status = _STATUS.search(text)
    return status is not None and status[1] == "416"


def is_page(text: str) -> bool:
    """Tell whether a web page has answered, by the text of the library's error."""
    return _PAGE.search(text) is not None


def is_type_of_page(content_type: str) -> bool:
    """Tell whether a ``Content-Type`` is that of a web page."""
    return content_type.partition(";")[0].strip().lower() in ("text/html", "application/xhtml+xml")


def other_length(found: int, size: int) -> str:
    """Return the cause where an answer has not the bytes that it should have."""
    return f"It answered with {found:,} bytes in place of {size:,}. {_MIXED}"


def cause_of(text: str) -> str:
    """Return the likely cause in sentences, by the text of the library's error."""
    status, code = _STATUS.search(text), code_of(text)
    if code in _OF_CODE:
        return _OF_CODE[code]
    if status is not None:
        if status[1] == "404" and is_page(text):
            return NO_STORE
        return _of_status(int(status[1]), code)
    for words, sentence in _OF_WORDS:
        if words in text:
            return sentence
    return "It gave no answer that could be understood. Does AWS_ENDPOINT_URL name a store of S3?"


def _of_status(status: int, code: str) -> str:
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    named = f"{status} {code}".strip()
    if status >= 500:
        return f"It failed by itself ({named}). What does its own log say?"
    return f"It refuses the request ({named}). Do AWS_ENDPOINT_URL and AWS_REGION fit?"
