"""Several files as one upload, and packages: kept whole, recognised when they are unpacked."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from snapshots.domain.simulators.samples import two_banks
from snapshots.files import recordings, uploads
from snapshots.jobs import running
from snapshots.models import Job, Mapping, Recording
from snapshots.problems import Refused
from snapshots.services.recordings import accept_folder
from tests.web.given import native, uploads_of

# The heartbeat of a job sees only what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


def files(*names: str, content: bytes = b"some bytes"):
    return [SimpleUploadedFile(name.rpartition("/")[2], content) for name in names]


def together(api, *names: str, **fields):
    body = {"file": files(*names), "together": "true", "paths": list(names), **fields}
    return api.post("/api/recordings", body)


def zipped(**contents: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name.replace("__", "/"), content)
    return packed.getvalue()


def test_a_folder_is_kept_as_one_package(api, data_dir):
    answer = together(api, "job/chk-1/_metadata", "job/shared/one")
    assert answer.status_code == 202, answer.content
    recording = Recording.objects.get(pk=answer.json()["id"])
    assert (recording.name, recording.format) == ("job", "archive")
    assert uploads_of(data_dir) == [recording.upload]
    with zipfile.ZipFile(uploads.path_of(recording.upload)) as archive:
        assert archive.namelist() == ["job/chk-1/_metadata", "job/shared/one"]
        assert archive.read("job/shared/one") == b"some bytes"


def test_files_without_a_folder_have_their_names_as_paths(api):
    answer = together(api, "_metadata", "plan.json", paths=[])
    assert Recording.objects.get(pk=answer.json()["id"]).name == "2 files"


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        (["../a", "b"], "unsafe-archive"),
        (["/etc/a", "b"], "unsafe-archive"),
        (["a", "a"], "unsafe-archive"),
        (["a", "a/b"], "unsafe-archive"),
        (["a"], "invalid-field"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused_at_once(api, data_dir, paths, code):
    answer = together(api, "a", "b", paths=paths)
    assert answer.status_code == 422
    assert answer.json()["type"] == f"/problems/{code}"
    assert not Recording.objects.exists()
    assert not uploads_of(data_dir)


def test_a_format_for_one_log_is_no_format_of_several_files(api):
    answer = together(api, "a", "b", format="native")
    assert (answer.status_code, answer.json()["field"]) == (422, "format")


def refused(api, content: bytes, name: str = "upload.zip") -> tuple[Recording, str]:
    answer = api.post("/api/recordings", {"file": SimpleUploadedFile(name, content)})
    assert answer.status_code == 202, answer.content
    job = Job.objects.get(pk=answer.json()["job"])
    running.run(job.pk)
    recording = Recording.objects.get(pk=answer.json()["id"])
    return recording, recording.error["detail"]


@pytest.mark.spark
def test_a_log_in_a_package_is_read_as_that_log(api):
    content = zipped(banks=native(two_banks()))
    answer = api.post("/api/recordings", {"file": SimpleUploadedFile("banks.zip", content)})
    running.run(answer.json()["job"])
    recording = Recording.objects.get()
    assert (recording.status, recording.format) == ("ready", "native")
    assert not list(recordings.store().root.glob("*.tmp*"))


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({"a": b"x", "b": b"y"}, "2 files that no engine known here has written"),
        ({"a": b"nonsense"}, "This is a text of no format known here"),
        ({}, "no file"),
    ],
)
def test_files_that_no_engine_wrote_are_refused_with_the_reason(api, data_dir, contents, words):
    recording, sentence = refused(api, zipped(**contents))
    assert recording.status == "refused"
    assert words in sentence
    assert not uploads_of(data_dir)
    assert not any(recordings.store().root.iterdir())


@pytest.mark.spark
def test_the_file_of_a_package_that_cannot_be_read_is_named(api):
    _, sentence = refused(api, zipped(holiday__photo=b"\xff\xd8\xff\xe0"))
    assert sentence.startswith('The file "holiday/photo" of the package: This is a picture.')
    _, sentence = refused(api, zipped(logs__a=native(two_banks()) * 2))
    assert 'The file "logs/a" of the package: ' in sentence


def test_a_damaged_metadata_is_named_with_its_path(api):
    contents = {f"job__shared__{place}": b"x" for place in range(11)}
    _, sentence = refused(api, zipped(**contents, **{"job__chk-7___metadata": b"\x00" * 9}))
    assert '"job/chk-7/_metadata", the metadata of a Flink checkpoint, cannot be read' in sentence


def test_a_package_that_leads_out_of_its_folder_is_refused(api, data_dir):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../outside", b"x")
    recording, sentence = refused(api, packed.getvalue())
    assert recording.status == "refused"
    assert "leads out of its folder" in sentence
    assert not list(data_dir.rglob("outside"))


def test_a_folder_on_this_machine_is_queued(ada, tmp_path, data_dir):
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "checkpoint" / "offsets" / "0").write_bytes(b"v1\n")
    (tmp_path / "checkpoint" / "link").symlink_to("/etc/passwd")
    job = accept_folder(ada, tmp_path / "checkpoint")
    with zipfile.ZipFile(uploads.path_of(job.recording.upload)) as archive:
        assert archive.namelist() == ["offsets/0"]
    with pytest.raises(Refused, match="holds no file"):
        accept_folder(ada, tmp_path / "checkpoint" / "offsets" / "nothing")


def test_a_few_hundred_files_may_come_in_one_request(api, shared_data):
    folder = shared_data / "flink" / "failures"
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(paths) > 100
    names = [f"failures/{path.relative_to(folder).as_posix()}" for path in paths]
    answer = together(api, *names)
    assert answer.status_code == 202, answer.content
    recording = Recording.objects.get(pk=answer.json()["id"])
    with zipfile.ZipFile(uploads.path_of(recording.upload)) as archive:
        assert archive.namelist() == names


@pytest.mark.parametrize("number", [501, 2_500])
def test_more_files_than_allowed_are_refused_with_advice(api, data_dir, number):
    answer = together(api, *(f"job/{place}" for place in range(number)))
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-many-files")
    assert "at most 500 files" in answer.json()["detail"]
    assert "manage.py ingest" in answer.json()["detail"]
    assert not uploads_of(data_dir)


def test_the_page_without_scripts_gives_the_same_advice(ada, data_dir):
    client = Client()
    client.force_login(ada)
    answer = client.post("/", {"file": files(*map(str, range(501)))})
    assert answer.status_code == 413
    assert b"at most 500 files" in answer.content
    assert not uploads_of(data_dir)


# --- one log for each process -------------------------------------------------------------------

A_CLOCK = b'{"p": "a", "vc": {"a": 1}}\n{"p": "a", "vc": {"a": 2, "b": 1}}\n'
B_CLOCK = b'{"p": "b", "vc": {"b": 1}}\n'


def read_well(job: int) -> Recording:
    running.run(job)
    recording = Recording.objects.get()
    assert recording.status == "ready", recording.error
    return recording


def ends(recording: Recording) -> list[str]:
    return [channel.id for channel in recordings.open_recording(recording).topology.channels]


@pytest.mark.spark
@pytest.mark.parametrize("is_together", [True, False])
def test_the_logs_of_two_processes_are_one_recording(api, is_together):
    sent = [SimpleUploadedFile("a.jsonl", A_CLOCK), SimpleUploadedFile("b.jsonl", B_CLOCK)]
    answer = api.post("/api/recordings", {"file": sent, "together": str(is_together).lower()})
    assert answer.status_code == 202, answer.content
    recording = read_well(Job.objects.get().pk)
    assert (recording.format, ends(recording)) == ("json-clocks", ["b->a"])


def test_the_log_of_one_process_alone_is_refused_with_the_others_names(api):
    answer = api.post("/api/recordings", {"file": SimpleUploadedFile("a.jsonl", A_CLOCK)})
    assert (answer.status_code, answer.json()["line"]) == (422, 2)
    assert 'The clock names "b", whose events are in another file' in answer.json()["detail"]
    assert "Upload both together" in answer.json()["detail"]


@pytest.mark.spark
def test_several_files_are_read_by_one_mapping(api, ada):
    document = {"process": "who", "clock": "at"}
    mapping = Mapping.objects.create(owner=ada, name="clocks", document=document)
    sent = [
        SimpleUploadedFile("a", b'{"who": "a", "at": {"a": 1}}\n'),
        SimpleUploadedFile("b", b'{"who": "b", "at": {"b": 1, "a": 1}}\n'),
    ]
    body = {"file": sent, "together": "true", "format": f"mapping:{mapping.pk}"}
    answer = api.post("/api/recordings", body)
    assert answer.status_code == 202, answer.content
    assert ends(read_well(answer.json()["job"])) == ["a->b"]


@pytest.mark.spark
@pytest.mark.parametrize("suffix", ["jsonl", "log"])
def test_a_folder_with_a_log_for_each_process_is_ingested(ada, tmp_path, suffix):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / f"a.{suffix}").write_bytes(A_CLOCK)
    (folder / f"b.{suffix}").write_bytes(B_CLOCK)
    call_command("ingest", folder, "--inline", "--owner", ada.email)
    recording = Recording.objects.get()
    assert recording.status == "ready", recording.error
    assert ends(recording) == ["b->a"]


@pytest.mark.spark
def test_a_fault_in_one_of_several_files_is_named_with_its_file(api):
    again = B_CLOCK + B_CLOCK
    recording, sentence = refused(api, zipped(a=A_CLOCK, b=again))
    assert sentence.startswith('Line 2: The file "b" of the package: The clock of "b" stands at 1')
    assert recording.error["excerpt"].startswith('{"p": "b"')
