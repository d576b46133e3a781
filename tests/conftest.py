"""Fixtures of all tests. The heavy ones start once a session, when a test first needs them."""

import contextlib
import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import redis
from django import conf
from django.core.management.commands import flush
from xdist.scheduler import LoadScopeScheduling

from tests import databases, leftovers, postgres
from tests.objects import server as object_server
from tests.stack import ROOT, SHARED_TABLES, Stack, migrated_database
from webapp import embedded_redis, machine

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Tests that need a whole stack, or Spark, run in the process that has it. Three processes share
# the work.
STACKS = {
    "every page": (
        *("tests/browser/test_every_page.py", "tests/browser/test_pages.py"),
        "tests/browser/test_keyboard.py",
        *("tests/jobs/test_crashes.py", "tests/web/api/test_cos418", "tests/files/test_privacy.py"),
        *("tests/webapp/test_health.py", "tests/webapp/test_logs.py"),
    ),
    "browser": ("tests/browser/",),
    "spark": (
        *("tests/spark/", "tests/test_bench.py", "tests/archive/test_uploads.py"),
        *("tests/objects/test_spark.py", "tests/objects/test_installation.py"),
        *("tests/objects/test_cluster.py", "tests/objects/test_worker.py"),
        *("tests/files/test_check_data.py", "tests/jobs/test_databases", "tests/jobs/test_jobs"),
        *("tests/services/test_mappings.py", "tests/services/test_uploads_together.py"),
        "tests/services/test_places.py",
        *("tests/web/api/test_every_case", "tests/web/api/test_engine_uploads"),
        *("tests/web/api/test_checkpoints", "tests/web/api/test_inventory"),
        "tests/web/api/test_open_recording_faults.py",
        *("tests/web/api/test_predicates", "tests/web/api/test_recognised"),
        *("tests/web/api/test_stopped", "tests/web/pages/test_first_answer"),
        *("tests/web/pages/test_inventory_bytes", "tests/web/pages/test_restore_check"),
        "tests/web/pages/test_upgrade.py",
    ),
}

ALONE = ("tests/webapp/test_upgrades.py",)
"""Modules whose tests take long and share nothing: each is a scope, so that processes share them.
One after another at the end of a run, they kept one core waiting for six minutes."""

# A Spark session hands its environment to its workers, so it is set before any starts.
os.environ.update(object_server.ENVIRONMENT)

NEXT = pytest.StashKey[pytest.Item | None]()
BROWSER = pytest.StashKey()
RUNNING = pytest.StashKey[contextlib.ExitStack]()

MARKED_BY_FIXTURE = {
    "spark": "spark",
    "celery_worker_process": "spark",
    "browser": "browser",
    "live_redis": "slow",
}

if java := machine.find_java():
    os.environ.setdefault("JAVA_HOME", str(java))


def pytest_addoption(parser) -> None:
    parser.addoption(
        "--half", action="store_true", help="run a quick test with rows on one database only"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests that use a heavy fixture, and let those that take longest begin."""
    for item in items:
        for fixture, marker in MARKED_BY_FIXTURE.items():
            if fixture in item.fixturenames:
                item.add_marker(marker)
    databases.skip_elsewhere(items)
    if config.getoption("half"):
        databases.keep_half(config, items)
    yield
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(test_id: str) -> int:
    """Return when a test begins: first those of the stacks, then those that are long alone."""
    return 0 if scope_of(test_id) in STACKS else 1 if test_id.startswith(ALONE) else 2


def pytest_ignore_collect(collection_path, config) -> bool | None:
    """Leave out files whose tests would all be deselected."""
    if not (config.getoption("half") and postgres.IS_CHOSEN and collection_path.is_file()):
        return None
    return databases.is_left_out(collection_path.relative_to(ROOT).as_posix()) or None


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of each look for garbage, which takes a tenth of the
    time otherwise."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


def pytest_configure(config) -> None:
    """Choose the folder of an empty database in the first process, before it starts others."""
    leftovers.watch()
    if not hasattr(config, "workerinput"):
        os.environ[SHARED_TABLES] = tempfile.mkdtemp(prefix="cutline-tables-")


def pytest_unconfigure(config) -> None:
    """Let libraries that count their objects at the end of the process find them freed."""
    gc.unfreeze()
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(SHARED_TABLES), ignore_errors=True)


def scope_of(test_id: str) -> str:
    """Return the scope of a test. The tests of a scope run in one process, one after another."""
    if test_id.startswith(ALONE):
        return test_id
    path = test_id.split("::", maxsplit=1)[0]
    stacks = (name for name, paths in STACKS.items() if path.startswith(paths))
    return next(stacks, path)


class InTheirScope(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def pytest_xdist_make_scheduler(config, log):
    return InTheirScope(config, log)


def skip_or_fail(reason: str) -> None:
    """Skip a test that needs something that is missing on this machine. In CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Tell pytest-django that a database in a file is there, with all tables."""
    return not postgres.IS_CHOSEN


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix):
    """Start the server of the database, or copy the file, for pytest-django needs it next."""
    if postgres.IS_CHOSEN:
        postgres.server().start()
    else:
        shutil.copy(migrated_database(), conf.settings.DATABASES["default"]["TEST"]["NAME"])


@pytest.fixture(scope="session", autouse=True)
def emptied_tables_stay_empty():
    """Keep Django from making permissions again after each test with real transactions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush, "emit_post_migrate_signal", lambda *args, **options: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def tests_do_not_wait_for_the_disk():
    """Leave out waiting for the disk, for no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real inputs with their expected answers, beside the repository."""
    folder = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        skip_or_fail(f"The shared data are not at {folder}: set SHARED_DATA to where they are.")
    return folder


@pytest.fixture
def data_dir(tmp_path, settings, request) -> Path:
    """Return a DATA_DIR for one test, with its store and uploads, paired with the test's
    database."""
    settings.DATA_DIR = tmp_path
    settings.UPLOADS_DIR = settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "uploads"
    settings.UPLOADS_DIR.mkdir()
    settings.STORE_URL = (tmp_path / "store").as_uri()
    if request.node.get_closest_marker("django_db"):
        from snapshots.files import identity

        identity.require_pair()
    return tmp_path


@pytest.fixture
def ada():
    """Return a user with an account."""
    from tests.web.given import a_person

    return a_person()


@pytest.fixture
def api(ada):
    """Return a client of the API with a token of ``ada``."""
    from tests.web.given import a_client

    return a_client(ada)


@pytest.fixture(scope="session")
def object_store():
    """Return an object store that runs as a process, at the address that the environment names."""
    with object_server.ObjectServer() as server:
        yield server


@pytest.fixture
def bucket(object_store):
    """Return the URL of a new bucket."""
    return f"s3://{object_store.bucket()}"


@pytest.fixture(scope="session")
def spark():
    from tasks.spark import session

    return session.get()


@pytest.fixture(scope="session")
def bare_redis():
    """Return the address of a Redis that runs beside the tests, alone."""
    with tempfile.TemporaryDirectory(prefix="cutline-redis-", ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder))
        stack.redis = embedded_redis.prepare(stack.folder / "redis")
        stack.run_redis()
        yield stack.redis.url
        stack.stop()


@pytest.fixture
def rooms(bare_redis, settings):
    """Let people share what they see, over a Redis that is empty at first."""
    settings.REDIS_URL = bare_redis
    with redis.Redis.from_url(bare_redis) as client:
        client.flushall()


@pytest.fixture(scope="session")
def live_redis():
    """Provide a stack of which only Redis runs. Its database is migrated."""
    with tempfile.TemporaryDirectory(prefix="cutline-stack-", ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder))
        stack.start_redis()
        yield stack
        stack.stop()


@pytest.fixture(scope="session")
def server(live_redis) -> Stack:
    """Return the stack with its server but without a worker, so that jobs stay queued."""
    live_redis.start_server()
    return live_redis


@pytest.fixture(scope="session")
def celery_worker_process(live_redis) -> Stack:
    """Return the stack with a worker whose Spark is warm."""
    live_redis.start_worker()
    return live_redis


@pytest.fixture(scope="session")
def stack(server, celery_worker_process) -> Stack:
    """Return the stack with server and worker."""
    return server


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem) -> None:
    item.config.stash[NEXT] = nextitem


@pytest.fixture(scope="module")
def browser(request):
    """Provide a browser until the end of a module, or of several modules that need one.

    While it runs, Playwright keeps an event loop in this thread, which asynchronous tests and
    Django could not use.
    """
    stash = request.config.stash
    if RUNNING not in stash:
        stash[RUNNING] = contextlib.ExitStack()
        stash[BROWSER] = stash[RUNNING].enter_context(started_browser())
    yield stash[BROWSER]
    if "browser" not in getattr(stash[NEXT], "fixturenames", ()):
        stash[RUNNING].close()
        del stash[RUNNING]


@contextlib.contextmanager
def started_browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = machine.find_chromium() or Path(playwright.chromium.executable_path)
        if not chromium.exists():
            skip_or_fail("Chromium is missing: make test gets it or says how.")
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def signed_in_state(server):
    """Return the cookies of a user who has followed a sign-in link, as Playwright takes them."""
    from tests.webapp.over_http import sign_in

    jar = sign_in(server)
    cookies = [
        {"name": one.name, "value": one.value, "domain": one.domain, "path": one.path}
        for one in jar
    ]
    return {"cookies": cookies, "origins": []}


@pytest.fixture(scope="module")
def signed_in(browser, server, signed_in_state):
    """Provide a signed-in browser at 1280 x 800 that keeps the scripts it has read."""
    context = browser.new_context(
        base_url=server.url,
        storage_state=signed_in_state,
        viewport={"width": 1280, "height": 800},
    )
    yield context
    context.close()


@pytest.fixture
def page(signed_in):
    """Provide a signed-in page at 1280 x 800. Any error in its console fails the test."""
    page = signed_in.new_page()
    errors = watch_for_errors(page)
    yield page
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    for one in signed_in.pages:
        one.close()
    assert not errors, f"the page complained: {errors}"


# The browser's own line does not say which element or script it was.
TELL_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) => {
  const { effectiveDirective, blockedURI, sourceFile, lineNumber, target } = event;
  const element = target?.outerHTML?.slice(0, 200);
  console.error(`${effectiveDirective} stops ${blockedURI} on ${location.pathname}: ${element}`);
  if (sourceFile) console.error(`by line ${lineNumber} of ${sourceFile}`);
})"""


# htmx writes two lines about a request that a newer one replaced. A failure has a line of its own.
EXPECTED = ("Failed to load resource", "htmx:sendAbort,", "htmx:afterRequest,")


def watch_for_errors(page) -> list[str]:
    """Collect uncaught errors and what the content policy stops, but not refused requests."""
    errors = []
    page.add_init_script(TELL_VIOLATIONS)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda line: (
            errors.append(line.text)
            if line.type == "error" and not any(text in line.text for text in EXPECTED)
            else None
        ),
    )
    return errors
