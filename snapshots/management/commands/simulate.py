import json
import re
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

from django.core.management.base import CommandError

from snapshots import access
from snapshots.management.files import FilesCommand
from snapshots.management.jobs import see_through, workers_answer
from snapshots.models import Topology
from snapshots.problems import Problem
from snapshots.services.simulations import request_simulation
from snapshots.services.topologies import save_topology
from snapshots.simulating import topology_documents
from snapshots.simulating.simulations import PARAMETERS
from webapp.accounts.services import OWNER, NotAnAddress, get_or_create_user

EPILOG = """\
PARAMETER=VALUE as in POST /api/topologies/ID/simulate (see /api/docs); a list has commas:

  manage.py simulate ring-of-five workload=token-ring seed=7 initiators=p1,p3
  manage.py simulate net.top algorithm=lai-yang snapshot_times=20000,40000

Parts of a parameter follow a dot; lists of objects are JSON. A dataflow has other parameters:

  manage.py simulate word-count checkpoints.mode=unaligned checkpoints.interval=20000 \
      slow.count[1]=4 failures='[{"at": 70000, "process": "count[0]"}]'
"""
_DECLARED = [parameter for model in PARAMETERS for parameter in model.declared()]
LISTS = {parameter.path for parameter in _DECLARED if parameter.kind in ("numbers", "texts")}
OBJECTS = {
    parameter.path.partition(".")[0]
    for parameter in _DECLARED
    if parameter.kind == "map" or re.fullmatch(r"\w+\.\w+", parameter.path)
}


class Command(FilesCommand):
    help = "Simulate a run on a topology; its recording is ingested like any other."

    def create_parser(self, *args, **kwargs):
        return super().create_parser(
            *args, epilog=EPILOG, formatter_class=RawDescriptionHelpFormatter, **kwargs
        )

    def add_arguments(self, parser) -> None:
        parser.add_argument(
            "topology", metavar="TOPOLOGY", help="a file, or a stored one's id, name or sample name"
        )
        parser.add_argument("parameters", nargs="*", metavar="PARAMETER=VALUE")
        parser.add_argument("--owner", default=OWNER, metavar="EMAIL", help="who will own it")
        parser.add_argument("--wait", action="store_true", help="wait until it is ready")
        parser.add_argument("--inline", action="store_true", help="run it here, without a worker")

    def handle(self, *, topology: str, parameters: list[str], owner: str, **options) -> None:
        given = _nested(dict(_parameter(text) for text in parameters))
        try:
            user = get_or_create_user(owner)
            row = _topology(user, topology)
            job = request_simulation(user, row, given)
        except NotAnAddress as error:
            raise CommandError(str(error)) from None
        except Problem as problem:
            field = problem.as_json().get("field")
            raise CommandError(f"{field}: {problem.detail}" if field else problem.detail) from None
        self.stdout.write(f"{row.name}: recording {job.recording_id}, job {job.pk}")
        inline = options["inline"] or not workers_answer()
        if inline and not options["inline"]:
            self.stderr.write("No worker answers: running it here instead.")
        if inline or options["wait"]:
            see_through(self, [job], inline=inline)


def _parameter(text: str) -> tuple[str, object]:
    """Return a parameter's name and value: JSON, or else text; those in LISTS split at commas."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"{text!r} is not PARAMETER=VALUE.")
    if name in LISTS and not value.startswith("["):
        return name, [_value(part.strip()) for part in value.split(",") if part.strip()]
    return name, _value(value)


def _nested(flat: dict[str, object]) -> dict[str, object]:
    """Nest dotted names: ``{"checkpoints.mode": 5}`` becomes ``{"checkpoints": {"mode": 5}}``."""
    given: dict[str, object] = {}
    for name, value in flat.items():
        outer, dot, inner = name.partition(".")
        if not dot or outer not in OBJECTS:
            given[name] = value
            continue
        part = given.setdefault(outer, {})
        if not isinstance(part, dict):
            raise CommandError(f"{outer} is given twice: as a whole, and as {name}.")
        part[inner] = value
    return given


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _topology(user, wanted: str) -> Topology:
    """Return the newest stored topology of that id, sample name or name, else store the file."""
    rows = access.topologies(user)
    if wanted.isdecimal() and (row := rows.filter(pk=int(wanted)).first()):
        return row
    if row := rows.filter(slug=wanted).first() or rows.filter(name=wanted).first():
        return row
    path = Path(wanted)
    if not path.is_file():
        raise CommandError(f"There is no topology or file {wanted!r}.")
    text = topology_documents.decoded(path.read_bytes()[: topology_documents.MAX_TEXT_BYTES + 1])
    return save_topology(user, topology_documents.read(text, path.stem))
