"""The entry points of a PTX text: their names and parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$%]+)\s*(?:\((?P<params>[^)]*)\))?")
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<kind>[busf])(?P<bits>\d+)\s+"
    r"(?P<ptr>\.ptr\b[^\[]*?)?[\w$%]+\s*(?:\[\s*(?P<count>\d+)\s*\])?"
)

#: A mangled name, after ``_Z``: numbers with so many characters after them, between N and E if there are several.
_PART = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Parameter:
    """One parameter of an entry.

    Attributes:
        text: its type as PTX writes it.
        kind: ``"f"`` for a float, ``"u"`` or ``"s"`` for an integer or an address, ``"b"`` for bytes.
        pointer: whether it is said to be an address.
        position, size: bytes.
    """

    text: str
    kind: str
    pointer: bool
    position: int
    size: int


def entries(ptx: str) -> dict[str, tuple[Parameter, ...]]:
    """The parameters of each entry point, by its name."""
    text = _COMMENT.sub(" ", ptx)
    return {found["name"]: tuple(_parameters(found["params"] or "")) for found in _ENTRY.finditer(text)}


def readable(symbol: str) -> str:
    """The name that a symbol of C++ was mangled from, without its parameters: ``ns::f`` of ``_ZN2ns1fEPf``."""
    nested, rest = symbol.startswith("_ZN"), symbol[3:] if symbol.startswith("_ZN") else symbol[2:]
    parts: list[str] = []
    while symbol.startswith("_Z") and (digits := _PART.match(rest)) and (nested or not parts):
        end = digits.end() + int(digits[0])
        parts.append(rest[digits.end() : end])
        rest = rest[end:]
    return "::".join(parts) or symbol


def _parameters(text: str) -> Iterator[Parameter]:
    end = 0
    for found in _PARAM.finditer(text):
        unit = int(found["bits"]) // 8
        count, align = int(found["count"] or 1), int(found["align"] or unit)
        position = -(-end // align) * align
        shown = f".{found['kind']}{found['bits']}" + (f"[{count}]" if found["count"] else "")
        yield Parameter(shown, found["kind"], bool(found["ptr"]), position, unit * count)
        end = position + unit * count
