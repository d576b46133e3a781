"""Reads Java's object serialization streams by their grammar: no class is needed, nothing runs.

Source: Java Object Serialization Specification, chapter 6 (stream protocol version 5).

The contents of a stream become JSON values:

    object      {"class": name, "fields": {name: value}}, and "written": {class: [contents]} where
                a class wrote more than its fields; a proxy has its "interfaces" beside
    enum        {"class": name, "constant": name}
    array       list; {"hex": text} for bytes, and a text for characters
    block data  {"block": hex}
    class       {"class": "java.lang.Class", "fields": {"name": name}}
    exception   {"exception": object}, where writing broke off: the object under way is lost

A superclass's field is called ``Superclass.field`` if a class below has the same name. NaN and the
infinities are texts. A reference is replaced by a copy of its object. If the object contains the
reference or the copies become too large, it is {"class": name, "same_as": number} instead, and the
object has that "id".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from snapshots.readers.formats.cursor import Cursor, Malformed, modified_utf8
from snapshots.readers.formats.java.classes import (
    EXTERNALIZABLE,
    IN_BLOCKS,
    SERIALIZABLE,
    WRITES,
    Descriptor,
)
from snapshots.readers.formats.java.primitives import SIZES, many, one

MAGIC = b"\xac\xed\x00\x05"
MOST_NESTED = 100  # values in values, and superclasses of a class
MOST_MEMORY = 64 * 2**20  # estimated bytes of all that one call returns
MOST_REPEATED = 8 * 2**20  # of these, the bytes of copies

(
    _NULL, _REFERENCE, _CLASS_DESCRIPTOR, _OBJECT, _STRING, _ARRAY, _CLASS, _BLOCK, _END_BLOCK,
    _RESET, _LONG_BLOCK, _EXCEPTION, _LONG_STRING, _PROXY_DESCRIPTOR, _ENUM,
) = range(0x70, 0x7F)  # fmt: skip
_FIRST_HANDLE = 0x7E0000
_OF_VALUE, _OF_OBJECT, _OF_TEXT = 32, 512, 64  # bytes of memory, estimated


def parse(data: bytes) -> list[object]:
    """Return the contents of a whole stream. Raises: Malformed."""
    stream = _Stream(Cursor(data))
    contents = []
    while stream.cursor.left:
        contents += stream.contents()
    return contents


def skip(cursor: Cursor) -> list[object]:
    """Return the first content of the stream at the cursor, and move the cursor behind it.

    The list is empty if the data ends before any content. Raises: Malformed.
    """
    stream = _Stream(cursor)
    while cursor.left:
        if contents := stream.contents():
            return contents
    return []


@dataclass(slots=True)
class _Target:
    """A value to which a reference may point.

    Attributes:
        name: the name of its class.
        memory: its estimated bytes. None means that it is still being read.
        height: how many values it nests in one another.
    """

    value: object
    name: str
    memory: int | None = None
    height: int = 0


class _Broken(Exception):
    """The writer of the stream broke off here with an exception of its own."""

    def __init__(self, exception: object) -> None:
        self.exception = exception


class _Stream:
    """One stream: the objects that it may refer to, and the memory in use."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        at = cursor.position
        if cursor.take(len(MAGIC)) != MAGIC:
            raise Malformed("Java's serialized objects begin with ac ed 00 05, not this", at)
        self._handles: list[Descriptor | _Target] = []
        self._forgotten = 0  # handles before the last reset
        self._memory = 0
        self._repeated = 0
        self._depth = 0
        self._height = 0  # of the value that was read last

    def contents(self) -> list[object]:
        """Return the next content in a list, which is empty for a reset. Raises: Malformed."""
        self._depth = 0
        try:
            return self._content()
        except _Broken as broken:
            return [{"exception": broken.exception}]

    def _content(self) -> list[object]:
        at, kind = self.cursor.position, self.cursor.u8()
        if kind == _RESET and self._depth == 0:
            self._charge(_OF_VALUE, at)
            self._reset()
            return []
        if kind in (_BLOCK, _LONG_BLOCK):
            length = self.cursor.u8() if kind == _BLOCK else self.cursor.count()
            self._charge(2 * length + _OF_OBJECT, at)
            self._height = 0
            return [{"block": self.cursor.take(length).hex()}]
        return [self._value_of(kind, at)]

    def _value(self) -> object:
        """Read an object of any kind."""
        at = self.cursor.position
        return self._value_of(self.cursor.u8(), at)

    def _value_of(self, kind: int, at: int) -> object:
        """Read the rest of an object whose first byte, at ``at``, is ``kind``."""
        read = self._READ.get(kind)
        if read is None:
            raise Malformed(f"The byte {kind:#04x} begins no object", at)
        if self._depth >= MOST_NESTED:
            raise Malformed(f"Objects are nested more than {MOST_NESTED} deep", at)
        self._depth += 1
        self._height = 0
        value = read(self, at)
        self._depth -= 1
        return value

    def _null(self, at: int) -> None:
        self._charge(_OF_VALUE, at)

    def _broken(self, at: int) -> None:
        self._reset()
        exception = self._value()
        self._reset()
        raise _Broken(exception)

    def _reset(self) -> None:
        self._forgotten += len(self._handles)
        self._handles.clear()

    def _charge(self, memory: int, at: int) -> None:
        self._memory += memory
        if self._memory > MOST_MEMORY:
            raise Malformed(f"The objects take more than {MOST_MEMORY >> 20} MiB", at)

    def _target(self, value: object, name: str) -> _Target:
        target = _Target(value, name)
        self._handles.append(target)
        return target

    def _handle(self, at: int) -> tuple[int, Descriptor | _Target]:
        """Read a reference; return its number, counted over resets, and what it points to."""
        place = self.cursor.i32() - _FIRST_HANDLE
        if not 0 <= place < len(self._handles):
            raise Malformed(f"A reference to object {place}, which does not stand before it", at)
        return self._forgotten + place, self._handles[place]

    # What can be referred to

    def _reference(self, at: int) -> object:
        number, target = self._handle(at)
        if isinstance(target, Descriptor):
            return self._described(target, at)
        if (
            target.memory is None
            or self._repeated + target.memory > MOST_REPEATED
            or self._depth + target.height > MOST_NESTED
        ):
            if isinstance(target.value, dict):
                target.value["id"] = number
            elif isinstance(target.value, str):
                raise Malformed(f"Repeated texts take more than {MOST_REPEATED >> 20} MiB", at)
            self._charge(_OF_OBJECT, at)
            return {"class": target.name, "same_as": number}
        self._repeated += target.memory
        self._charge(target.memory, at)
        self._height = target.height
        return target.value

    def _string(self, at: int) -> str:
        return self._text(self.cursor.utf(), at)

    def _long_string(self, at: int) -> str:
        start, length = self.cursor.position, self.cursor.i64()
        return self._text(modified_utf8(self.cursor.take(length), start), at)

    def _text(self, text: str, at: int) -> str:
        target = self._target(text, "java.lang.String")
        target.memory = _OF_TEXT + 4 * len(text)
        self._charge(target.memory, at)
        return text

    def _enum(self, at: int) -> dict:
        descriptor = self._needed_descriptor()
        value = {"class": descriptor.name}
        before, target = self._memory, self._target(value, descriptor.name)
        self._charge(_OF_OBJECT, at)
        constant = self._value()
        if not isinstance(constant, str):
            raise Malformed("The name of an enum's constant is not text", at)
        value["constant"] = constant
        self._finish(target, before, 0)
        return value

    def _array(self, at: int) -> object:
        descriptor = self._needed_descriptor()
        code = descriptor.name[1:2]
        if descriptor.name[:1] != "[" or code not in (*SIZES, "L", "["):
            raise Malformed(f"An array is of the class {descriptor.name[:60]!r}", at)
        value: list[object] = []
        before, target = self._memory, self._target(value, descriptor.name)
        length = self.cursor.count(bytes_each=SIZES.get(code, 1))
        if code in SIZES:
            each = 4 if code in "BC" else _OF_VALUE
            self._charge(_OF_OBJECT + each * length, at)
            target.value = many(code, self.cursor.take(length * SIZES[code]))
            self._finish(target, before, 0)
            return target.value
        self._charge(_OF_OBJECT, at)
        height = 0
        for _ in range(length):
            value.append(self._value())
            height = max(height, self._height)
        self._finish(target, before, height + 1)
        return value

    def _object(self, at: int) -> dict:
        descriptor = self._needed_descriptor()
        value: dict[str, Any] = {"class": descriptor.name, "fields": {}}
        if descriptor.interfaces is not None:
            value["interfaces"] = list(descriptor.interfaces)
        before, target = self._memory, self._target(value, descriptor.name)
        self._charge(_OF_OBJECT, at)
        height = 0
        for part, fields in descriptor.layout:
            height = max(height, self._part(value, part, fields, at))
        self._finish(target, before, height + 1)
        return value

    def _part(self, value: dict, part: Descriptor, fields: list[tuple[str, str]], at: int) -> int:
        """Read what one class of an object has written; return the height of its highest value."""
        if part.flags & EXTERNALIZABLE and not part.flags & IN_BLOCKS:
            raise Malformed(f"{part.name[:60]} has written bytes that only it can read", at)
        height = 0
        for code, name in fields:
            value["fields"][name] = self._field(code, at)
            height = max(height, self._height)
        if part.flags & EXTERNALIZABLE or part.flags & WRITES:
            contents, highest = self._until_end_of_block()
            if contents:
                value.setdefault("written", {})[part.name] = contents
            height = max(height, highest)
        return height

    def _field(self, code: str, at: int) -> object:
        if code not in SIZES:
            return self._value()
        self._height = 0
        self._charge(_OF_VALUE, at)
        return one(code, self.cursor.take(SIZES[code]))

    def _until_end_of_block(self) -> tuple[list[object], int]:
        """Return all contents before the end of a block, and the height of the highest one."""
        contents: list[object] = []
        height = 0
        while self.cursor.left:
            if self.cursor.data[self.cursor.position] == _END_BLOCK:
                self.cursor.take(1)
                return contents, height
            contents += self._content()
            height = max(height, self._height)
        raise Malformed("The data ends within what a class has written", self.cursor.position)

    def _finish(self, target: _Target, before: int, height: int) -> None:
        """Note the size of an object that has been read; ``before`` is the memory before it."""
        target.memory, target.height = self._memory - before, height
        self._height = height

    # Classes

    def _class(self, at: int) -> dict:
        descriptor = self._needed_descriptor()
        value = self._described(descriptor, at, "java.lang.Class")
        self._finish(self._target(value, "java.lang.Class"), self._memory - _OF_OBJECT, 0)
        return value

    def _described(
        self, descriptor: Descriptor, at: int, kind: str = "java.io.ObjectStreamClass"
    ) -> dict:
        self._charge(_OF_OBJECT, at)
        return {"class": kind, "fields": {"name": descriptor.name}}

    def _new_descriptor(self, at: int) -> dict:
        return self._described(self._read_descriptor(), at)

    def _new_proxy_descriptor(self, at: int) -> dict:
        return self._described(self._read_proxy_descriptor(), at)

    def _needed_descriptor(self) -> Descriptor:
        descriptor = self._descriptor()
        if descriptor is None:
            raise Malformed("An object has no class", self.cursor.position)
        return descriptor

    def _descriptor(self) -> Descriptor | None:
        at, kind = self.cursor.position, self.cursor.u8()
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            _, descriptor = self._handle(at)
            if isinstance(descriptor, Descriptor) and descriptor.complete:
                return descriptor
            raise Malformed("A class is expected and a reference to something else is there", at)
        if kind not in (_CLASS_DESCRIPTOR, _PROXY_DESCRIPTOR):
            raise Malformed(f"A class is expected and the byte {kind:#04x} is there", at)
        if self._depth >= MOST_NESTED:
            raise Malformed(f"Classes are nested more than {MOST_NESTED} deep", at)
        self._depth += 1
        is_proxy = kind == _PROXY_DESCRIPTOR
        described = self._read_proxy_descriptor() if is_proxy else self._read_descriptor()
        self._depth -= 1
        return described

    def _read_descriptor(self) -> Descriptor:
        at = self.cursor.position
        descriptor = Descriptor(self.cursor.utf())
        self.cursor.i64()  # the class's serialVersionUID
        self._handles.append(descriptor)
        descriptor.flags = self.cursor.u8()
        count = self.cursor.i16()
        if not 0 <= 3 * count <= self.cursor.left:
            raise Malformed(f"A class of {count} fields is announced", at)
        self._charge(_OF_OBJECT + 4 * len(descriptor.name) + count * _OF_OBJECT, at)
        descriptor.fields = tuple(self._declared() for _ in range(count))
        return self._completed(descriptor, at)

    def _declared(self) -> tuple[str, str]:
        at, code = self.cursor.position, chr(self.cursor.u8())
        name = self.cursor.utf()
        self._charge(4 * len(name), at)
        if code in "[L":
            if not isinstance(self._value(), str):
                raise Malformed("The type of a field is not text", at)
        elif code not in SIZES:
            raise Malformed(f"A field is of the type {code!r}", at)
        return code, name

    def _read_proxy_descriptor(self) -> Descriptor:
        at = self.cursor.position
        descriptor = Descriptor("java.lang.reflect.Proxy", SERIALIZABLE)
        self._handles.append(descriptor)
        count = self.cursor.count(bytes_each=2)
        self._charge(_OF_OBJECT * (count + 1), at)
        descriptor.interfaces = tuple(self.cursor.utf() for _ in range(count))
        self._charge(sum(4 * len(name) for name in descriptor.interfaces), at)
        return self._completed(descriptor, at)

    def _completed(self, descriptor: Descriptor, at: int) -> Descriptor:
        self._until_end_of_block()
        descriptor.parent = self._descriptor()
        if descriptor.parent is not None:
            descriptor.ancestors = descriptor.parent.ancestors + 1
        if descriptor.ancestors > MOST_NESTED:
            raise Malformed(f"A class has more than {MOST_NESTED} superclasses", at)
        descriptor.complete = True
        self._height = 0
        return descriptor

    _READ: ClassVar[dict[int, Callable[["_Stream", int], object]]] = {
        _NULL: _null,
        _REFERENCE: _reference,
        _CLASS_DESCRIPTOR: _new_descriptor,
        _OBJECT: _object,
        _STRING: _string,
        _ARRAY: _array,
        _CLASS: _class,
        _EXCEPTION: _broken,
        _LONG_STRING: _long_string,
        _PROXY_DESCRIPTOR: _new_proxy_descriptor,
        _ENUM: _enum,
    }
