"""KernelSource: the text, syntax tree and parameters of one Python function."""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import inspect
import operator
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CellType, FunctionType, ModuleType
from typing import Any

from ruda.errors import KernelSyntaxError
from ruda.frontend import captures, syntax
from ruda.frontend.annotations import Annotation, resolve
from ruda.frontend.names import Names
from ruda.frontend.parse import code_of, keep_lines, parse, tree_of
from ruda.ir import Pos
from ruda.ir.report import at


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    ``default`` is ``inspect.Parameter.empty`` where there is none; ``optional`` says that the annotation is
    ``T | None``, of which ``annotation`` is T; ``keyword_only`` that it stands behind a ``*``.
    """

    name: str
    annotation: Annotation | None
    default: object
    pos: Pos
    optional: bool = False
    keyword_only: bool = False

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
        self._begin(function, device, *parse(function))
        syntax.check(self)
        self.params = tuple(self._parameters())
        text = "\n".join(self._lines[self.tree.lineno - self.line :])
        signature = "; ".join(
            f"{p.name}: {p.annotation}{' | None' * p.optional} = {captures.stable(p.default)}" for p in self.params
        )
        self.digest = hashlib.sha256(f"{self.name}({signature})\n{text}".encode()).hexdigest()

    def _begin(self, function: FunctionType, device: bool, tree: ast.FunctionDef, lines: list[str]) -> None:
        self.function = function
        self.device = device
        self.name = function.__name__
        self.file = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        self.tree, self._lines = tree, lines
        self.names = Names.of(tree)
        self._collected: tuple[tuple[Callable[[], object], ...], tuple[object, ...]] | None = None

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
        if hasattr(self.function, "__wrapped__"):  # functools.wraps gave it another function's annotations
            raw = {name: ast.unparse(node.annotation) for name, node in nodes.items() if node.annotation is not None}
        for name, parameter in inspect.signature(self.function, follow_wrapped=False).parameters.items():
            pos = self.pos(nodes[name])
            annotation, optional = resolve(self.function, raw.get(name), pos)
            keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            found.append(Parameter(name, annotation, parameter.default, pos, optional, keyword_only))
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

    def inputs(self) -> str | None:
        """:meth:`identity` with the places of the text, which IR holds too.

        None where a captured value is an object of which a text cannot tell all that a kernel may reach.
        """
        sources = self._sources()
        if not all(_is_told(get()) for source in sources for get in source.reached.getters):
            return None
        return "\n".join([self.identity(), *(str(source.pos(source.tree)) for source in sources)])

    def parts(self) -> dict[str, str]:
        """What :meth:`identity` is made of, by names for people; each text changes where the part does."""
        found = {}
        for source in self._sources():
            kind = "the kernel's source" if source is self else f"the source of {source.name}"
            found[kind] = source.digest
            for path, get in zip(source.reached.paths, source.reached.getters, strict=True):
                value = get()
                if not any(True for _ in _functions(value)):
                    found[f"captured {'.'.join(path)}"] = captures.shown(value)
        return found

    # --- pickling: the text, and what it captures as it is now ---

    def __getstate__(self) -> dict[str, Any]:
        function = self.function
        code = function.__code__
        roots = sorted({path[0] for path in captures.paths(self)})
        values = {name: captures.getter(function, name)() for name in roots}
        return {
            "lines": self._lines,
            "file": self.file,
            "line": self.line,
            "names": (function.__name__, function.__qualname__, function.__module__),
            "free": code.co_freevars,
            "flags": code.co_flags,
            "values": {k: _portable(v) for k, v in values.items() if v is not captures.MISSING},
            "device": self.device,
            "params": self.params,
            "digest": self.digest,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        lines, file, line = state["lines"], state["file"], state["line"]
        name, qualname, module = state["names"]
        keep_lines(file, line, lines)
        tree = tree_of(name, lines, Pos(file, line))
        code = code_of(tree, file, state["free"], state["flags"])
        if code is None:
            raise pickle.UnpicklingError(f"{name} of {file}:{line} does not compile on this Python")
        values = {k: v.module if isinstance(v, _Module) else v for k, v in state["values"].items()}
        cells = tuple(CellType(values[n]) if n in values else CellType() for n in code.co_freevars)
        scope = {"__name__": module, "__builtins__": builtins, **values}
        function = FunctionType(code.replace(co_firstlineno=line), scope, name, None, cells)
        function.__qualname__ = qualname
        self._begin(function, state["device"], tree, lines)
        self.params, self.digest = state["params"], state["digest"]


class _Module:
    """A captured module in a pickle: by name."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def __reduce__(self) -> tuple[Any, ...]:
        return _imported, (self.module.__name__,)


def _imported(name: str) -> _Module:
    return _Module(importlib.import_module(name))


def _portable(value: object) -> object:
    return _Module(value) if isinstance(value, ModuleType) else value


def identity_of(value: object) -> str:
    """A text for a compile-time value: it tells apart what :func:`captures.stable` does, and device functions."""
    return " ".join([captures.stable(value), *(source.identity() for source in _functions(value))])


def inputs_of(value: object) -> str | None:
    """As :meth:`KernelSource.inputs`, of a compile-time value."""
    if not _is_told(value):
        return None
    return "\n".join([captures.stable(value), *(str(source.inputs()) for source in _functions(value))])


def _is_told(value: object) -> bool:
    """Whether a text stands for all of ``value``; see :func:`captures.is_told`."""
    if type(value) is tuple:
        return all(map(_is_told, value))
    return isinstance(getattr(value, "source", None), KernelSource) or captures.is_told(value)


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
