from django.conf import settings
from django.db import models
from django.utils import timezone


class SignInLink(models.Model):
    """Opens one session, once, for an hour. Only the token's hash is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class ApiToken(models.Model):
    """A bearer token for the API. Its first characters tell tokens apart in the list."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
