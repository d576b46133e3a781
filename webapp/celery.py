import os
import warnings

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

# The worker reads JSON alone, so running it as root, as containers do, opens nothing by itself.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("cutline", include=["tasks.recordings", "tasks.collectors"])
app.config_from_object("django.conf:settings", namespace="CELERY")


@worker_process_init.connect
def warm_spark(**_) -> None:
    """Start the session before the first job, so that no job pays for it."""
    from tasks.spark import session

    session.warm()
