from webapp.celery import app as celery_app
from webapp.version import VERSION

__all__ = ["VERSION", "celery_app"]
