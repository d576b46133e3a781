"""Compress answers of text on their way out.

The size of a compressed page could tell a secret in it to somebody who has the page repeat his
own guesses (the attack BREACH). Django therefore adds up to 100 random bytes to each answer, and
a page's CSRF token is written differently each time.
"""

from django.http import HttpResponse
from django.middleware.gzip import GZipMiddleware

_TEXTS = ("application/json", "application/problem+json", "image/svg+xml", "text/")


def middleware(get_response):
    """Compress texts. Downloads of files go out as they are: most are compressed already."""
    gzip = GZipMiddleware(get_response)

    def answer(request):
        response = get_response(request)
        return gzip.process_response(request, response) if is_text(response) else response

    return answer


def is_text(response: HttpResponse) -> bool:
    return not response.streaming and response.get("Content-Type", "").startswith(_TEXTS)
