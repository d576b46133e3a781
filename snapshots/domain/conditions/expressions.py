"""Compile, check and evaluate CEL expressions over a global state.

The variables are ``processes`` (states by id), ``channels`` (lists of values by id) and
``snapshot`` (its id). A process whose id is a CEL name may also be written by that name alone:
``A.balance`` is ``processes["A"].balance``. Google's CEL (cel-expr-python) checks types before it
runs, runs no code but its own, matches patterns in linear time, allows a nesting depth of 32, and
stops after 10,000 items. It has no limits of time and memory; `snapshots/sandbox/` adds these.

Source: the Common Expression Language, https://cel.dev.
"""

import copyreg
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from cel_expr_python import cel

from snapshots.domain.conditions import expression_tree as tree
from snapshots.domain.conditions.expression_tree import Node

LONGEST = 2000  # characters of an expression
LONGEST_SHOWN = 80  # characters of an excerpt or a value
VARIABLES = ("processes", "channels", "snapshot")
_TYPES = {
    "processes": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "channels": cel.Type.Map(cel.Type.STRING, cel.Type.List(cel.Type.DYN)),
    "snapshot": cel.Type.STRING,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REPORT = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_ANSWERS = ("BOOL", "DYN")
_COMPARISONS = {f"_{sign}_": sign for sign in ("==", "!=", "<", "<=", ">", ">=")}
_AROUND = ("_&&_", "_||_", "!_", "_?_:_")  # the operators that may contain comparisons
MOST_COMPARED = 3  # comparisons that an outcome lists
ALL = "*"  # the name in a Use that may mean any process or channel


class ExpressionError(ValueError):
    """An error at one place of an expression.

    ``line`` and ``column`` give the place; both count from 1. ``excerpt`` is that line of the
    expression, with a caret below the place.

    Args:
        sentence: what is wrong.
        text: the whole expression.
        offset: how many characters of the expression stand before the place.
    """

    permanent = True  # a retry cannot help

    def __init__(self, sentence: str, text: str, offset: int = 0) -> None:
        super().__init__(sentence)
        before = text[:offset]
        self.sentence = sentence
        self.offset = offset
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        self.excerpt = _excerpt(text, self.line, self.column)

    def __reduce__(self) -> tuple[object, ...]:
        # Pickle would call ``__init__`` with the sentence alone.
        rebuild = copyreg.__newobj__  # type: ignore[attr-defined]
        return rebuild, (type(self), *self.args), self.__dict__

    def to_json(self) -> dict[str, object]:
        """Return the error and its place in the expression as JSON."""
        return {
            "sentence": self.sentence,
            "line": self.line,
            "column": self.column,
            "excerpt": self.excerpt,
        }


def _excerpt(text: str, line: int, column: int) -> str:
    """Return the line, or the part of a long line around the column, with a caret below it."""
    lines = text.split("\n")
    shown = lines[line - 1] if line <= len(lines) else ""
    first = max(0, column - 1 - LONGEST_SHOWN // 2)
    cut = shown[first : first + LONGEST_SHOWN].replace("\t", " ")
    return f"{cut}\n{' ' * (column - 1 - first)}^"


@dataclass(frozen=True, slots=True)
class Use:
    """One place at which an expression uses a variable.

    Attributes:
        kind: the variable, one of VARIABLES.
        name: the id of the process or channel; ALL if no constant names one, and for ``snapshot``.
        offset: the place in the expression, in characters from 0.
    """

    kind: str
    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The two sides of a comparison, as texts, and its sign."""

    left: str
    sign: str
    right: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of evaluating an expression.

    Attributes:
        value: the result; None if there is an error.
        error: why there is no result.
        compared: the values in its first comparisons, if an explanation was requested.
        came_to: the value as a text, if it is neither true nor false.
    """

    value: bool | None
    error: ExpressionError | None = None
    compared: tuple[Compared, ...] = ()
    came_to: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """An expression, and the states on which to evaluate it.

    Attributes:
        variables: the variables of each state.
        explain: whether outcomes list the values in comparisons, which takes longer.
    """

    expression: "Expression"
    variables: Iterable[Mapping[str, object]]
    explain: bool = False


class Expression:
    """A compiled expression. Raises: ExpressionError.

    Args:
        text: the source.
        names: ids of the processes that may be written without ``processes``.
        must_decide: refuse an expression whose type is not boolean.
    """

    def __init__(
        self, text: str, names: AbstractSet[str] = frozenset(), *, must_decide: bool = True
    ) -> None:
        _check_text(text)
        self.text = text
        self.names = frozenset(_NAME.findall(text)) & names - set(VARIABLES)
        self._environment = _environment(self.names)
        try:
            self._compiled = self._environment.compile(text)
        except RuntimeError as error:
            raise _compile_error(text, str(error)) from None
        kind = self._compiled.return_type().name()
        if must_decide and kind not in _ANSWERS:
            raise ExpressionError(
                f"The expression gives {_in_words(kind)}; it must be true or false.", text
            )

    @cached_property
    def tree(self) -> Node:
        """The syntax tree of the expression."""
        return tree.read(self._serialized)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """The places at which the expression uses variables."""
        return tuple(uses_in(self.tree, self.names))

    @cached_property
    def _serialized(self) -> bytes:
        return self._compiled.serialize()

    def outcome(self, variables: Mapping[str, object], *, explain: bool = False) -> Outcome:
        """Evaluate the expression on one state, without limits of time or memory.

        Args:
            variables: ``processes``, ``channels`` and ``snapshot``; leave out what is not known.
            explain: list the values in the first comparisons.
        """
        data = self._data(variables)
        value = _evaluated(self._compiled, data)
        if isinstance(value, bool):
            return Outcome(value, compared=tuple(self._compared(data)) if explain else ())
        if isinstance(value, _Failure):
            sentence, offset = _readable_failure(value.message), self._blamed(data)
            return Outcome(None, ExpressionError(sentence, self.text, offset))
        sentence = f"The result is {_shown(value)}, {_of_value(value)}; it must be true or false."
        error = ExpressionError(sentence, self.text, self.tree.offset)
        return Outcome(None, error, came_to=_shown(value))

    def _compared(self, data: Mapping[str, object]) -> Iterator[Compared]:
        """Yield the first comparisons outside of loops."""
        for node in islice(_comparisons(self.tree), MOST_COMPARED):
            left, right = (self._value(child, data) for child in node.children)
            if not isinstance(left, _Failure) and not isinstance(right, _Failure):
                yield Compared(_shown(left), _COMPARISONS[node.name], _shown(right))

    def _data(self, variables: Mapping[str, object]) -> dict[str, object]:
        processes = variables.get("processes", {})
        assert isinstance(processes, Mapping)
        alone = {name: processes[name] for name in self.names if name in processes}
        return {"processes": {}, "channels": {}, "snapshot": "", **variables, **alone}

    def _blamed(self, data: Mapping[str, object]) -> int:
        """Return the offset of the innermost part that has no value by itself."""
        node = self.tree
        while True:
            failing = next((child for child in _parts(node) if self._fails(child, data)), None)
            if failing is None:
                return node.offset
            node = failing

    def _fails(self, node: Node, data: Mapping[str, object]) -> bool:
        return isinstance(self._value(node, data), _Failure)

    def _value(self, node: Node, data: Mapping[str, object]) -> object:
        compiled = self._environment.deserialize(tree.part(self._serialized, node))
        return _evaluated(compiled, data)


@dataclass(frozen=True, slots=True)
class _Failure:
    message: str


def _evaluated(compiled: cel.Expression, data: Mapping[str, object]) -> object:
    try:
        value = compiled.eval(data=data)
    except RuntimeError as error:
        return _Failure(str(error))
    plain = value.plain_value()
    return _Failure(plain) if value.type().name() == "ERROR" else plain


def _parts(node: Node) -> tuple[Node, ...]:
    """Return the children that can be evaluated alone; for a comprehension only its range."""
    return node.children[:1] if node.kind == tree.COMPREHENSION else node.children


def _comparisons(node: Node) -> Iterator[Node]:
    if node.kind == tree.CALL and node.name in _COMPARISONS:
        yield node
    elif node.kind == tree.CALL and node.name in _AROUND:
        for child in node.children:
            yield from _comparisons(child)


def uses_in(
    node: Node, names: AbstractSet[str], hidden: AbstractSet[str] = frozenset()
) -> Iterator[Use]:
    """Yield the uses of variables below a node.

    Args:
        names: ids of the processes that may be written without ``processes``.
        hidden: names that a loop around the node gives to its items.
    """
    chosen = _chosen(node)
    if chosen is not None and chosen.kind in VARIABLES and chosen.kind not in hidden:
        yield chosen
    elif node.kind == tree.IDENT and node.name not in hidden:
        if node.name in names:
            yield Use("processes", node.name, node.offset)
        elif node.name in VARIABLES:
            yield Use(node.name, ALL, node.offset)
    else:
        for number, child in enumerate(node.children):
            is_range = node.kind == tree.COMPREHENSION and number == 0
            yield from uses_in(child, names, hidden if is_range else hidden | node.bound)


def _chosen(node: Node) -> Use | None:
    """Return the use in ``processes["A"]`` or ``processes.A``, and None for other nodes."""
    if node.kind == tree.SELECT and not node.is_test and node.children[0].kind == tree.IDENT:
        owner = node.children[0]
        return Use(owner.name, node.name, owner.offset)
    if node.is_call("_[_]") and node.children[0].kind == tree.IDENT:
        owner, key = node.children
        return None if key.text is None else Use(owner.name, key.text, owner.offset)
    return None


@lru_cache(maxsize=64)
def _environment(names: frozenset[str]) -> cel.Env:
    return cel.NewEnv(variables={**_TYPES, **dict.fromkeys(names, cel.Type.DYN)})


def _check_text(text: str) -> None:
    if not text.strip():
        raise ExpressionError('The expression is empty. Try size(channels["A->B"]) == 0.', text)
    if len(text) > LONGEST:
        raise ExpressionError(
            f"An expression has at most {LONGEST:,} characters, not {len(text):,}.", text, LONGEST
        )
    for offset, character in enumerate(text):
        if 0xD800 <= ord(character) <= 0xDFFF or character == "\0":
            raise ExpressionError("This character is not allowed.", text, offset)


def _compile_error(text: str, report: str) -> ExpressionError:
    """Return the first error in CEL's report, in plain words and with its place."""
    entry = _REPORT.search(report)
    if entry is None or int(entry[1]) < 1:
        if "recursion" in report:
            return ExpressionError("The expression is nested too deeply (32 at most).", text)
        return ExpressionError(f"CEL refuses this: {report[:LONGEST_SHOWN]}", text)
    line, column, message = int(entry[1]), int(entry[2]), entry[3]
    offset = sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column - 1
    undeclared = re.match(r"undeclared reference to '([^']*)'", message)
    if undeclared:
        name = undeclared[1].split(".")[0]
        offset = max(text.rfind(name, 0, offset + len(name)), 0)
        return ExpressionError(_undeclared(text, offset, name), text, offset)
    return ExpressionError(_readable_report(message), text, offset)


def _undeclared(text: str, offset: int, name: str) -> str:
    if text[offset + len(name) :].lstrip().startswith("("):
        return f"CEL has no function {name}."
    return (
        f"There is no {name} here. The variables are processes, channels and snapshot, for "
        f'example processes["{name}"].'
    )


def _readable_report(message: str) -> str:
    if unfit := re.match(r"found no matching overload for '([^']*)' applied to '(.*)'", message):
        return _unfit(unfit[1], unfit[2])
    if missing := re.match(r"Syntax error: missing (.*) at '(.*)'", message):
        return f"{missing[1]} is missing here."
    if "mismatched input '<EOF>'" in message:
        return "The expression ends too early."
    if unread := re.match(r"Syntax error: token recognition error at: '(.*)'", message):
        sign = unread[1].strip()
        hint = {"=": " Write == for equal.", "&": " Write && for and.", "|": " Write || for or."}
        return f"{sign} cannot be read.{hint.get(sign, '')}"
    if unexpected := re.match(
        r"Syntax error: (?:mismatched|extraneous) input '(.*?)' exp", message
    ):
        return f"{unexpected[1]} is not expected here."
    return f"{message[:200].rstrip('.')}."


def _readable_failure(message: str) -> str:
    """Return an error of evaluation in plain words."""
    message = re.sub(r"^[A-Z_]+: | \[[A-Z_]+\]$", "", message)
    if unfit := re.match(r"No matching overloads found : (.*?)\((.*)\)", message):
        return _unfit(unfit[1], unfit[2])
    if absent := re.match(r'Key not found in map : "?(.*?)"?$', message):
        return f"There is no {absent[1]} in it."
    if absent := re.match(r'No value with name "(.*)" found', message):
        return f"There is no {absent[1]} in it."
    if index := re.match(r"Index error: index=(-?\d+) size=(\d+)", message):
        return f"There is no item {index[1]}; the list has {index[2]}."
    if "Iteration budget" in message:
        return "The expression looks at more than 10,000 items, which is the limit."
    if "divide by zero" in message or "modulus by zero" in message:
        return "This divides by zero."
    if "SELECT to non-message" in message:
        return "Only an object has fields."
    return f"{message[:200].rstrip('.')}."


def _unfit(function: str, types: str) -> str:
    sign = function.strip("_").replace("_", "") or function
    kinds = [_in_words(kind) for kind in _KINDS.findall(types.strip("()"))]
    if sign == "[]" and len(kinds) == 2:
        return _no_item(*kinds)
    hint = ""
    if "a fraction" in kinds and "a whole number" in kinds:
        hint = " Write double(…), or 1.0 for 1."
    return f"{sign} does not apply to {' and '.join(kinds)}.{hint}"


def _no_item(owner: str, key: str) -> str:
    if owner == "a list":
        return f"An item of a list is named by its number, as in [2], not by {key}."
    if owner == "an object":
        return f'A field of an object is named by a text, as in ["name"], not by {key}.'
    return f"Only a list or an object has something in [ ], not {owner}."


_KINDS = re.compile(r"[^,(<]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|<[^>]*>)?")  # one type in a list
_WORDS = {
    "int": "a whole number",
    "uint": "a whole number",
    "double": "a fraction",
    "string": "a text",
    "bool": "true or false",
    "list": "a list",
    "map": "an object",
    "null": "nothing",
    "dyn": "any value",
    "any": "any value",
}
_OF_VALUES = {int: "int", float: "double", str: "string", bool: "bool", list: "list", dict: "map"}
_OF_VALUES[type(None)] = "null"


def _in_words(kind: str) -> str:
    """Return a type of CEL, such as ``list(dyn)``, ``INT64`` or ``null_type``, in plain words."""
    name = re.split(r"[(<]", kind.strip().lower())[0]
    return _WORDS.get(name.replace("64", "").removesuffix("_type"), name)


def _of_value(value: object) -> str:
    return _in_words(_OF_VALUES.get(type(value), type(value).__name__))


def _shown(value: object) -> str:
    """Format a value as JSON, with separators of thousands in numbers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:,}"
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
