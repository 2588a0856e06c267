"""KernelSource: the text, syntax tree and parameters of one Python function."""

from __future__ import annotations

import ast
import hashlib
import inspect
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

from ruda.errors import KernelSyntaxError
from ruda.frontend import captures, syntax
from ruda.frontend.annotations import Annotation, resolve
from ruda.frontend.names import Names
from ruda.frontend.parse import parse
from ruda.ir import Pos
from ruda.ir.report import at


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``default`` is ``inspect.Parameter.empty`` where there is none."""

    name: str
    annotation: Annotation | None
    default: object
    pos: Pos

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty


class KernelSource:
    """One Python function as kernel source.

    Attributes:
        function: the function itself; it is never called.
        name: its name.
        file, line: where it is defined, its first decorator included.
        tree: its syntax tree, with the file's own line numbers and columns in characters.
        params: its parameters in order.
        digest: SHA-256 of its text, name and parameters.
        device: whether it is a device function, which may return values.
    """

    def __init__(self, function: FunctionType, device: bool) -> None:
        self.function = function
        self.device = device
        self.name = function.__name__
        self.file = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        self.tree, self._lines = parse(function)
        syntax.check(self)
        self.params = tuple(self._parameters())
        self.names = Names.of(self.tree)
        self._collected: tuple[tuple[Callable[[], object], ...], tuple[object, ...]] | None = None
        text = "\n".join(self._lines[self.tree.lineno - self.line :])
        signature = "; ".join(f"{p.name}: {p.annotation} = {captures.stable(p.default)}" for p in self.params)
        self.digest = hashlib.sha256(f"{self.name}({signature})\n{text}".encode()).hexdigest()

    @classmethod
    def of(cls, function: Callable[..., Any], *, device: bool = False) -> KernelSource:
        """The source of ``function``.

        Raises:
            KernelSyntaxError: it has no source text, or a construct that kernels do not have.
            KernelError: an annotation that cannot be used.
        """
        if not isinstance(function, FunctionType):
            raise TypeError(f"a kernel is a Python function (def), not {function!r}")
        return cls(function, device)

    def _parameters(self) -> list[Parameter]:
        found = []
        args = self.tree.args
        nodes = {a.arg: a for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        raw = _raw_annotations(self.function)
        for name, parameter in inspect.signature(self.function, follow_wrapped=False).parameters.items():
            pos = self.pos(nodes[name])
            annotation = resolve(self.function, raw.get(name), pos)
            found.append(Parameter(name, annotation, parameter.default, pos))
        return found

    def pos(self, node: ast.AST) -> Pos:
        """The place of ``node``; to the end of its first line."""
        line: int = getattr(node, "lineno", self.line)
        column: int = getattr(node, "col_offset", 0)
        same_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", None) if same_line else None
        text = self._line(line)
        if not text.isascii():  # ast counts UTF-8 bytes
            data = text.encode()
            column = len(data[:column].decode(errors="ignore"))
            end = len(data[:end].decode(errors="ignore")) if end is not None else None
        return Pos(self.file, line, column, len(text.rstrip()) if end is None else end)

    def text(self, pos: Pos) -> str:
        """The source text at ``pos``, which is on one line."""
        return self._line(pos.line)[pos.column : pos.end_column]

    def _line(self, line: int) -> str:
        index = line - self.line
        return self._lines[index] if 0 <= index < len(self._lines) else ""

    @cached_property
    def reached(self) -> captures.Reached:
        """The captured names that the body uses."""
        return captures.Reached.of(self)

    def captures(self) -> tuple[object, ...]:
        """The present values of the captured names that compilation may use, through device functions too.

        They are the objects themselves: two calls that give the same objects found nothing changed. Kept cheap,
        since every launch asks; ``()`` where there are none.
        """
        if self._collected is not None:
            getters, before = self._collected
            found = tuple([get() for get in getters])
            if all(map(operator.is_, found, before)):
                return found
        # First, or what changed may be a device function, which captures other names.
        getters = tuple([get for source in self._sources() for get in source.reached.getters])
        found = tuple([get() for get in getters])
        self._collected = getters, found
        return found

    def _sources(self) -> list[KernelSource]:
        """The source itself and those of all device functions that it reaches now."""
        found = [self]
        for source in found:
            for get in source.reached.getters:
                found.extend(f for f in _functions(get()) if all(f is not known for known in found))
        return found

    def identity(self) -> str:
        """A digest of this source, of all functions that it reaches and of the captured values.

        It is the same in every process.
        """
        digest = hashlib.sha256()
        for source in self._sources():
            digest.update(f"source {source.digest}\n".encode())
            for path, get in zip(source.reached.paths, source.reached.getters, strict=True):
                digest.update(f"{'.'.join(path)} = {captures.stable(get())}\n".encode())
        return digest.hexdigest()


def _functions(value: object) -> Iterator[KernelSource]:
    """The sources of the device functions that a captured value is, or holds in tuples."""
    if isinstance(value, tuple):
        for item in value:
            yield from _functions(item)
    elif isinstance(source := getattr(value, "source", None), KernelSource):
        yield source


def _raw_annotations(function: FunctionType) -> dict[str, Any]:
    try:
        return dict(function.__annotations__)
    except NameError as error:  # Python 3.14 evaluates them here
        pos = Pos(function.__code__.co_filename, function.__code__.co_firstlineno)
        raise at(
            KernelSyntaxError, f"an annotation cannot be evaluated: {error}", pos, kernel=function.__name__
        ) from None
