"""Tell whether checkpoints can be restored with N subtasks, from the shell or from a CI."""

import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandParser

from snapshots.answers.restore import Question, flow_of
from snapshots.domain.inventory.restore_answer import NO, NOT_KNOWN, YES, NotPlannable
from snapshots.domain.model.defects import InputRefused
from snapshots.management.uploads import stored

EXIT_CODES = {YES: 0, NO: 1, NOT_KNOWN: 3}
UNREADABLE = 2
MOST_SPLITS = 20  # of a source in the text
_WORST_FIRST = (NO, NOT_KNOWN, YES)
_PARTS = (
    ("Why:", "reasons"),
    ("Against it:", "problems"),
    ("Not known:", "unknown"),
    ("Look out:", "cautions"),
    ("In flight:", "in_flight"),
    ("Also:", "notes"),
)
_IN_HEADLINE = ("problems", "unknown")  # the headline tells the first


class Command(BaseCommand):
    help = (
        "Tell whether checkpoints of Flink, SeaTunnel or Spark can be restored with N subtasks or "
        "partitions. Exit code: 0 if they can, 1 if the engine refuses it, 2 if PATH cannot be "
        "read, 3 if that cannot be told from these files."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a folder, a package or a _metadata file")
        parser.add_argument("--parallelism", type=_parallelism, required=True, metavar="N")
        parser.add_argument(
            "--checkpoint",
            type=int,
            metavar="ID",
            help="the engine's number of the checkpoint or batch; else the newest of each job",
        )
        parser.add_argument(
            "--keep",
            action="append",
            default=[],
            metavar="UID",
            help="an operator that keeps its parallelism, by id, uid or name",
        )
        parser.add_argument(
            "--without",
            action="append",
            default=[],
            metavar="UID",
            help="an operator that the restored job does not have, by id, uid or name",
        )
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")

    def handle(self, *, path: Path, **options: Any) -> None:
        try:
            answers = _answers(path, options)
        except (InputRefused, NotPlannable) as refused:
            self.stderr.write(f"{refused}")
            sys.exit(UNREADABLE)
        except OSError as error:
            self.stderr.write(f"{error.filename or path} cannot be read: {error.strerror}.")
            sys.exit(UNREADABLE)
        worst = min((item["answer"] for item in answers), key=_WORST_FIRST.index)
        if options["json"]:
            body = {"answer": worst, "checkpoints": answers}
            self.stdout.write(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())
        else:
            self.stdout.write("\n\n".join(map(_text, answers)))
        if code := EXIT_CODES[worst]:
            sys.exit(code)


def _parallelism(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text)):
        raise ArgumentTypeError(f"{text} is no number of subtasks.")
    return int(text)


def _answers(path: Path, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answer for each checkpoint that is asked for, as JSON."""
    with stored(path) as (upload, inventory):
        header, _ = upload.recording()
        question = Question(
            inventory, flow_of(header.topology.channels), options["parallelism"], options["keep"]
        )
        if options["checkpoint"] is None:
            places = question.newest()
        else:
            places = question.with_id(options["checkpoint"])
        if not places:
            raise NotPlannable(f"{path} has no such checkpoint.")
        return [question.answer(place, options["without"]) for place in places]


def _text(answer: dict[str, Any]) -> str:
    """Return an answer as text: the headline, then the reasons, then the variants."""
    lines = [answer["headline"]]
    for title, name in _PARTS:
        sentences = answer[name]
        is_headline = len(sentences) == 1 and name in _IN_HEADLINE
        if sentences and not is_headline:
            lines += ["", title, *(f"  {item}" for item in sentences)]
    thrown = [item["sentence"] for item in answer["thrown_away"]]
    if thrown:
        lines += ["", "Thrown away:", *(f"  {item}" for item in thrown)]
    lines += ["", "Read again:", *(f"  {item}" for item in _read_again(answer))]
    if again := answer["written_again"]:
        names = (f"  {item['name'] or item['operator']}: {item['rule']}" for item in again)
        lines += ["", "Written again:", *names]
    lines += ["", "Side by side:", *(f"  {_variant(item)}" for item in answer["variants"])]
    if answer["older_hidden"]:
        lines.append(f"  {answer['older_hidden']:,} older ones are not listed.")
    return "\n".join(lines)


def _read_again(answer: dict[str, Any]) -> list[str]:
    sentences = list(answer["sources"])
    for source in answer["read_again"]:
        name = source["name"] or source["operator"]
        sentences += [f"{name}: {split['sentence']}" for split in source["splits"][:MOST_SPLITS]]
        if hidden := len(source["splits"]) - MOST_SPLITS:
            sentences += [f"{name}: {hidden:,} more splits; --json lists all."] * (hidden > 0)
    if answer["again"] is not None:
        sentences.append(answer["again"]["sentence"])
    return sentences


def _variant(item: dict[str, Any]) -> str:
    again = f" {item['again']['sentence']}" if item["again"] else ""
    answer = "yes." if item["answer"] == "yes" else item["headline"]
    return f"{item['title']}: {answer[:1].lower()}{answer[1:]}{again}"
