"""How the parameters of a simulated run are declared: once, as the fields of a model.

A field has a type with its bounds and unit, a default, a title and a description. The check of a
request, the HTML form, the API's schema and docs/simulation-parameters.md all follow from these.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from inspect import signature
from types import NoneType, SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUndefined, core_schema

from snapshots.problems import Refused

LARGEST_SEED = 2**63 - 1
LARGEST_TIME = 10**15  # us, some thirty years
LARGEST_DELAY = 10**9  # us
MICROSECONDS = "µs"

Value = TypeVar("Value")


# --- types of parameters ------------------------------------------------------------------------


@dataclass(frozen=True)
class Whole:
    """Marks a whole number between two bounds, both included."""

    least: int
    most: int
    unit: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        numbers = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        bounds = f"from {self.least:,} to {self.most:,} {self.unit}".strip()
        return _saying(f"{{field}} is a whole number {bounds}.", numbers)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return handler(schema) | ({"unit": self.unit} if self.unit else {})


@dataclass(frozen=True)
class Option:
    """A value of a choice, with a sentence that says what it does."""

    name: str
    title: str
    sentence: str


@dataclass(frozen=True)
class OneOf:
    """Marks a text that is the name of one of the options."""

    options: tuple[Option, ...]

    @property
    def names(self) -> list[str]:
        return [option.name for option in self.options]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        sentence = f"The {{field}} is one of {', '.join(self.names)}."
        return _saying(sentence, core_schema.literal_schema(self.names))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        described = [
            {"const": option.name, "title": option.title, "description": option.sentence}
            for option in self.options
        ]
        return {"type": "string", "enum": self.names, "oneOf": described}


def _saying(sentence: str, schema: core_schema.CoreSchema) -> core_schema.CoreSchema:
    """Return the schema with this sentence in place of all its messages."""
    return core_schema.custom_error_schema(schema, "refused", custom_error_message=sentence)


@dataclass(frozen=True)
class Multiple:
    """Marks a number above 0. A whole number stays whole."""

    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        number = core_schema.float_schema(strict=True, gt=0, le=self.most)
        sentence = f"How many times longer than others it takes: above 0, up to {self.most:,}."
        return core_schema.no_info_wrap_validator_function(_as_given, _saying(sentence, number))


def _as_given(value: Any, check: Any) -> Any:
    check(value)
    return value


Time = Annotated[int, Whole(0, LARGEST_TIME, MICROSECONDS)]
Span = Annotated[int, Whole(1, LARGEST_TIME, MICROSECONDS)]
Delay = Annotated[int, Whole(0, LARGEST_DELAY, MICROSECONDS)]
Times = Annotated[list[Time], AfterValidator(sorted)]
Factor = Annotated[float, Multiple(1_000_000)]


# --- words, and where a form shows a parameter --------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """How a form shows a parameter: by default folded away, under its own name.

    Args:
        name: the name of the input, if another parameter has the parameter's own.
        main: whether it is shown without unfolding.
        begins: the value that the form begins with, if that is not the default.
        suggests: the names to choose from, ``processes`` or ``subtasks``.
        hidden: whether only the API has it.
    """

    name: str = ""
    main: bool = False
    begins: str = ""
    suggests: str = ""
    hidden: bool = False


FOLDED, MAIN, API_ONLY = Shown(), Shown(main=True), Shown(hidden=True)


def declared(
    title: str,
    description: str,
    default: Any = PydanticUndefined,
    shown: Shown = FOLDED,
    *,
    example: Any = None,
    most: int | None = None,
) -> Any:
    """Return the field of a parameter.

    Args:
        title: its label in forms.
        description: what it does, in sentences that forms, the API and the documentation show.
        default: left out if the parameter is required, or if the class that has it gives one.
        shown: where a form shows it.
        example: what a form begins with if the parameter is required; refusals show it too.
        most: how many items a list holds at most.
    """
    examples = None if example is None else [example]
    field = Field(default, title=title, description=description, examples=examples, max_length=most)
    field.metadata.append(shown)
    return field


class Declared(NamedTuple):
    """A parameter that holds no others. ``path``: such as ``failures[0].at``."""

    path: str
    info: FieldInfo

    @property
    def name(self) -> str:
        return self.shown.name or self.path.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """The kind of value: a name below, ``choice``, ``numbers`` or ``texts``."""
        hint = _plain(self.info.annotation)
        if self.options or get_origin(hint) is Literal:
            return "choice"
        if get_origin(hint) is list:
            return "numbers" if _plain(get_args(hint)[0]) is int else "texts"
        return {bool: "flag", int: "number", float: "factor", str: "text"}.get(hint, "map")

    @property
    def options(self) -> tuple[Option, ...]:
        choice = self._marked(OneOf)
        return choice.options if choice else ()

    @property
    def bounds(self) -> Whole | None:
        return self._marked(Whole)

    @property
    def shown(self) -> Shown:
        return self._marked(Shown) or FOLDED

    @property
    def label(self) -> str:
        """The title with the unit of its numbers."""
        unit = self.bounds.unit if self.bounds else ""
        return f"{self.info.title}, {unit}" if unit else str(self.info.title)

    @property
    def default(self) -> Any:
        """The default; None if there is none."""
        return None if self.info.is_required() else self.info.get_default(call_default_factory=True)

    @property
    def takes_null(self) -> bool:
        return NoneType in get_args(self.info.annotation)

    def _marked(self, mark: type[Value]) -> Value | None:
        marks = [*self.info.metadata, *_marks(self.info.annotation)]
        return next((item for item in marks if isinstance(item, mark)), None)


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield what ``Annotated`` adds to a type, and to those within it."""
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from _marks(part)


def _plain(annotation: Any) -> Any:
    """Return a type without its marks and without None."""
    if hasattr(annotation, "__metadata__"):
        return _plain(get_args(annotation)[0])
    parts = get_args(annotation)
    return _plain(parts[0]) if NoneType in parts else annotation


# --- models of parameters ------------------------------------------------------------------------


class Parameters(BaseModel):
    """Parameters of a run, or some that belong together. A null stands for the default."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if not cls._is_null(name, value)}

    @classmethod
    def _is_null(cls, name: str, value: Any) -> bool:
        info = cls.model_fields.get(name)
        return value is None and info is not None and NoneType not in get_args(info.annotation)

    @classmethod
    def checked(cls, given: Mapping[str, Any], context: Any = None) -> Self:
        """Return the parameters with every default filled in.

        Args:
            given: the request.
            context: the topology or dataflow of the run; names are looked up there.

        Raises: Refused, with the parameter as field.
        """
        try:
            return cls.model_validate(given, context=context)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise _refusal(first, _example(cls, first["loc"])) from None

    @classmethod
    def read(cls, stored: Mapping[str, Any], context: Any) -> Self:
        """Return stored parameters. Those that older runs did not have get their defaults."""
        return cls.checked(
            {name: stored[name] for name in cls.model_fields if name in stored}, context
        )

    def stored(self) -> dict[str, Any]:
        """Return what is kept with the recording."""
        return self.model_dump()

    @classmethod
    def declared(cls, prefix: str = "") -> Iterator[Declared]:
        """Yield all parameters, including those within others.

        ``prefix``: the path of their owner.
        """
        for name, info in cls.model_fields.items():
            inner = _model_in(info)
            if inner is None:
                yield Declared(f"{prefix}{name}", info)
            else:
                in_list = get_origin(_plain(info.annotation)) is list
                yield from inner.declared(f"{prefix}{name}[0]." if in_list else f"{prefix}{name}.")

    def filled(self, into: type[Value], **others: Any) -> Value:
        """Return a dataclass from the parameters of the same names, and ``others``."""
        same = signature(into).parameters.keys() & type(self).model_fields.keys() - others.keys()
        return into(**others, **{name: getattr(self, name) for name in same})


def defaults(cls: type) -> SimpleNamespace:
    """Return the defaults of a dataclass, which the parameters of the same names take over."""
    named = {item.name: item.default for item in fields(cls) if item.default is not MISSING}
    return SimpleNamespace(**named)


# --- refusals ------------------------------------------------------------------------------------

_SENTENCES = {
    "extra_forbidden": "There is no parameter {field!r}.",
    "missing": "{field} is missing.",
    "bool_type": "{field} is true or false.",
    "string_type": "{field} is a text.",
    "list_type": "{field} is a list{example}.",
    "dict_type": "{field} is an object{example}.",
    "model_type": "{field} is an object{example}.",
    "too_long": "{field} has at most {max_length:,} items.",
}


def refused(sentence: str, field: str) -> Refused:
    return Refused(sentence, code="invalid-field", field=field[:200])


def context_of(info: ValidationInfo) -> Any:
    """Return the topology or dataflow in which a validator looks names up."""
    assert info.context is not None  # ``checked`` gives one to models that look names up
    return info.context


def not_there(sentence: str) -> PydanticCustomError:
    """Return the error for a name that a validator's context lacks."""
    return PydanticCustomError("refused", sentence)


def _refusal(error: Mapping[str, Any], example: str) -> Refused:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part[:100]}" for part in error["loc"]]
    path = "".join(parts).removeprefix(".")
    field = "".join(parts[-2:] if parts[-1].startswith("[") else parts[-1:]).removeprefix(".")
    template = _SENTENCES.get(error["type"])
    if template is None:
        return refused(error["msg"].replace("{field}", field), path)
    return refused(template.format(field=field, example=example, **error.get("ctx", {})), path)


def _example(cls: type[Parameters], path: Iterable[str | int]) -> str:
    """Return the end of a sentence with the example declared at this path, else nothing."""
    examples: list[Any] | None = None
    model: type[Parameters] | None = cls
    for part in path:
        if isinstance(part, int):
            examples = examples and examples[0][:1]
        else:
            info = model.model_fields.get(part) if model else None
            examples, model = (info.examples, _model_in(info)) if info else (None, None)
    return f", as in {json.dumps(examples[0])}" if examples else ""


def _model_in(info: FieldInfo) -> type[Parameters] | None:
    """Return the model of the parameters that this one holds, itself or in a list."""
    hint = _plain(info.annotation)
    hint = _plain(get_args(hint)[0]) if get_origin(hint) is list else hint
    return hint if isinstance(hint, type) and issubclass(hint, Parameters) else None
