"""Vector timestamps of snapshots: consistent exactly if no node knows more than another had."""

import random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.limits import Limits
from snapshots.readers.together import joined
from tests.readers.inputs import read, source, text
from tests.readers.mutated import mutated

# Two snapshots of three nodes: in the second, node 1 knows 7 events of node 0, which had 5.
FILES = {
    "net-0.out": b"2 0 0\n5 1 0\n",
    "net-1.out": b"1 3 0\n7 4 1\n",
    "net-2.out": b"0 0 1\n5 1 2\n",
}


def judged(path):
    header, events, _ = read(path, Limits())
    reports = judge(assemble(header, events).recording)
    verdicts = {report.snapshot: report.verdict for report in reports}
    return verdicts, [item["text"] for item in header.extra["told"]], reports


def folder_of(tmp_path, files):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return joined(folder, tuple(files), tmp_path / "joined", Limits())


@pytest.mark.parametrize(
    "files",
    [
        FILES,
        FILES | {"net.txt": b"3 nodes\n0 dc01 5000\n"},
        {name: data.replace(b" ", b", ") for name, data in FILES.items()},
        {name: b"[" + data[:5] + b"]\n[" + data[6:11] + b"]" for name, data in FILES.items()},
    ],
    ids=["numbers", "with the configuration beside", "commas", "lists"],
)
def test_a_file_for_each_node_gives_the_answer_with_its_witness(tmp_path, files):
    log = folder_of(tmp_path, files)
    verdicts, told, reports = judged(log.path)
    assert verdicts["1"] != "orphan"
    assert verdicts["2"] == "orphan"
    assert told == [
        "Snapshot 2 is not consistent: node 1 knows 7 events of node 0, which had 5 when it "
        "recorded."
    ]
    answers = {item.question: item.answer for item in reports[0].answers}
    assert answers == {
        "cut": "holds", "channels": "not-known", "states": "not-known", "rule": "not-known",
    }  # fmt: skip


def runs(seed):
    """Vectors of a made-up run of three nodes, of which each records now and then."""
    chance = random.Random(seed)
    clocks = [[0, 0, 0] for _ in range(3)]
    for snapshot in range(1, 5):
        left = {0, 1, 2}
        while left:
            node, other = chance.sample(range(3), 2)
            clocks[node][node] += 1
            if chance.random() < 0.5:  # a message, received at once
                clocks[other] = [
                    max(pair) for pair in zip(clocks[node], clocks[other], strict=True)
                ]
                clocks[other][other] += 1
            if chance.random() < 0.4 and left:
                recording = chance.choice(sorted(left))
                left.remove(recording)
                yield recording, snapshot, list(clocks[recording])


@pytest.mark.parametrize("seed", range(12))
def test_a_snapshot_is_an_orphan_exactly_if_a_node_knows_more(tmp_path, seed):
    vectors = list(runs(seed))
    lines = text(*({"node": n, "snapshot": s, "vector": v} for n, s, v in vectors))
    verdicts, _, _ = judged(source(tmp_path, lines))
    for snapshot in range(1, 5):
        own = {node: vector for node, number, vector in vectors if number == snapshot}
        knows_more = any(own[j][i] > own[i][i] for i in own for j in own)
        assert (verdicts[str(snapshot)] == "orphan") == knows_more


REFUSED = {
    "another width": ({"node": 0, "snapshot": 1, "vector": [1, 0, 0]}, "3 counts"),
    "no number": ({"node": "x", "snapshot": 1, "vector": [1, 0]}, "A node is a number"),
    "no list": ({"node": 0, "snapshot": 2, "vector": {"0": 1}}, "a list of counts"),
    "twice": ({"node": 1, "snapshot": 1, "vector": [0, 1]}, "recorded snapshot"),
}


@pytest.mark.parametrize(("line", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_line_is_refused_with_its_number(tmp_path, line, words):
    first = {"node": 1, "snapshot": 1, "vector": [0, 1]}
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(first, line)))
    assert caught.value.defects[0].line == 2
    assert words in str(caught.value)


@pytest.mark.parametrize("data", [b"2 0 0\n5 1 0\n", b"1, 2\n", b"[3, 4]\n"])
def test_the_file_of_one_node_alone_asks_for_the_others(tmp_path, data):
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, data, "net-0.out"))
    assert "Upload the files of all nodes together" in str(caught.value)


def test_mutated_copies_are_read_or_refused(tmp_path):
    whole = text(*({"node": n, "snapshot": s, "vector": v} for n, s, v in runs(1)))
    for data in mutated([whole], 200):
        try:
            header, events, _ = read(source(tmp_path, data), Limits())
            assemble(header, events)
        except InputRefused:
            continue
