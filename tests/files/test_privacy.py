"""Only the user that runs Cutline can read its files."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import privacy
from tests.conftest import skip_or_fail
from tests.stack import ROOT, Stack, clean_environment, migrated_database
from tests.web.given import native
from tests.webapp.over_http import Api

NOBODY = 65534

READ_EVERYTHING = """
import os, sys
for path in sys.stdin.read().split("\\0"):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
    except OSError:
        continue
    print(path)
"""


def open_to_others(root: Path) -> list[str]:
    """Return the paths with any right for group or others; links have no rights of their own."""
    modes = [(path, mode_of(path)) for path in (root, *root.rglob("*"))]
    return [
        f"{path} {stat.filemode(mode)}"
        for path, mode in modes
        if mode & 0o077 and not stat.S_ISLNK(mode)
    ]


def mode_of(path: Path) -> int:
    """Return the mode of a path, or 0 if it is gone: processes that run replace their files."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0


def read_by_another_user(root: Path) -> list[str]:
    """Return the paths under ``root`` that the user nobody can read when it knows their names."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        skip_or_fail("Trying as another user takes root and setpriv.")
    paths = "\0".join(map(str, (root, *root.rglob("*"))))
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    ran = subprocess.run(
        [*as_nobody, "/usr/bin/env", "python3", "-c", READ_EVERYTHING],
        input=paths,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.fixture
def public_folder():
    """Return a folder that everyone may enter, like /var/lib."""
    folder = Path(tempfile.mkdtemp(prefix="cutline-public-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def ran(data_dir: Path, *command: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=clean_environment() | {"DATA_DIR": str(data_dir)} | variables,
        capture_output=True,
        text=True,
        umask=0o022,
    )


@pytest.mark.slow
def test_another_user_reads_nothing_of_a_new_installation(public_folder):
    data_dir = public_folder / "var"
    assert ran(data_dir, "manage.py", "migrate", "--verbosity", "0").returncode == 0
    assert ran(data_dir, "manage.py", "load_samples").returncode == 0
    assert any((data_dir / "uploads").iterdir())
    assert open_to_others(data_dir) == []
    assert read_by_another_user(data_dir) == []


@pytest.mark.slow
def test_an_installation_that_was_open_to_others_is_closed_at_the_start(public_folder):
    data_dir, store = public_folder / "var", public_folder / "store"
    elsewhere = {"STORE_URL": store.as_uri()}
    (data_dir / "uploads").mkdir(parents=True)
    shutil.copy(migrated_database(), data_dir)
    for path in (data_dir, *data_dir.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (store / "j1-1").mkdir(parents=True)
    (store / "j1-1" / "events").write_text("x")
    for path in (store, *store.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert read_by_another_user(data_dir), "the test could not fail"
    paired = ran(data_dir, "manage.py", "pair_data", "--yes", **elsewhere)
    assert paired.returncode == 0, paired.stderr
    listed = ran(data_dir, "manage.py", "set_aside", **elsewhere)
    assert listed.returncode == 0, listed.stderr
    for root in (data_dir, store):
        assert open_to_others(root) == []
        assert read_by_another_user(root) == []


def test_files_of_another_user_are_explained_in_one_sentence(public_folder, monkeypatch):
    (public_folder / "theirs").touch()
    (public_folder / "theirs").chmod(0o644)

    def forbidden(self, mode):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", forbidden)
    with pytest.raises(privacy.NotPrivate, match=r"it belongs to \w+, and Cutline runs as"):
        privacy.mend(public_folder)


@pytest.mark.slow
def test_another_users_open_folder_is_refused_by_a_process(public_folder):
    """The user nobody cannot close a folder of root, so nothing runs."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        skip_or_fail("Trying as another user takes root and setpriv.")
    code = f"exec(open(0).read()); mend(Path({str(public_folder)!r}))"
    answer = subprocess.run(
        [*["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]]
        + ["/usr/bin/env", "python3", "-c", code],
        input=Path(privacy.__file__).read_text(),
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
    )
    assert "it belongs to root, and Cutline runs as nobody" in answer.stderr, answer.stderr


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.touch(mode=0o644)
    outside.chmod(0o644)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "link").symlink_to(outside)
    privacy.mend(tmp_path / "kept")
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


@pytest.fixture
def open_stack(public_folder):
    """Start a whole stack with the umask that most machines have."""
    before = os.umask(0o022)
    try:
        stack = Stack(public_folder / "var")
        stack.folder.mkdir()
        stack.start_redis()
        stack.start_server()
        stack.start_worker()
        yield stack
        stack.stop()
    finally:
        os.umask(before)


def check_a_real_ingest(stack: Stack) -> None:
    """Ingest a log, and check that only logs of the test are open to others.

    Parts of the store are written by Spark's Python workers, whose parent is the JVM.
    """
    assert Api(stack).ingested(native(two_banks()))
    assert list((stack.folder / "store").glob("j*/events/*"))
    assert list((stack.folder / "redis").rglob("*.aof*"))
    logs = {str(stack.log(name)) for name in ("redis", "server", "worker")}
    assert [line for line in open_to_others(stack.folder) if line.split()[0] not in logs] == []


@pytest.mark.spark
@pytest.mark.slow
def test_a_real_ingest_writes_nothing_that_is_open_to_others(stack):
    check_a_real_ingest(stack)


@pytest.mark.long
@pytest.mark.spark
def test_another_user_reads_nothing_that_a_real_ingest_wrote(open_stack):
    check_a_real_ingest(open_stack)
    assert read_by_another_user(open_stack.folder) == []
