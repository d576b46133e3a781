"""Fixtures that the tests of first answers share."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from snapshots.domain.answering.sentences import Sentence
from tests.answers.first_answers import answered


@pytest.fixture
def answers(tmp_path: Path) -> Callable[[Mapping[str, bytes]], list[dict[str, Sentence]]]:
    """Return a function that uploads files and gives the sentences about each job, by code."""

    def said(files: Mapping[str, bytes]) -> list[dict[str, Sentence]]:
        package = tmp_path / "upload.zip"
        with zipfile.ZipFile(package, "w") as opened:
            for name, content in files.items():
                opened.writestr(name, content)
        found = answered(package).subjects
        return [{item.code: item for item in subject.sentences} for subject in found]

    return said
