"""The main process of a worker."""

import subprocess
import sys

from tests.stack import ROOT, clean_environment

STARTED_AND_ENDED = """
from multiprocessing.util import get_temp_dir
from celery.signals import worker_shutdown
from webapp import celery

celery.keep_temporary_files_together()
get_temp_dir()
worker_shutdown.send(None)
"""


def test_a_worker_ends_without_a_traceback_and_leaves_no_temporary_files(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", STARTED_AND_ENDED],
        cwd=ROOT,
        env=clean_environment() | {"DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list((tmp_path / "tmp" / "spark").iterdir()) == []
