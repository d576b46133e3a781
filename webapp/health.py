from django.conf import settings
from django.db import DatabaseError, connection
from django.http import JsonResponse
from redis import Redis, RedisError


def healthz(request):
    """503 until database and Redis both answer; the launcher and load balancers ask it."""
    health = {"database": database_answers(), "redis": redis_answers()}
    ok = all(health.values())
    words = {part: "ok" if well else "unreachable" for part, well in health.items()}
    return JsonResponse({"status": "ok" if ok else "failed", **words}, status=200 if ok else 503)


def database_answers() -> bool:
    try:
        connection.ensure_connection()
        return connection.is_usable()
    except DatabaseError:
        return False


def redis_answers() -> bool:
    try:
        with Redis.from_url(settings.REDIS_URL, socket_timeout=2) as redis:
            return redis.ping()
    except RedisError:
        return False
