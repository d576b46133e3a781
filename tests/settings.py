"""The settings of tests, which keep nothing and share nothing with the data of `make run`."""

import atexit
import os
import shutil
import tempfile

from tests import postgres

_folder = tempfile.mkdtemp(prefix="cutline-test-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
for _name in ("DATABASE_URL", "STORE_URL", "PUBLIC_URL", "ALLOWED_HOSTS", "PORT", "HOST"):
    os.environ.pop(_name, None)
os.environ["DATA_DIR"] = _folder
if postgres.IS_CHOSEN:
    os.environ["DATABASE_URL"] = postgres.server().url_of("tests")

from webapp.settings import *  # noqa: E402, F403

os.environ.pop("DATABASE_URL", None)  # commands that tests start have databases of their own
if not postgres.IS_CHOSEN:
    # A file, as in use: the locks of SQLite's shared memory are others, and do not wait.
    DATABASES["default"]["TEST"] = {"NAME": f"{_folder}/test.sqlite3"}  # noqa: F405
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"  # noqa: F405
# A queue in this process: what needs a real one starts the stack.
CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT_OPTIONS = {}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
