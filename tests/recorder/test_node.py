"""Nodes in one process: who may connect, what a snapshot keeps, what a restore gives back."""

import asyncio
import contextlib
import json
import logging

import pytest

from snapshots.recorder import (
    DamagedPiece,
    EpochUsed,
    GivenUp,
    InUse,
    Log,
    Node,
    PeerLost,
    Restore,
    StaleEpoch,
    header,
    last_complete,
    next_epoch,
)
from snapshots.recorder.pieces import SnapshotName
from snapshots.recorder.wire import Handshake, frame, read_frame
from tests.recorder.test_kills import free_ports

SECRET = "of the test"


class Purse:
    """A process that keeps what it receives, in order."""

    def __init__(self):
        self.received = []
        self.messages = []

    def set_state(self, received):
        self.received = received

    def receive(self, message):
        self.received.append(message.value)
        self.messages.append(message)


class System:
    def __init__(self, folder, names="AB"):
        self.folder, self.names = folder, names
        ports = free_ports(len(names))
        self.peers = {name: ("127.0.0.1", port) for name, port in zip(names, ports, strict=True)}
        self.folders = [folder / name for name in names]
        self.purses = {}

    def node(self, name, restore=None, **options):
        purse = self.purses[name] = options.pop("purse", None) or Purse()
        given = {
            "folder": self.folder / name,
            "secret": SECRET,
            "state": lambda: purse.received,
            "set_state": purse.set_state,
            "receive": purse.receive,
            "restore": restore,
        }
        return Node(name, self.peers, **{**given, **options})

    @contextlib.asynccontextmanager
    async def running(self, restore=None, **options):
        async with contextlib.AsyncExitStack() as stack:
            nodes = [
                await stack.enter_async_context(self.node(name, restore, **options))
                for name in self.names
            ]
            await asyncio.gather(*(node.connected() for node in nodes))
            yield nodes


@pytest.fixture
def system(tmp_path):
    return System(tmp_path)


async def until(holds):
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


async def test_messages_arrive_in_order_and_a_snapshot_is_complete_everywhere(system):
    async with system.running() as (a, b):
        for number in range(100):
            await a.send("B", number)
        name = await a.snapshot()
        await b.send("A", "late")
        await until(lambda: system.purses["A"].received)
    assert system.purses["B"].received == list(range(100))
    assert last_complete(system.folders) == name
    assert system.purses["B"].messages[0].id == "0.1"


async def test_a_restore_gives_states_back_and_channels_before_anything_new(system):
    async with system.running() as (a, b):
        await a.send("B", 1)
        await until(lambda: system.purses["B"].received)
        taking = asyncio.ensure_future(b.snapshot())  # B records before 2 can come
        await a.send("B", 2)
        name = await taking
        await a.send("B", "after the snapshot")
        await until(lambda: len(system.purses["B"].received) == 3)
    piece = json.loads(next((system.folder / "B").glob("*.piece")).read_bytes().splitlines()[0])
    assert piece["state"] == [1]
    assert piece["channels"] == {"A": [["0.2", 2]]}
    restore = Restore(last_complete(system.folders), next_epoch(system.folders))
    assert restore == Restore(name, 1)
    async with system.running(restore) as (a, _):
        assert system.purses["B"].received == [1, 2]
        await a.send("B", 3)
        await until(lambda: len(system.purses["B"].received) == 3)
    assert system.purses["B"].received == [1, 2, 3]
    assert [message.id for message in system.purses["B"].messages] == ["0.2", "1.1"]


async def test_the_last_snapshots_are_kept_and_later_pieces_go_when_another_is_complete(system):
    async with system.running(keep=2) as (a, b):
        names = [await node.snapshot() for node in (a, b, a, b)]
    kept = sorted(path.stem for path in (system.folder / "A").glob("*.piece"))
    assert kept == names[2:]
    async with system.running(Restore(names[2], 1)) as (a, _):
        assert sorted(path.stem for path in (system.folder / "A").glob("*.piece")) == kept
        new = await a.snapshot()
    for folder in system.folders:
        assert sorted(path.stem for path in folder.glob("*.piece")) == [names[2], new]
    assert last_complete(system.folders) == new


async def test_a_start_from_the_very_beginning_removes_nothing_before_it_is_complete(system):
    async with system.running() as (a, _):
        name = await a.snapshot()
    async with system.running(Restore(None, 1)):
        pass
    assert last_complete(system.folders) == name


async def test_a_damaged_piece_makes_the_snapshot_before_it_the_last(system):
    async with system.running() as (a, _):
        first, second = await a.snapshot(), await a.snapshot()
    path = system.folder / "B" / f"{second}.piece"
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:20], b"", whole.replace(b"[]", b"[7]", 1)):
        path.write_bytes(damaged)
        assert last_complete(system.folders) == first
    with pytest.raises(DamagedPiece, match="checksum"):
        async with system.node("B", Restore(second, 1)):
            pass
    path.unlink()
    assert last_complete(system.folders) == first
    with pytest.raises(FileNotFoundError, match="C is not there, but .*A has pieces"):
        last_complete([*system.folders, system.folder / "C"])
    assert last_complete([system.folder / "C", system.folder / "D"]) is None


async def test_the_pieces_of_another_process_are_refused(system):
    async with system.running() as (a, _):
        name = await a.snapshot()
    with pytest.raises(ValueError, match="the pieces of A, not B"):
        async with system.node("B", Restore(name, 1), folder=system.folder / "A"):
            pass


async def test_an_epoch_is_used_once_and_a_folder_by_one_node(system):
    async with system.node("A"):
        with pytest.raises(InUse):
            async with system.node("A", Restore(None, 1)):
                pass
    with pytest.raises(EpochUsed, match="Epoch 0 was begun"):
        async with system.node("A"):
            pass
    assert next_epoch(system.folders) == 1


@pytest.mark.parametrize("text", [b"", b"one", b"-1", b"1" * 30, b"1_0"])
async def test_a_damaged_epoch_is_a_sentence_and_no_jump(system, text):
    async with system.running():
        pass
    (system.folder / "A" / "epoch").write_bytes(text)
    with pytest.raises(DamagedPiece, match="A/epoch does not hold the number of an epoch"):
        next_epoch(system.folders)
    with pytest.raises(DamagedPiece, match="A/epoch does not hold"):
        async with system.node("A", Restore(None, 5)):
            pass


async def test_a_restore_to_the_very_start_is_logged(system):
    names = header("a system", {"A": [], "B": []}, ["A->B", "B->A"])
    with Log.to_file("A", system.folder / "a.jsonl", names) as log:
        async with system.node("A", log=log):
            pass
        async with system.node("A", Restore(None, 1), log=log):
            pass
    lines = (system.folder / "a.jsonl").read_text().splitlines()[1:]
    events = [json.loads(line) for line in lines]
    assert [event["kind"] for event in events] == ["restore", "internal"]
    assert (events[0]["epoch"], events[0].get("snapshot")) == (1, None)


async def test_a_state_that_no_log_can_hold_is_not_known_there_and_disturbs_nobody(system, caplog):
    names = header("a system", {"A": None, "B": None}, ["A->B", "B->A"])
    with Log.to_file("B", system.folder / "b.jsonl", names) as log:
        async with system.node("B", log=log, state=lambda: float("nan")) as b:
            async with system.node("A") as a:
                await a.send("B", 1)
                await a.send("B", 2)
                await until(lambda: system.purses["B"].received == [1, 2])
            assert not b._failure.done()
    assert caplog.text.count("A state of B is not logged") == 1
    lines = (system.folder / "b.jsonl").read_text().splitlines()[1:]
    assert ["state" in json.loads(line) for line in lines] == [False, False]


async def test_a_node_of_an_older_epoch_is_refused_on_both_sides(system, caplog):
    async with system.node("B", Restore(None, 1)) as new:

        async def run_the_old_one():
            async with system.node("A") as old:
                await old.send("B", "from before the crash")
                await asyncio.wait_for(old.wait(), 30)

        with pytest.raises(StaleEpoch, match="B is in epoch 1, this node in epoch 0"):
            await run_the_old_one()
        assert not new._failure.done()
        async with system.node("A", Restore(None, 1)) as again:
            await again.send("B", "new")
            await until(lambda: system.purses["B"].received)
    assert system.purses["B"].received == ["new"]
    assert "A is in epoch 0, this node in epoch 1" in caplog.text


TOO_LONG, NOT_JSON = "at most 4096 are allowed", "not JSON"
NO_SECRET = "does not know the secret"
HOSTILE = {
    "a web browser": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", TOO_LONG),
    "a length without end": (b"\xff\xff\xff\xff" + b"x" * 100, TOO_LONG),
    "no JSON": (b"\x00\x00\x00\x03{}}", NOT_JSON),
    "deep JSON": (b"\x00\x00\x0f\xa0" + b"[" * 4000, NOT_JSON),
    "no object": (b"\x00\x00\x00\x02[]", "not an object"),
    "wrong types": (frame({"source": 1, "epoch": "x", "challenge": None}, 4096), "without source"),
    "no proof": (
        frame({"source": "A", "epoch": 0, "challenge": "x", "proof": "y"}, 4096),
        NO_SECRET,
    ),
    "a proof that is not ASCII": (
        frame({"source": "A", "epoch": 0, "challenge": "x", "proof": "é"}, 4096),
        NO_SECRET,
    ),
    "a proof that is half a character": (
        b'\x00\x00\x00\x41{"source": "A", "epoch": 0, "challenge": "x", "proof": "\\ud800"} ',
        NO_SECRET,
    ),
    "nothing": (b"", "no proof came"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_bytes_are_refused_and_leave_others_undisturbed(
    system, name, caplog, monkeypatch
):
    data, reason = HOSTILE[name]
    if name == "nothing":
        monkeypatch.setattr("snapshots.recorder.wire._HANDSHAKE_SECONDS", 0.5)
    async with system.running() as (a, _):
        reader, writer = await asyncio.open_connection(*system.peers["B"])
        await read_frame(reader, 4096)
        writer.write(data)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        await until(lambda: "is refused" in caplog.text)
        assert reason in caplog.text
        await a.send("B", 1)
        await until(lambda: system.purses["B"].received)
        await a.snapshot()


async def said(system, secret, name, connects_to="B", epoch=0):
    """Connect as somebody and return what the node's log says about it."""
    reader, writer = await asyncio.open_connection(*system.peers[connects_to])
    with contextlib.suppress(Exception):
        await Handshake(secret.encode(), name, epoch).connect(reader, writer, connects_to)
    with contextlib.suppress(OSError):
        await reader.read()
    writer.close()


async def test_who_lies_about_its_name_is_refused(system, caplog):
    async with system.running() as (a, _):
        await said(system, "guessed", "A")
        assert "does not know the secret" in caplog.text
        await said(system, SECRET, "C")
        assert "C is not one of the peers" in caplog.text
        await said(system, SECRET, "A")
        assert "A is connected already" in caplog.text
        await a.snapshot()


async def test_a_proof_for_one_node_is_worth_nothing_at_another(tmp_path, caplog):
    """C passes on to B what A proves to C, and does not become A by that."""
    system = System(tmp_path, "ABC")
    async with system.node("B"):
        from_b, to_b = await asyncio.open_connection(*system.peers["B"])

        async def passed_on(from_a, to_a):
            for source, target in ((from_b, to_a), (from_a, to_b)):
                target.write(frame(await read_frame(source, 4096), 4096))
            assert await from_b.read() == b""
            to_a.close()

        async with await asyncio.start_server(passed_on, *system.peers["C"]), system.node("A"):
            await until(lambda: "does not know the secret" in caplog.text)
        to_b.close()


async def test_a_peer_that_ends_without_farewell_fails_the_node(system):
    async with contextlib.AsyncExitStack() as stack:
        a = await stack.enter_async_context(system.node("A"))

        async def crash():
            async with system.node("B") as b:
                await asyncio.gather(a.connected(), b.connected())
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await crash()
        for use in (a.wait, a.snapshot, lambda: a.send("B", 1)):
            with pytest.raises(PeerLost, match="B has ended"):
                await use()
        with pytest.raises(PeerLost):
            await stack.aclose()


async def test_a_peer_that_leaves_with_farewell_is_not_lost(system):
    async with system.node("A") as a:
        async with system.node("B") as b:
            await asyncio.gather(a.connected(), b.connected())
            await b.send("A", "the last")
        await until(lambda: a._links.gone)
        assert system.purses["A"].received == ["the last"]
        with pytest.raises(PeerLost, match="No snapshot can be complete, for B has left"):
            await a.snapshot()
        with pytest.raises(PeerLost, match="B has left"):
            await a.send("B", 1)
        assert not a._failure.done()


@pytest.mark.parametrize(
    ("last", "reason"),
    [(b"", "The connection from B has ended"), (frame({"type": "farewell"}, 4096), "B has left")],
)
async def test_who_waits_for_room_is_told_that_the_peer_has_gone(system, monkeypatch, last, reason):
    monkeypatch.setattr("snapshots.recorder.links._MOST_QUEUED", 2)
    async with contextlib.AsyncExitStack() as stack:
        a = await stack.enter_async_context(system.node("A"))
        await a.send("B", 1)
        waiting = asyncio.ensure_future(a.send("B", 2))
        reader, writer = await asyncio.open_connection(*system.peers["A"])
        await Handshake(SECRET.encode(), "B", 0).connect(reader, writer, "A")
        assert not waiting.done()
        writer.write(last)
        writer.close()
        with pytest.raises(PeerLost, match=reason):
            await asyncio.wait_for(waiting, 10)
        with contextlib.suppress(PeerLost):
            await stack.aclose()


async def test_a_snapshot_that_takes_too_long_is_given_up_and_its_late_marker_has_no_effect(system):
    async with system.node("A") as a:
        with pytest.raises(GivenUp, match="was given up"):
            await a.snapshot(timeout=0.1)  # B is not there yet
        async with system.node("B") as b:
            await asyncio.gather(a.connected(), b.connected())
            name = await b.snapshot()
            assert SnapshotName.parse(name).number == 2
            assert [path.stem for path in (system.folder / "B").glob("*.piece")] == [name]
    assert last_complete(system.folders) == name


async def test_a_snapshot_that_is_cancelled_or_has_no_state_is_given_up(system):
    async with system.node("A") as a:
        taking = asyncio.ensure_future(a.snapshot())
        await asyncio.sleep(0)
        assert a._rules.under_way
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert not a._rules.under_way
        system.purses["A"].received.append(object())
        with pytest.raises(TypeError):
            await a.snapshot()
        assert not a._rules.under_way


async def test_concurrent_snapshots_of_several_initiators_all_complete(tmp_path):
    system = System(tmp_path, "ABCD")

    async def taken(node):
        name = await node.snapshot()
        assert all((folder / f"{name}.piece").exists() for folder in system.folders)
        return name

    async with system.running(keep=20) as nodes:
        names = await asyncio.gather(*(taken(node) for node in nodes for _ in range(5)))
    assert len(set(names)) == 20


async def test_what_cannot_be_sent_is_refused_and_leaves_nothing(system):
    async with system.running(most_bytes=1000) as (a, _):
        with pytest.raises(ValueError, match="at most 1000 are allowed"):
            await a.send("B", "x" * 1000)
        with pytest.raises(TypeError):
            await a.send("B", object())
        with pytest.raises(KeyError, match="C is not a peer"):
            await a.send("C", 1)
        await a.send("B", "x")
        await until(lambda: system.purses["B"].received)
    assert system.purses["B"].messages[0].id == "0.1"


async def test_a_value_that_no_log_can_hold_is_refused_before_it_goes_out(system, tmp_path):
    banks = header("two", {"A": [], "B": []}, ["A->B", "B->A"])
    with Log.to_file("A", tmp_path / "a.jsonl", banks) as log:
        async with system.node("B"), system.node("A", log=log) as a:
            with pytest.raises(ValueError, match="more than 63 bits"):
                await a.send("B", 2**64)
            await a.send("B", 2)
            await until(lambda: system.purses["B"].received)
    assert system.purses["B"].received == [2]


async def test_a_large_number_of_a_peer_does_not_fail_its_receiver(system, tmp_path, monkeypatch):
    banks = header("two", {"A": 0, "B": 0}, ["A->B", "B->A"])
    path = tmp_path / "a.jsonl"
    with Log.to_file("A", path, banks) as log:
        async with system.node("B") as b, system.node("A", log=log, state=lambda: 0) as a:
            b._links.put("A", {"type": "message", "id": "0.1", "value": 2**64})
            await until(lambda: system.purses["A"].received)
            assert not a._failure.done()
    assert json.loads(path.read_bytes().splitlines()[-1])["value"] == str(2**64)


async def test_a_receiver_that_raises_fails_the_node(system, caplog):
    class Broken(Purse):
        def receive(self, message):
            raise LookupError("no such account")

    caplog.set_level(logging.ERROR)

    async def run():
        async with system.node("B") as b, system.node("A", purse=Broken()) as a:
            await b.send("A", 1)
            await a.wait()

    with pytest.raises(LookupError, match="no such account"):
        await run()
    assert "A has failed: no such account" in caplog.text


def test_names_of_snapshots_are_ordered_and_fit_into_a_file_name():
    names = [SnapshotName(0, 9, "B"), SnapshotName(0, 10, "A/.. ü"), SnapshotName(1, 1, "A")]
    assert [SnapshotName.parse(str(name)) for name in sorted(names)] == names
    assert all("/" not in str(name) for name in names)
    with pytest.raises(ValueError, match="not the name of a snapshot"):
        SnapshotName.parse("../../x")


@pytest.mark.parametrize("proof", [b'"' + b"y" * 64 + b'"', b'"\\ud800"'])
async def test_a_node_says_nothing_to_an_impostor_in_the_place_of_a_peer(system, proof):
    heard = asyncio.get_running_loop().create_future()

    async def impostor(reader, writer):
        writer.write(frame({"challenge": "x"}, 4096))
        await read_frame(reader, 4096)
        answer = b'{"epoch": 0, "proof": ' + proof + b"}"
        writer.write(len(answer).to_bytes(4, "big") + answer)
        if not heard.done():
            heard.set_result(await reader.read())
        writer.close()

    async with await asyncio.start_server(impostor, *system.peers["B"]), system.node("A") as a:
        await a.send("B", "a secret")
        assert await asyncio.wait_for(heard, 30) == b""
        assert not a._failure.done()
