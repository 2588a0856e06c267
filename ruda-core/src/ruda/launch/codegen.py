"""The generated launcher: two small functions with the kernel's own parameter names.

``bound``, one for each grid and block that a kernel is launched with, looks
up what belongs to its arguments and calls it; anything unusual goes to
``miss``, which checks everything and has the messages. ``run``, one for each
entry of that table, compares owners, packs and launches. Neither loops, has
a check that ``miss`` could have made, or formats anything. Where they are
compiled, :mod:`ruda.launch.native` has the same in C::

    def bound(a=MISSING, x=MISSING, *more, **unknown):  # what follows a * in the kernel is behind more
        try:
            run = runs[a.__class__, x.sig]
        except Exception:
            run = None
        if run is None or more or unknown:
            run = miss(more, unknown, a, x)
        return run(a, x)

    def run(a, x):
        try:
            packed = pack(a, x.packed)
        except PACK_ERRORS:
            return again(a, x)
        with lock:
            if stream.server is server and x.memory.owner is stream:
                return launch(packed, ())
        if stream.server is not server:  # the client was closed, or something is profiled, or was
            return again(a, x)
        late(packed, (), x.memory)
"""

from __future__ import annotations

import functools
import operator
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from keyword import iskeyword
from types import CodeType
from typing import Any

from ruda.contract import Binding, Server
from ruda.frontend import Parameter, Spec
from ruda.host import Array, Stream
from ruda.host.scalars import PACK_ERRORS
from ruda.launch import native
from ruda.launch.arguments import MISSING, Treatment

Run = Callable[..., None]


#: What stands in the table's key for an argument ({0}), by its parameter's kind; {1} is the class of arrays.
_KEY_PARTS = {
    "a": "{0}.sig, ",
    "s": "{0}.__class__, ",
    "c": "{0}.__class__, {0}, ",
    "o": "({0}.sig if {0}.__class__ is {1} else {0}.__class__), ",
}


def bound_maker(name: str, params: Sequence[Parameter]) -> Callable[..., tuple[Run, Callable[..., Any]]]:
    """A function of (runs, miss) that makes ``bound`` and the function that gives its key for arguments."""
    p, name = _prefix(params), _identifier(name)
    names = "".join(f"{q.name}, " for q in params)
    key = "".join(_KEY_PARTS[native.kind(q)].format(q.name, f"{p}Array") for q in params) or "()"
    defaults = {f"{p}{i}": q.default for i, q in enumerate(params) if q.has_default}
    accepted = [f"{q.name}={p}{i if q.has_default else 'MISSING'}" for i, q in enumerate(params)]
    accepted.insert(sum(not q.keyword_only for q in params), f"*{p}more")
    source = f"""
def make({p}runs, {p}miss):
    def {name}({", ".join(accepted)}, **{p}unknown):
        try:
            {p}run = {p}runs[{key}]
        except Exception:
            {p}run = None
        if {p}run is None or {p}more or {p}unknown:
            {p}run = {p}miss({p}more, {p}unknown, {names})
        return {p}run({names})
    {name}.__qualname__ = {name!r}
    def key({names}):
        return {key}
    return {name}, key
"""
    make: Callable[..., tuple[Run, Callable[..., Any]]]
    make = _executed(source, name, {f"{p}Array": Array, f"{p}MISSING": MISSING, **defaults})
    return make


@dataclass(frozen=True)
class Parts:
    """What ``run`` is made of.

    Attributes:
        stream, lock: where it launches.
        server, launch: what the stream's server was, and its function that launches there.
        pack: makes the packed block of arrays' bytes and values.
        hidden: values of the hidden scalars, which follow the parameters.
        specs: of each parameter, for those that are encoded first.
        captures, captured: gives the captured values now; those that were compiled.
        encode: the value of a parameter that is encoded first, as ``pack`` takes it.
        again: what to call instead where a value does not fit, or a captured one or the server changed.
        late: launches where an owner is another.
    """

    stream: Stream
    lock: threading.Lock
    server: Server
    launch: Callable[[bytes, Sequence[Binding]], None]
    pack: Callable[..., bytes]
    hidden: tuple[int, ...]
    specs: Sequence[Spec]
    captures: Callable[[], tuple[object, ...]]
    captured: tuple[object, ...]
    encode: Callable[[Spec, Any], Any]
    again: Run
    late: Run


_PARTS = tuple(field.name for field in fields(Parts))


def make_run(
    name: str,
    params: Sequence[Parameter],
    treatments: Sequence[Treatment],
    arrays: tuple[str, ...],
    binds: bool,
    direct: bool,
    parts: Parts,
) -> Run:
    """``run`` for arguments of these treatments, of which the expressions ``arrays`` give the arrays.

    ``binds`` says that the target binds buffers. Without ``direct`` every launch goes to ``late``.
    """
    p, name = _prefix(params), _identifier(name)
    names, hidden, captures = tuple(q.name for q in params), len(parts.hidden), bool(parts.captured)
    source = _run_source(name, p, names, tuple(treatments), arrays, binds, direct, hidden, captures)
    helpers = {"ERRORS": PACK_ERRORS, "all": all, "map": map, "is_": operator.is_}
    make = _executed(source, name, {p + key: helper for key, helper in helpers.items()})
    run: Run = make(*map(parts.__getattribute__, _PARTS))
    plain = direct and not binds and not captures and len(arrays) == treatments.count("array")
    return native.runner(run, treatments, parts) if plain else run


@functools.lru_cache(maxsize=1024)
def _run_source(
    name: str,
    p: str,
    params: tuple[str, ...],
    treatments: tuple[Treatment, ...],
    arrays: tuple[str, ...],
    binds: bool,
    direct: bool,
    hidden: int,
    captures: bool,
) -> str:
    names = "".join(f"{q}, " for q in params)
    packed = {
        "array": "{0}.packed, ",
        "direct": "{0}, ",
        "encoded": f"{p}encode({p}specs[{{1}}], {{0}}), ",
        "none": "",
    }
    packing = "".join(packed[t].format(q, i) for i, (q, t) in enumerate(zip(params, treatments, strict=True)))
    packing += "".join(f"{p}hidden[{i}], " for i in range(hidden))
    bindings = "(" + "".join(f"{a}.binding, " for a in arrays if binds) + ")"
    here = " and ".join([f"{p}stream.server is {p}server", *(f"{a}.memory.owner is {p}stream" for a in arrays)])
    memories = "".join(f", {a}.memory" for a in arrays)
    stale = (
        f"        if not {p}all({p}map({p}is_, {p}captures(), {p}captured)):\n            return {p}again({names})\n"
    )
    launch = f"""
        with {p}lock:
            if {here}:
                return {p}launch({p}packed, {bindings})
        if {p}stream.server is not {p}server:
            return {p}again({names})"""
    return f"""
def make({", ".join(p + part for part in _PARTS)}):
    def {name}({names}):
{stale if captures else ""}        try:
            {p}packed = {p}pack({packing})
        except {p}ERRORS:
            return {p}again({names}){launch if direct else ""}
        {p}late({p}packed, {bindings}{memories})
    return {name}
"""


def _prefix(params: Sequence[Parameter]) -> str:
    """Underscores that no parameter's name begins with."""
    prefix = "_"
    while any(q.name.startswith(prefix) for q in params):
        prefix += "_"
    return prefix


def _identifier(name: str) -> str:
    """A kernel's name as a function's in Python; a hand-written kernel's may have more in it."""
    return name if name.isidentifier() and not iskeyword(name) else f"_{re.sub(r'[^0-9A-Za-z]+', '_', name)}"


def _executed(source: str, name: str, scope: dict[str, Any]) -> Any:
    exec(_compiled(source, f"<ruda launcher of {name}>"), scope)
    return scope["make"]


@functools.lru_cache(maxsize=1024)
def _compiled(source: str, file: str) -> CodeType:
    return compile(source, file, "exec")
