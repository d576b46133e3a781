from django.http import JsonResponse

from webapp.operating import checks


def healthz(request):
    """Answer 503 until database and Redis both answer; the launcher and load balancers poll it."""
    problems = {"database": checks.database(), "redis": checks.redis()}
    ok = not any(problems.values())
    words = {part: "unreachable" if problem else "ok" for part, problem in problems.items()}
    return JsonResponse({"status": "ok" if ok else "failed", **words}, status=200 if ok else 503)
