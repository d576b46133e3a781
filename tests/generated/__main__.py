"""Send generated calls as people of every role, and say what broke or leaked.

``python -m tests.generated FOLDER --schemathesis PYTHON``
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.generated import changes, plans
from tests.generated.world import World
from tests.stack import Stack

SETTINGS = {
    "MAX_STORED_BYTES": "0",
    "MAX_OPEN_JOBS": "0",
    "MAX_COLLECTORS": "0",
    "MAX_TEAMS": "0",
    "MAX_INVITATIONS": "0",
    "MAX_UNFINISHED_UPLOADS": "100000",
    "COLLECTOR_HOSTS": "engine,quokkaours,quokkatheirs,quokkaalone",
}
DATABASE = "cutline.sqlite3"


def main() -> None:
    arguments = _arguments()
    folder: Path = arguments.folder.resolve()
    first = Stack(folder / "world")
    world = _made(first, arguments.make)
    faults: dict[str, Any] = {}
    statuses: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    by_call: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    try:
        for number in range(arguments.rounds):
            calls = arguments.calls // arguments.rounds
            for found in _round(first, world, arguments, number, calls):
                faults = _joined(faults, found["faults"])
                for role, counts in found["statuses"].items():
                    statuses[role].update(counts)
                for call, counts in found["by_call"].items():
                    by_call[call].update(counts)
            told = {"statuses": statuses, "by_call": by_call, "faults": faults}
            (folder / "found.json").write_text(json.dumps(told, indent=1))
    finally:
        first.stop()
    for role, counts in statuses.items():
        print(f"{role}: {sum(counts.values()):,} calls; {dict(sorted(counts.items()))}")
    for fault, told in sorted(faults.items()):
        print(f"{told['count']} × {fault}\n    as {told['role']}: {told['example'][:500]}")
    sys.exit(1 if faults else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--schemathesis", required=True, help="a Python that has schemathesis")
    parser.add_argument("--calls", type=int, default=20_000, help="calls of each role")
    parser.add_argument("--rounds", type=int, default=4, help="the data are made anew before each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", type=int, default=2, help="processes that send")
    parser.add_argument("--roles", default="", help="some of the roles, with commas between them")
    parser.add_argument("--make", action="store_true", help="make people and things anew")
    return parser.parse_args()


def _made(stack: Stack, anew: bool) -> World:
    """Start Redis, and return the people and things, which are made with a worker."""
    from tests.generated import world

    told, kept = (stack.folder.parent / name for name in ("world.json", "world.sqlite3"))
    if anew or not told.exists():
        shutil.rmtree(stack.folder, ignore_errors=True)
        stack.folder.mkdir(parents=True)
        stack.start_redis()
        stack.environment |= SETTINGS
        _use_django(stack)
        stack.start_server()
        stack.start_worker()
        made = world.make(stack)
        stack.manage("load_samples", "--wait")
        stack.kill("worker")
        stack.kill("server")
        shutil.copy(stack.folder / DATABASE, kept)
        told.write_text(json.dumps(asdict(made)))
        return made
    stack.start_redis()  # makes an empty database
    shutil.copy(kept, stack.folder / DATABASE)
    stack.environment |= SETTINGS
    _use_django(stack)
    return World(**json.loads(told.read_text()))


def _use_django(stack: Stack) -> None:
    import django

    os.environ.update(stack.environment)
    django.setup()


def _round(
    first: Stack, world: World, arguments: argparse.Namespace, number: int, calls: int
) -> list[dict[str, Any]]:
    """Send calls to one server for each role; return what was found."""
    folder = first.folder.parent
    stacks = {}
    roles = plans.roles(world)
    chosen = [name for name in arguments.roles.split(",") if name] or list(roles)
    try:
        for place, server in enumerate(sorted({plans.server_of(role) for role in chosen})):
            stacks[server] = _copy(first, folder / f"server-{place}", place + 1)
        with ThreadPoolExecutor() as pool:
            list(pool.map(Stack.start_server, stacks.values()))
        document = folder / "openapi.json"
        some = next(iter(stacks.values()))
        with urllib.request.urlopen(f"{some.url}/api/openapi.json") as answer:
            document.write_bytes(answer.read())
        plan = {
            "document": str(document),
            "seed": arguments.seed + number,
            "calls": calls,
            "parts": arguments.parts,
            "pools": plans.pools(world),
            "bodies": plans.bodies(world),
            "roles": [roles[role] | {"url": stacks[plans.server_of(role)].url} for role in chosen],
        }
        found = _send(folder, plan, arguments)
    finally:
        for stack in stacks.values():
            stack.stop()
    before = changes.read(first.folder / DATABASE)
    for role, stack in stacks.items():
        after = changes.read(stack.folder / DATABASE)
        rights = plans.rights(world, before, role)
        print(f"round {number + 1}, {role}: new rows {dict(changes.added(before, after))}")
        if rights is not None:
            for change in changes.forbidden(before, after, *rights):
                told = {"count": 1, "role": role, "example": change}
                found[0]["faults"][f"a forbidden change | {role} | {change}"] = told
    return found


def _copy(first: Stack, folder: Path, database: int) -> Stack:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(first.folder, folder, ignore=shutil.ignore_patterns("redis", "tmp", "*.log"))
    stack = Stack(folder)
    redis = first.redis_url.removesuffix("/0") + f"/{database}"
    stack.environment = first.environment | {
        "DATA_DIR": str(folder), "PORT": str(stack.port), "REDIS_URL": redis,
    }  # fmt: skip
    return stack


def _send(
    folder: Path, plan: dict[str, Any], arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run the processes that send; return what each found."""
    senders, files = [], []
    for part in range(arguments.parts):
        file = folder / f"plan-{part}.json"
        calls = plan["calls"] // arguments.parts
        file.write_text(json.dumps(plan | {"part": part, "calls": calls}))
        with (folder / f"calls-{part}.log").open("a") as log:
            command = [arguments.schemathesis, str(Path(__file__).with_name("calls.py")), str(file)]
            senders.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        files.append(file.with_suffix(".found.json"))
    ended = [sender.wait() for sender in senders]
    assert not any(ended), f"A sender ended with {ended}: see calls-*.log in {folder}."
    return [json.loads(file.read_text()) for file in files]


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    both = dict(first)
    for key, told in second.items():
        count = told["count"] + both.get(key, {"count": 0})["count"]
        both[key] = {**both.get(key, told), "count": count}
    return both


if __name__ == "__main__":
    main()
