"""A process that takes hostile uploads the way a person's go, and says what became of each.

    python -m tests.hostile.running FORMAT[,FORMAT ...] FIRST COUNT [--whole N] [--spark]

A line of JSON for each case goes to standard output: first its number, then what became of it. The
request is the real one, always. Of every N-th case the worker's ``runs.run`` is, too; of the others
the worker's reading: unpacking, the engine's reader, contents, the derived log, and all events.
Without --spark kernels run in this process, which has little memory, and the state of Spark's
checkpoints is read by the files' decoder.
"""

import argparse
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_MEMORY = 3 * 2**30  # bytes of address space; what is resident is measured
REQUEST_SECONDS, JOB_SECONDS = 10, 60  # the machine may be busy
WARMING = 10**9  # a case that nobody looks at: the first one loads what all need
REQUEST_BYTES, JOB_BYTES = 128 * 2**20, 2**30  # more than was resident before
_NO_SENTENCE = re.compile(
    r"Traceback|File \"|\b[A-Z][A-Za-z]*(?:Error|Exception)\b|\b0x[0-9a-f]{6,}|<class |\bNoneType\b"
    r"|[Ee]rrno|site-packages|\borg\.apache\.|\bjava\.(?:lang|util|io)\.|object at "
)


class Watch:
    """Says which paths this process writes to outside the folders that it may."""

    def __init__(self, allowed: list[Path]) -> None:
        self.allowed = (*map(str, allowed), "/dev/null", "/proc/self/", "/dev/shm/")
        self.outside: list[str] = []
        self.writes: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple) -> None:
        if event == "open":
            path, _mode, flags = arguments
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if writes and isinstance(path, str | bytes):
                self._note(path)
        elif event in ("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"):
            self._note(arguments[0])
        elif event in ("os.rename", "os.link", "os.symlink"):
            self._note(arguments[1])
        elif event in ("os.system", "os.exec", "subprocess.Popen"):
            self.outside.append(f"{event} {arguments[0]!r}")

    def _note(self, path) -> None:
        if isinstance(path, int):
            return
        whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if not whole.startswith(self.allowed) and "__pycache__" not in whole:
            self.outside.append(whole)


class Taker:
    """Takes cases one by one."""

    def __init__(self, folder: Path, format: str, whole: int = 1) -> None:
        from django.contrib.auth.models import User
        from django.test import Client

        from snapshots.models import Mapping
        from tests.readers.logs.test_mapped_lines import MAPPING
        from webapp.accounts.services import make_token

        self.folder, self.formats, self.whole = folder, format.split(","), whole
        user = User.objects.create(username="ada", email="ada@example.org")
        _, token = make_token(user, "test")
        self.api = Client(
            headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False
        )
        self.mapping = Mapping.objects.create(owner=user, name="m", document=MAPPING)
        self.watch = Watch([folder])
        self.still = self._files()

    def take(self, number: int) -> dict:
        """What became of a case, and in ``wrong`` what must not have. Formats take turns."""
        from tests.hostile.faults import case

        turn, place = divmod(number, len(self.formats))
        case = case(self.formats[place], turn)
        told = {"number": number, "kind": case.kind, "bytes": len(case.data), "wrong": []}
        wrong = told["wrong"]
        before = _forget_peak()
        began = time.monotonic()
        answer = self._post(case)
        told["request"] = round(time.monotonic() - began, 3)
        told["status"] = answer.status_code
        told["request_peak"] = _peak() - before
        if told["request_peak"] > REQUEST_BYTES:
            wrong.append(f"the request took {told['request_peak'] >> 20} MiB")
        if told["request"] > REQUEST_SECONDS:
            wrong.append(f"the request took {told['request']} s")
        if answer.status_code != 202:
            told["outcome"] = "refused at once"
            told["sentence"] = _sentence_of(answer)
            if not 400 <= answer.status_code < 500:
                wrong.append(f"answered {answer.status_code}: {answer.content[:300]!r}")
        else:
            self._work(answer.json(), told, number)
        if told.get("sentence") is not None:
            wrong += faults_of_sentence(told["sentence"], self.folder)
        elif told["outcome"] != "done" and not wrong:
            wrong.append("no sentence says why")
        self._left(wrong)
        return told

    def _post(self, case):
        from django.core.files.uploadedfile import SimpleUploadedFile

        from tests.hostile.seeds import MAPPED

        form = f"mapping:{self.mapping.pk}" if case.format == MAPPED else case.format
        file = SimpleUploadedFile("x", case.data)
        file._name = case.name.encode("utf-8", "replace").decode() or "x"
        return self.api.post("/api/recordings", {"file": file, "format": form})

    def _work(self, accepted: dict, told: dict, number: int) -> None:
        from snapshots.models import Recording
        from snapshots.services.recordings import delete_recording

        recording = Recording.objects.get(pk=accepted["id"])
        before = _forget_peak()
        began = time.monotonic()
        if number % self.whole:
            self._read(recording, told)
        else:
            self._run(accepted["job"], recording, told)
        told["job"] = round(time.monotonic() - began, 3)
        told["job_peak"] = _peak() - before
        if told["job_peak"] > JOB_BYTES:
            told["wrong"].append(f"the job took {told['job_peak'] >> 20} MiB")
        if told["job"] > JOB_SECONDS:
            told["wrong"].append(f"the job took {told['job']} s")
        if told["outcome"] == "done" and not number % (10 * self.whole):
            self._look(recording, told["wrong"])
        delete_recording(recording)

    def _run(self, job_id: int, recording, told: dict) -> None:
        """All that a worker does."""
        from snapshots.jobs import running
        from snapshots.models import Job

        running.run(job_id)
        job = Job.objects.get(pk=job_id)
        recording.refresh_from_db()
        told["outcome"], told["format"] = job.state, recording.format[:20]
        expected = {"done": "ready", "refused": "refused"}
        if expected.get(job.state) != recording.status:
            told["wrong"].append(f"the job is {job.state}, the recording {recording.status}")
        if job.state != "done":
            told["sentence"] = (job.error or {}).get("detail")
            if recording.upload or (recording.error or {}).get("detail") != told["sentence"]:
                told["wrong"].append("the recording does not say what the job says")

    def _read(self, recording, told: dict) -> None:
        """What a worker reads and writes before and after the ingest, and all events."""
        from snapshots.archive.uploads import reported_by
        from snapshots.domain.model.defects import Defects, InputRefused
        from snapshots.files import recordings
        from snapshots.jobs import opening
        from snapshots.limits import recording_limits
        from snapshots.readers.recognition import sniff
        from snapshots.store.inventory.writing import write_inventory

        limits, defects, name = recording_limits(), Defects(), f"j{recording.pk}-1"
        temporary = recordings.store().temporary(name)
        try:
            with opening.opened(recording, name, lambda *_: None) as source:
                reader = sniff(source.path, limits, source.format).reader
                header = reader.header(source.path, limits)
                for _ in reader.batches(source.path, header, limits, defects):
                    pass
                defects.raise_refused()
                if source.upload is not None:
                    write_inventory(temporary, source.upload)
                reported_by(source.upload)
            told["outcome"] = "done"
        except InputRefused as refused:
            told["outcome"], told["sentence"] = "refused", str(refused.defects[0])
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(at.filename).name}:{at.lineno}"
            told["outcome"], told["sentence"] = "failed", None
            told["wrong"].append(f"{type(error).__name__} at {place}: {str(error)[:200]}")
        finally:
            recordings.drop_unfinished(name)

    def _look(self, recording, wrong: list[str]) -> None:
        """What a person opens next never fails."""
        base = f"/api/recordings/{recording.pk}"
        for path in ("", "/snapshots", "/defects", "/window", "/contents", "/contents/0",
                     "/contents/files", "/topology"):  # fmt: skip
            answer = self.api.get(base + path)
            if answer.status_code >= 500:
                wrong.append(f"GET {path}: {answer.status_code} {answer.content[:200]!r}")

    def _left(self, wrong: list[str]) -> None:
        wrong += [f"wrote {path}" for path in self.watch.outside]
        self.watch.outside.clear()
        left = self._files() - self.still
        wrong += [f"left {path}" for path in sorted(left)[:5]]
        self.still |= left

    def _files(self) -> set[str]:
        own = (
            f"{self.folder}/data/cutline",
            f"{self.folder}/data/test",
            f"{self.folder}/data/tmp/spark",
        )
        found = (str(path) for path in self.folder.rglob("*"))
        return {path for path in found if not path.startswith(own)}


def _sentence_of(answer) -> str | None:
    try:
        return answer.json()["detail"]
    except (ValueError, KeyError):
        return None


def faults_of_sentence(sentence: str, folder: Path) -> list[str]:
    found = []
    for place in (str(folder), str(ROOT), str(Path.home()) + "/", "/usr/lib"):
        if place in sentence:
            found.append(f"names a place of the server: {sentence[:300]}")
    if match := _NO_SENTENCE.search(sentence):
        found.append(f"is no plain sentence ({match[0]}): {sentence[:300]}")
    if not sentence.rstrip("”\"')").endswith((".", "?", "!", "…")):
        found.append(f"does not end as a sentence: {sentence[-200:]}")
    return found


def _forget_peak() -> int:
    """Bytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Bytes that were resident at most since ``_forget_peak``."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def without_spark() -> None:
    """Kernels run here, and the state of a Spark checkpoint is read from its files."""
    from tasks.spark import session
    from tasks.spark.checkpoints import job as checkpoints
    from tasks.spark.engine_state import reading
    from tasks.spark.ingest import job as ingest
    from tasks.spark.judge import job as snapshots
    from tasks.spark.stages import StagesHere

    for module in (checkpoints, ingest, snapshots):
        module.SparkStages = lambda *_: StagesHere()
    session.get = lambda: None
    reading.with_state = lambda upload, **_: upload


def prepare(folder: Path, spark: bool) -> None:
    """Django on a new database in ``folder``, with few threads and little memory."""
    for name in ("data", "data/uploads", "data/store", "tmp", "here"):
        (folder / name).mkdir(exist_ok=True)
    os.chdir(folder / "here")
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ["FAST_TESTS"] = "yes"  # SQLite does not wait for the disk
    import django
    from django.conf import settings

    django.setup()
    settings.DATA_DIR = folder / "data"
    settings.UPLOADS_DIR = settings.FILE_UPLOAD_TEMP_DIR = folder / "data" / "uploads"
    settings.STORE_URL = (folder / "data" / "store").as_uri()
    settings.DATABASES["default"]["NAME"] = folder / "data" / "cutline.sqlite3"
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    os.fsync = lambda descriptor: None  # no case pulls the plug
    import logging

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if spark:
        from tasks.spark import session

        session.warm()
    else:
        without_spark()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("format")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--whole", type=int, default=1)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--dies-at", type=int, help="to see that it is noticed")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cutline-hostile-"))
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        prepare(folder, asked.spark)
        taker = Taker(folder, asked.format, asked.whole)
        taker.take(WARMING)
        for number in range(asked.first, asked.first + asked.count):
            print(json.dumps({"begins": number}), file=output)
            if number == asked.dies_at:
                os._exit(9)
            print(json.dumps(taker.take(number)), file=output)
    finally:
        os.chdir("/")  # the watch cannot tell a path from a folder that is gone
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
