"""The settings of the processes whose disk fails: those in use, without a queue."""

from webapp.settings import *  # noqa: F403

CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT_OPTIONS = {}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
ALLOWED_HOSTS = ["testserver"]
