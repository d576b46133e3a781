"""Processes start fast: commands do not import the pages, and no start looks for garbage."""

import shutil
import subprocess
import sys

import pytest
from django.core.management import get_commands, load_command_class

from tests.stack import ROOT, clean_environment, migrated_database

OURS = [name for name, app in get_commands().items() if app.startswith(("snapshots", "webapp"))]
STATE = "import gc; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_command_does_not_check_the_pages(name):
    assert load_command_class(get_commands()[name], name).requires_system_checks == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["manage.py", "shell", "--no-imports", "-c", STATE],
        ["-c", f"import webapp.asgi; {STATE}"],
    ],
    ids=["a command", "the server"],
)
def test_modules_are_left_out_when_garbage_is_looked_for(tmp_path, command):
    shutil.copy(migrated_database(), tmp_path)
    environment = clean_environment() | {"DATA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("True True\n", "")
