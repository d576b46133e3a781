"""What pip-audit knows of vulnerabilities is told, and what it does not know as well."""

import json
import socket
from pathlib import Path

import pytest

from tests.supply import advisories
from tests.supply.osv_folder import OsvFolder

HASH = "0" * 64


@pytest.fixture
def root(tmp_path) -> Path:
    """Locks of two packages."""
    for folder in ("deploy", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "deploy/requirements.lock").write_text(f"pillar==1.5 --hash=sha256:{HASH}\n")
    (tmp_path / "tests/requirements.lock").write_text(f"post==2.0 --hash=sha256:{HASH}\n")
    (tmp_path / "pyproject.toml").write_text("[tool]\n")
    return tmp_path


def record(name: str, package: str, *events: dict, versions: tuple[str, ...] = ()) -> dict:
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    affected = {"package": {"name": package, "ecosystem": "PyPI"}, "ranges": ranges}
    return {
        "id": name,
        "modified": "2026-10-05T00:00:00Z",
        "published": "2026-10-01T00:00:00Z",
        "affected": [affected | {"versions": list(versions)}],
    }


def folder_of(root: Path, *records: dict) -> Path:
    folder = root / "advisories"
    folder.mkdir()
    for each in records:
        (folder / f"{each['id']}.json").write_text(json.dumps(each))
    return folder


@pytest.fixture
def offline(monkeypatch):
    """Services that do not answer: nobody listens at their port."""
    monkeypatch.delenv("ADVISORIES", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1/query"
    monkeypatch.setattr(advisories, "SERVICES", {"OSV": service_at(url)})


def service_at(url: str) -> list[str]:
    return ["--vulnerability-service", "osv", "--osv-url", url]


def test_a_folder_of_advisories_answers(root, monkeypatch):
    old = record("PYSEC-1", "Pillar", {"introduced": "0"}, {"fixed": "1.6"})
    monkeypatch.setenv("ADVISORIES", str(folder_of(root, old)))
    said, none_known = advisories.check(root)
    assert not none_known
    first, second = said.splitlines()
    assert first.endswith("/advisories, the newest of 2026-10-05: 1.")
    assert second == "  pillar 1.5: PYSEC-1; mended in 1.6."


def test_a_folder_in_yaml_answers(root, monkeypatch):
    folder = folder_of(root)
    (folder / "PYSEC-2.yaml").write_text(
        "id: PYSEC-2\nmodified: 2026-10-06T00:00:00Z\npublished: 2026-10-01T00:00:00Z\n"
        "affected:\n- package: {name: post, ecosystem: PyPI}\n  versions: ['2.0']\n"
    )
    monkeypatch.setenv("ADVISORIES", str(folder))
    said, none_known = advisories.check(root)
    assert not none_known
    assert said.splitlines()[1] == "  post 2.0: PYSEC-2; mended in no version yet."


def test_an_accepted_vulnerability_does_not_fail(root, monkeypatch):
    listed = record("PYSEC-1", "post", versions=("2.0",))
    monkeypatch.setenv("ADVISORIES", str(folder_of(root, listed)))
    (root / "pyproject.toml").write_text(
        '[tool.cutline.accepted-vulnerabilities]\nPYSEC-1 = "post is never sent"\n'
    )
    said, none_known = advisories.check(root)
    assert none_known
    assert said.endswith("the newest of 2026-10-05: none in 2 packages.")


def test_a_folder_without_advisories_is_refused(root, monkeypatch):
    monkeypatch.setenv("ADVISORIES", str(folder_of(root)))
    with pytest.raises(ValueError, match="holds no advisory of the OSV schema"):
        advisories.check(root)


@pytest.mark.parametrize(
    ("version", "events", "affected"),
    [
        ("1.5", [{"introduced": "0"}], True),
        ("1.5", [{"introduced": "0"}, {"fixed": "1.5"}], False),
        ("1.5", [{"introduced": "0"}, {"last_affected": "1.5"}], True),
        ("1.5.1", [{"introduced": "0"}, {"last_affected": "1.5"}], False),
        ("1.10", [{"fixed": "1.9"}, {"introduced": "0"}, {"introduced": "1.10"}], True),
        ("1.9", [{"introduced": "1.10"}], False),
        ("1.10rc1", [{"introduced": "0"}, {"fixed": "1.10"}], True),
    ],
)
def test_a_version_is_affected_as_the_schema_says(tmp_path, version, events, affected):
    data = OsvFolder(folder_of(tmp_path, record("PYSEC-1", "pillar", *events)))
    assert bool(data.about("pillar", version)) == affected


def test_without_a_network_nothing_is_known(root, offline):
    said, none_known = advisories.check(root)
    assert none_known
    assert said.startswith("Known vulnerabilities: not known. No data could be reached (OSV: ")
    assert "none in" not in said


def test_a_mirror_without_vulnerabilities_is_not_taken_for_none(root, monkeypatch):
    monkeypatch.delenv("ADVISORIES", raising=False)
    with OsvFolder(folder_of(root, record("PYSEC-1", "elsewhere", versions=("1",)))) as empty:
        monkeypatch.setattr(advisories, "SERVICES", {"a mirror": service_at(empty.url)})
        said, none_known = advisories.check(root)
    assert none_known
    assert "a mirror: it knows none of Django 5.0, so it has no such data" in said


def test_a_service_with_data_is_asked_about_all(root, monkeypatch, offline):
    old = record("PYSEC-3", "django", {"introduced": "0"}, {"fixed": "5.0.1"})
    with OsvFolder(folder_of(root, old)) as data:
        services = advisories.SERVICES | {"a mirror": service_at(data.url)}
        monkeypatch.setattr(advisories, "SERVICES", services)
        said, none_known = advisories.check(root)
    assert none_known
    assert said == "Known vulnerabilities, by a mirror: none in 2 packages."


def test_a_service_that_hangs_is_waited_for_only_so_long(root):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/query"
        report = advisories.ask(service_at(url), root, seconds=1)
    assert report.reason == "no answer within 1 s"


def test_what_was_not_told_about_is_named():
    report = advisories.Report(clean=["a", "b"], unknown=["c"])
    assert advisories.said(report, "the registry") == (
        "Known vulnerabilities, by the registry: none in 2 packages.\nNot known for 1: c.",
        True,
    )


def test_a_package_that_was_skipped_is_not_called_clean():
    skipped = {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited"}
    report = advisories._sorted([{"name": "a", "version": "1", "vulns": []}, skipped])
    assert (report.clean, report.unknown) == (["a"], ["c"])
