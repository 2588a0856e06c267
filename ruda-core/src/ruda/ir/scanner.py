"""Reads the text form of kernels piece by piece: signs, names, numbers, positions, types and constants."""

from __future__ import annotations

import json
import re
import struct
from typing import NoReturn, cast

from ruda.errors import ValidationError
from ruda.ir.expressions import NOWHERE, Const, Pos
from ruda.types import ElementType, ScalarType, VecType, as_type, struct_type

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME = rf"(?:{_STRING}|[\w.$]+)"


class Scanner:
    """A place in a text. ``line`` is what is left of the present line, whose number is ``number``.

    Raises (from any method):
        ValidationError: names the line and what was expected there.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.number = 0
        self.line = ""
        self.files: dict[int, str] = {}

    def fail(self, expected: str) -> NoReturn:
        found = f"found {self.line!r}" if self.line else "the line ends"
        raise ValidationError(f"IR text, line {self.number}: expected {expected}, {found}")

    def next(self) -> None:
        """Go to the next line that is not blank."""
        self.line = ""
        while not self.line:
            self.number += 1
            if self.number > len(self.lines):
                self.fail("another line")
            self.line = self.lines[self.number - 1].strip()

    def end(self) -> None:
        if self.line:
            self.fail("the end of the line")

    def accept(self, pattern: str) -> str | None:
        """What ``pattern`` matches here, eaten together with the blanks after it."""
        found = re.match(pattern, self.line)
        if found is None:
            return None
        self.line = self.line[found.end() :].lstrip()
        return found.group()

    def expect(self, pattern: str, what: str) -> str:
        found = self.accept(pattern)
        return found if found is not None else self.fail(what)

    def word(self, *words: str) -> str:
        return self.expect(rf"(?:{'|'.join(words)})(?![\w.$])", " or ".join(words))

    def sign(self, text: str) -> None:
        self.expect(re.escape(text), repr(text))

    def integer(self) -> int:
        return int(self.expect(r"-?\d+", "an integer"))

    def name(self, sigil: str = "") -> str:
        text = self.expect(re.escape(sigil) + _NAME, f"a name after {sigil!r}" if sigil else "a name")[len(sigil) :]
        return cast(str, json.loads(text)) if text.startswith('"') else text

    def string(self) -> str:
        return cast(str, json.loads(self.expect(_STRING, "a string")))

    def listed(self, close: str) -> bool:
        """Whether another item of a comma-separated list follows; eats the comma or the closing sign."""
        if self.accept(re.escape(close)):
            return False
        self.accept(",")
        return True

    def pos(self) -> Pos:
        found = re.match(r"!(\d+):(\d+):(\d+)-(\d+)\s*", self.line)
        if found is None:
            return NOWHERE
        self.line = self.line[found.end() :]
        file, line, column, end = map(int, found.groups())
        if file not in self.files:
            self.fail(f"a file of the table, not number {file}")
        return Pos(self.files[file], line, column, end)

    def type(self) -> ScalarType:
        return self.scalar(self.expect(r"\w+", "a type"))

    def scalar(self, name: str) -> ScalarType:
        try:
            return as_type(name)
        except ValueError as error:
            raise ValidationError(f"IR text, line {self.number}: {error}") from None

    def elem(self) -> ElementType:
        if self.accept(r"vec\("):
            elem = self.type()
            self.sign(",")
            vec = VecType(elem, self.integer())
            self.sign(")")
            return vec
        if not self.accept(r"struct\b"):
            return self.type()
        name = self.name()
        fields: list[tuple[str, ElementType, tuple[int, ...]]] = []
        self.sign("{")
        while self.listed("}"):
            field = self.name()
            self.sign(":")
            fields.append((field, self.elem(), self.shape() if self.line.startswith("[") else ()))
        return struct_type(name, fields)

    def shape(self) -> tuple[int, ...]:
        self.sign("[")
        shape: list[int] = []
        while self.listed("]"):
            shape.append(self.integer())
        return tuple(shape)

    def shaped(self) -> tuple[str, ScalarType, tuple[int, ...]]:
        return self.name("@"), self.type(), self.shape()

    def const(self, name: str) -> Const:
        type = self.scalar(name)
        self.sign("(")
        text = self.expect(r"[^)\s]+", f"a constant of {type}")
        self.sign(")")
        try:
            return Const(type, _value(type, text))
        except (KeyError, ValueError):
            raise ValidationError(f"IR text, line {self.number}: {text!r} is no constant of {type}") from None


def _value(type: ScalarType, text: str) -> int | float | bool:
    if type.kind == "bool":
        return {"true": True, "false": False}[text]
    if not type.is_float:
        return int(text)
    if text.startswith("nan:"):
        return cast(float, struct.unpack("<d", struct.pack("<Q", int(text[4:], 16)))[0])
    return float.fromhex(text)
