import gc
import logging
import logging.config
import os
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.util import Finalize

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import (
    celeryd_init,
    setup_logging,
    worker_before_create_process,
    worker_process_init,
    worker_process_shutdown,
)

from webapp.operating import processes

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

# Django's checks load all pages, which a worker never shows. They run before it, in ``migrate``.
os.environ.setdefault("CELERY_SKIP_CHECKS", "yes")

# The worker reads only JSON, so running it as root, as containers do, is not a risk by itself.
warnings.filterwarnings("ignore", category=SecurityWarning)

logger = logging.getLogger("tasks.spark")

app = Celery("cutline", include=["tasks.queue.jobs"])
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add("tasks.queue.beside:Beside")


@celeryd_init.connect
def require_own_files(**_) -> None:
    """Stop a worker that must not start, before it takes a job or sweeps.

    A child process checks. The library that reads object stores has threads that no fork copies,
    so a process that has sent a request cannot be forked; the children of this one run the jobs.
    """
    from snapshots.files import starting

    try:
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as child:
            child.submit(starting.require_all).result()
    except starting.CannotStart as problem:
        sys.exit(str(problem))
    except Exception as error:  # Celery only logs what a handler of a signal raises
        logger.exception("The worker ends, because its check failed.")
        sys.exit(f"The worker cannot check its database and files: {error}")


@celeryd_init.connect
def keep_temporary_files_together(**_) -> None:
    """Give the worker and its children a temporary folder that a sweep removes after a kill."""
    from tasks.spark.scratch import Scratch

    folder = Scratch()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder.path)
    # Multiprocessing removes its own folder, which lies in this one, at priority -100.
    Finalize(None, folder.remove, exitpriority=-101)


@celeryd_init.connect
def load_before_forks(**_) -> None:
    """Load what any process of a worker needs, so that all of them share its memory.

    The module is named by a text, since rooms that only send messages import this one.
    """
    import_module("tasks.queue.beside").begin()


@setup_logging.connect
def log_like_the_server(loglevel, **_) -> None:
    """Use LOG_FORMAT in workers too, instead of Celery's own format."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)
    logging.getLogger("celery").setLevel(loglevel)


@worker_before_create_process.connect
def share_memory(**_) -> None:
    """Keep what is loaded out of garbage collection, which would copy it into each child."""
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def end_with_the_worker(**_) -> None:
    """Let a child end with its worker; it would otherwise continue its job and its JVM."""
    processes.die_with_parent()


@worker_process_init.connect
def warm_spark(**_) -> None:
    """Start the session before the first job, so that no job has to wait for it.

    If that fails, the process continues and the next job tries again.
    """
    from tasks.queue import nursery
    from tasks.spark import condition, session

    nursery.begin()
    condition.publish(session.look)
    try:
        session.warm()
    except session.SparkUnavailable as error:
        logger.warning("Spark is not running; the next job will start it again. %s", error)


@worker_process_shutdown.connect
def end_spark(**_) -> None:
    """End the session and remove its note from Redis, in the seconds left to the process.

    A process of the pool runs no exit handlers.
    """
    from tasks.spark import condition, session

    condition.withdraw()
    session.drop()
