"""An upload in the way of a user, its real job, and all that the API then answers about it."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import WHOLE, Fact, JobInventory, UploadInventory
from snapshots.jobs import running
from snapshots.models import Job
from snapshots.store.inventory.reading import as_checkpoint

AT_ONCE = 500  # items of a page


@dataclass
class Uploaded:
    """A ready recording, read through the API."""

    api: Client
    id: int

    def get(self, path: str = "", **query: object) -> Any:
        found = self.api.get(f"/api/recordings/{self.id}{path}", query)
        assert found.status_code == 200, (path, query, found.content)
        return found.json()

    __call__ = get

    def pages(self, path: str, most: int = AT_ONCE, **query: object) -> Iterator[dict]:
        """Yield every item of a list, page by page."""
        offset, total = 0, 1
        while offset < total:
            page = self.get(path, limit=most, offset=offset, **query)
            assert page["items"] or not page["total"], (path, query)
            yield from page["items"]
            total, offset = page["total"], offset + len(page["items"])

    @cached_property
    def contents(self) -> UploadInventory:
        """Return what the API says of the checkpoints, in the words of the model."""
        told = self.get("/contents")
        details = [self.get(f"/contents/{place}") for place in range(len(told["checkpoints"]))]
        for listed, detail in zip(told["checkpoints"], details, strict=True):
            _require_the_same(listed, detail)
        jobs = tuple(
            JobInventory(one["key"], one["name"], tuple(Fact(**fact) for fact in one["facts"]))
            for one in told["jobs"]
        )
        checkpoints = tuple(map(as_checkpoint, details))
        return UploadInventory(told["engine"], jobs, checkpoints, (), tuple(told["notes"]))

    @cached_property
    def files(self) -> dict[str, dict]:
        found = {one["path"]: one for one in self.pages("/contents/files")}
        assert len(found) == self.get("/contents")["files"]
        return found

    def entries(self, number: int) -> list[StateEntry]:
        """Return the entries of all states of a checkpoint, as many as each state says it has."""
        found = []
        for operator in self.contents.checkpoints[number].operators:
            for state in operator.states:
                query = {"operator": operator.id, "state": state.name}
                own = list(self.pages(f"/contents/{number}/entries", **query))
                assert len(own) == state.entries == state.stored
                found += [_entry(number, operator.id, state.name, one) for one in own]
        return found

    @cached_property
    def verdicts(self) -> dict[str, str]:
        return {one["snapshot"]: one["verdict"] for one in self.get("/snapshots")["items"]}


def upload(api: Client, file: SimpleUploadedFile, **form: str) -> Uploaded:
    """Upload a file, run its job, and return the ready recording."""
    answer = api.post("/api/recordings", {"file": file, **form})
    assert answer.status_code == 202, answer.content
    running.run(answer.json()["job"])
    job = Job.objects.get(pk=answer.json()["job"])
    assert job.state == "done", job.error
    found = Uploaded(api, answer.json()["id"])
    assert found.get()["status"] == "ready"
    return found


def as_it_is(path: Path) -> SimpleUploadedFile:
    return SimpleUploadedFile(path.name, path.read_bytes())


def zipped(folder: Path, *parts: str) -> SimpleUploadedFile:
    """Zip those of the folders that ``folder`` has, with empty folders like a user's package has
    them."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for part in parts:
            for path in sorted((folder / part).rglob("*")):
                archive.write(path, path.relative_to(folder).as_posix())
    return SimpleUploadedFile(f"{folder.name}.zip", packed.getvalue())


def _entry(number: int, operator: str, state: str, told: dict) -> StateEntry:
    """Return an entry. A null for which a reason is given was not read."""
    unknown = None
    if told["reason"] is not None:
        unknown = NotRead(told["bytes"], bytes.fromhex(told["head"] or ""), told["reason"])
    key, value = (
        unknown if unknown is not None and told[name] is None else told[name]
        for name in ("key", "value")
    )
    return StateEntry(
        number,
        operator,
        told["subtask"],
        state,
        key,
        value,
        told["bytes"],
        told["key_group"],
        told["namespace"],
    )


def _require_the_same(listed: dict, detail: dict) -> None:
    """Require that the list of checkpoints and the page of each say the same."""
    none = None if detail["problem"] else 0
    counted = {
        "operators": len(detail["operators"]) or none,
        "channels": len(detail["channels"]),
        "halves": sum(one["part"] != WHOLE for one in detail["channels"]),
        "in_flight": as_checkpoint(detail).in_flight,
        "missing": len(detail["missing"]) or none,
    }
    assert listed == {name: counted.get(name, detail.get(name)) for name in listed}
