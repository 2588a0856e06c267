"""What stands before the generated launcher in C, where this installation has it (see ``_launcher.c``).

It does the same faster, and only in the plain cases. Without it, which is so where there was no C compiler when the
package was built, the generated functions do everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ruda.frontend import ArrayAnnotation, ConstAnnotation, Parameter, ScalarAnnotation
from ruda.host import Array
from ruda.host.memory import Memory

try:
    from ruda.launch import _launcher
except ImportError:
    _launcher = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from ruda.launch.arguments import Treatment
    from ruda.launch.codegen import Parts, Run

#: The most arguments that it takes.
_MOST = 64

#: Its letters for how an argument is packed; encoded ones are Python's.
_LETTERS = {"array": "a", "direct": "d", "none": "n"}

if _launcher is not None:
    _launcher.attach(Array, Memory)


def launcher(bound: Run, runs: dict[Any, Run], params: Sequence[Parameter]) -> Run:
    """What finds the entry of ``runs`` for a call, and calls ``bound`` where there is none."""
    plain = len(params) <= _MOST and not any(param.keyword_only for param in params)
    if not plain or _launcher is None:
        return bound
    return _launcher.Launcher(bound, runs, "".join(map(kind, params)).encode())


def runner(run: Run, treatments: Sequence[Treatment], parts: Parts) -> Run:
    """What packs and launches, and calls ``run`` where something is unusual."""
    plain = len(treatments) + len(parts.hidden) <= _MOST and "encoded" not in treatments
    if not plain or _launcher is None:
        return run
    letters = "".join(_LETTERS[treatment] for treatment in treatments).encode()
    return _launcher.Run(run, parts.stream, parts.lock, parts.server, parts.launch, parts.pack, parts.hidden, letters)


def kind(param: Parameter) -> str:
    """How an argument counts in the launcher's table, here as in ``codegen``.

    An array (``"a"``) counts by its signature, a scalar (``"s"``) by its class, since ``struct`` takes more than the
    checks do, a constant (``"c"``) by class and value; any other (``"o"``) by its signature if it is an array, else by
    its class.
    """
    if isinstance(param.annotation, ArrayAnnotation) and not param.optional:
        return "a"
    if isinstance(param.annotation, ScalarAnnotation):
        return "s"
    return "c" if isinstance(param.annotation, ConstAnnotation) else "o"
