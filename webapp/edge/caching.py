"""Set what browsers and proxies may store of an answer: by default nothing, as it is personal."""

PERSONAL = "private, no-store"


def middleware(get_response):
    """Mark every answer without a rule of its own, such as that of static files."""

    def answer(request):
        response = get_response(request)
        response.headers.setdefault("Cache-Control", PERSONAL)
        return response

    return answer
