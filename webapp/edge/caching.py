"""What browsers and proxies may keep of an answer: by default nothing, since it is personal."""

PERSONAL = "private, no-store"


def middleware(get_response):
    """Mark every answer that says nothing else, as static files do."""

    def answer(request):
        response = get_response(request)
        response.headers.setdefault("Cache-Control", PERSONAL)
        return response

    return answer
