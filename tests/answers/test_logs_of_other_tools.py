"""What people bring beside engines' files: uploaded as it is, and the first sentence about it."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.answers.first_answer import first_answer
from snapshots.jobs import running
from snapshots.models import Recording
from tests.readers.logs.test_documents import TRACE, consumed, two
from tests.readers.logs.test_json_clocks import HOLES
from tests.readers.logs.test_vector_timestamps import FILES
from tests.readers.test_together import BACKEND, FRONTEND

pytestmark = [
    pytest.mark.spark,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
]
NO_SNAPSHOT = "The log records no snapshot, so there is none to judge. Drag a cut of your own."


def packed(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as package:
        for name, data in files.items():
            package.writestr(name, data)
    return content.getvalue()


BROUGHT = {
    "vector timestamps": (
        packed(FILES),
        [
            "Snapshot 2 is not consistent: node 1 knows 7 events of node 0, which had 5 when it "
            "recorded.",
        ],
    ),
    "P": (
        json.dumps(TRACE).encode(),
        [
            "The assertion fails: Server(3): balance is negative.",
            "The trace has 2 machines and 1 message: eReq#1 from Client(2) to Server(3).",
            NO_SNAPSHOT,
        ],
    ),
    "Jaeger": (
        json.dumps(two(consumed())).encode(),
        [
            "The traces have 2 services (billing and shop) and 1 message: orders-0@17 from shop "
            "(0 µs) to billing (48 ms).",
            NO_SNAPSHOT,
        ],
    ),
    "holes": (
        HOLES,
        [
            NO_SNAPSHOT,
            'The log has 1 defect, which may change what is said here. 3 events of "0" (3 to 5) '
            "are not in the log. Its other events are read; what was sent in the hole is drawn "
            "from the event before it.",
        ],
    ),
    "GoVector": (packed({"a-Log.txt": FRONTEND, "b-Log.txt": BACKEND}), [NO_SNAPSHOT]),
}


@pytest.mark.parametrize(("content", "sentences"), BROUGHT.values(), ids=BROUGHT)
def test_the_first_sentence_says_what_was_found(api, content, sentences):
    answer = api.post("/api/recordings", {"file": SimpleUploadedFile("brought", content)})
    assert answer.status_code == 202, answer.content
    running.run(answer.json()["job"])
    recording = Recording.objects.get()
    assert recording.status == "ready", recording.error
    (subject,) = first_answer(recording).subjects
    assert [item.text for item in subject.sentences][: len(sentences)] == sentences
