"""List the forms of log that are known by name, and decide which of them a log has.

Source: docs/formats/shiviz.md, "The parser expression"; the logs of ShiViz, GoVector, TSViz, TLC.
"""

from dataclasses import dataclass

from snapshots.readers.logs.shiviz.events import Part, valid_events
from snapshots.readers.logs.shiviz.expressions import compiled
from snapshots.readers.logs.shiviz.scanning import Scanner

EXECUTIONS = r"^=== (?<trace>.*) ===$"  # what ShiViz's examples put between executions
_LOOKED_AT = 2**18  # bytes


@dataclass(frozen=True)
class Form:
    """A form of log with vector clocks.

    Attributes:
        title: the form's name in a sentence.
        parser: the expression that ShiViz takes for it.
    """

    name: str
    title: str
    parser: str


FORMS = (
    Form(
        "requests",
        "address, date and action before each event, as in ShiViz's made-up logs",
        r"(?<ip>(\d{1,3}\.){3}\d{1,3}) (?<date>(\d{1,2}\/){2}\d{4} (\d{2}:){2}\d{2} (AM|PM)) "
        r"(?<action>(INFO|GET|POST)) (?<event>.*)\n(?<host>\w*) (?<clock>.*)",
    ),
    Form(
        "voldemort",
        "date, class and priority before each event, as Voldemort writes them",
        r"\[(?<date>[^\]\n]*) (?<path>\S*)\] (?<priority>(INFO|WARN)) (?<event>.*)\n"
        r"(?<host>\S*) (?<clock>{.*})",
    ),
    Form(
        "akka",
        "one line an event, as Akka's logging writes it",
        r"\[\w+\] \[(?<date>[^\]\n]*)\] [^ \n]+ \[akka:\/\/[^\/\n]*\/user\/(?<host>\w+)\] "
        r"(?<clock>.*\}) (?<event>.*)",
    ),
    Form(
        "tlc",
        "a counterexample of TLC, one TLA+ state an event",
        r'^State [0-9]+: <(?<event>\w*) .*>\n\/\\ Host = (?<host>.*)\n\/\\ Clock = "(?<clock>.*)"',
    ),
    Form(
        "govector-times",
        "GoVector with its time stamps switched on",
        r"^(?<timestamp>\d+) (?<host>\S+) (?<clock>{.*})\n(?<event>.*)",
    ),
    Form(
        "tsviz",
        "TSViz: a time stamp before each event",
        r"^(?<timestamp>\d+) (?<event>.*)\n(?<host>\w+) (?<clock>{.*})",
    ),
    Form("default", "ShiViz's own: event, then host and clock",
         r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"),
    Form("govector", "GoVector: host and clock, then event",
         r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"),
)  # fmt: skip
BY_NAME = {form.name: form for form in FORMS}


def recognised(text: bytes) -> Form | None:
    """Return the form that finds most events in the beginning of a log, None if none finds any.

    Among forms with equally many, the one that covers most text wins, then the first in FORMS.
    """
    text = text.replace(b"\r\n", b"\n")
    if len(text) > _LOOKED_AT:
        text = text[: text.rfind(b"\n", 0, _LOOKED_AT) + 1]
    part, scanner = Part("", 0, len(text), 1), Scanner()
    best, best_worth = None, (0, 0)
    for form in FORMS:
        expression = compiled(form.parser)
        valid = sum(valid_events(text, part, expression, scanner))
        matched = sum(
            match.end - match.start for match in scanner.matches(expression, text, 0, len(text))
        )
        if valid and (valid, matched) > best_worth:
            best, best_worth = form, (valid, matched)
    return best
