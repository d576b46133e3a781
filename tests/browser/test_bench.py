"""The measurements that need a server, a worker or a browser run to their end at a small size.

Each time those that need no worker do, and the others in the long run.
"""

import pytest

from bench import archive, fairness, open_recordings, opened, server, together, weights
from bench.recordings import write_log


@pytest.fixture
def few_rounds(monkeypatch):
    for module, rounds in ((archive, 3), (fairness, 1), (server, 3)):
        monkeypatch.setattr(module, "ROUNDS", rounds)
    monkeypatch.setattr(server, "UPLOADS", 1)
    monkeypatch.setattr(archive, "OPENINGS", 1)


@pytest.mark.long
def test_a_persons_waiting_is_measured(stack, tmp_path, few_rounds, capsys, monkeypatch):
    """The weights of pages open the workbench with the same function."""
    opened = []
    monkeypatch.setattr(server, "show_in_browser", lambda *args: opened.append(args))
    log = tmp_path / "log.jsonl"
    write_log(log, 2000)
    server.measure(stack, log, log, 2000)
    assert "window of everything over HTTP" in capsys.readouterr().out
    assert len(opened) == 1


@pytest.mark.long
def test_pages_and_the_workbench_are_weighed(stack, tmp_path, capsys):
    weights.measure(stack, tmp_path, 2000, seconds=1)
    printed = capsys.readouterr().out
    assert "/api/docs on the wire" in printed
    assert "while Plotly draws" in printed
    assert printed.count("worst frame while playing") == len(weights.PROCESSES)


@pytest.mark.long
def test_the_memory_of_the_web_process_is_measured(stack, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(opened, "ROUNDS", 3)
    monkeypatch.setattr(server, "SECONDS", 1)
    opened.measure(stack, tmp_path, ("2e3", "4e3"))
    printed = capsys.readouterr().out
    assert printed.count("a dragged cut over HTTP, p95") == 2
    assert "memory of the web process, after the browser" in printed


@pytest.mark.long
def test_an_upload_among_many_jobs_is_measured(stack, tmp_path, few_rounds, capsys):
    fairness.measure(stack, tmp_path, jobs=3)
    assert "ratio of the medians" in capsys.readouterr().out


def test_followers_of_a_presenter_are_measured(server, monkeypatch, capsys):
    monkeypatch.setattr(together, "VIEWS", 5)
    together.measure(server, 2)
    assert "  2 followers: p50" in capsys.readouterr().out


def test_an_open_recording_is_measured(server, capsys):
    open_recordings.measure(server, seconds=4, rate=200, count=3)
    printed = capsys.readouterr().out
    assert "head behind: p50" in printed
    assert "readings (hold 3)" in printed


@pytest.mark.long
def test_the_archive_is_measured(server, few_rounds, capsys):
    token = server.token(archive.EMAIL)
    job, few = archive.fill(server, 300), archive.fill(server, 50)
    archive.measure(server, archive.Client(server.url, token), job, 300)
    archive.in_browser(server, job, few, 300)
    assert "peer: plain SQL" in capsys.readouterr().out
