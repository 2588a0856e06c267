"""The tables of the language: from the op table, the names under ``dsl``, and the names of other frameworks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ruda
from ruda import dsl, registry, types
from ruda.frontend import calls, habits
from ruda.frontend.calls import Intrinsic
from ruda.host import habits as host_habits
from ruda.ir.ops import ATOMICS, OPS, SUBGROUPS, Op
from ruda.target import Target
from ruda.types import ScalarType

#: Sets of types that have a name.
_SETS = (
    (frozenset([types.bool_]), "bool"),
    (frozenset(types.UNSIGNED), "unsigned ints"),
    (frozenset(types.INTS), "ints"),
    (frozenset(types.FLOATS), "floats"),
    (frozenset(types.NUMBERS), "numbers"),
    (frozenset((*types.NUMBERS, types.bool_)), "numbers, bool"),
    (frozenset((*types.INTS, types.bool_)), "ints, bool"),
    (frozenset((*types.NUMBERS, *types.STORAGE)), "numbers, 8-bit floats"),
    (frozenset(types.SCALARS), "any"),
)

#: Of names that are compile-time constants, and therefore no row of the op table.
_CONSTANTS = {
    "block_dim": "threads a block, a compile-time constant",
    "subgroup_size": "lanes of a subgroup, a compile-time constant",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _doc(text: str | None) -> str:
    """The first sentence or line of a docstring, in Markdown, as a cell's text."""
    first = inspect.cleandoc(text or "").partition("\n\n")[0]
    plain = re.sub(r":\w+:`~?([^`]*)`", r"``\1``", " ".join(first.split()))
    return plain.replace("``", "`").removesuffix(".")


def _set(accepts: frozenset[ScalarType]) -> str:
    return next((name for types_, name in _SETS if types_ == accepts), ", ".join(sorted(t.name for t in accepts)))


def _signature(function: Callable[..., Any], skip: int) -> str:
    """Parameters with defaults, without annotations."""
    return _shown(list(inspect.signature(function).parameters.values())[skip:])


def _shown(parameters: Sequence[inspect.Parameter]) -> str:
    shown, starred = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        sign = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        value = p.default.value if hasattr(p.default, "value") else p.default
        shown.append(sign + p.name + ("" if p.default is p.empty else f"={value}"))
    return ", ".join(shown)


def _call(found: Intrinsic) -> str:
    return f"`dsl.{found.name}({_signature(found.lower, 2)})`"


# --- names under dsl --------------------------------------------------------------------------------


def names(*wanted: str) -> str:
    """These names under ``dsl``, in this order."""
    return table(("name", "meaning"), (_named(name) for name in wanted))


def _named(name: str) -> tuple[str, str]:
    found: Any = dsl
    for part in name.split("."):
        found = getattr(found, part)
    if isinstance(found, Intrinsic):
        return _call(found), _doc(found.__doc__)
    if name in _CONSTANTS:
        return f"`dsl.{name}`" + (" `.x .y .z`" if name == "block_dim" else ""), _CONSTANTS[name]
    if f"{name}_x" in OPS:
        return f"`dsl.{name}` `.x .y .z`", OPS[f"{name}_x"].doc.removesuffix(", axis x")
    if name in OPS:
        return f"`dsl.{name}`", OPS[name].doc
    if inspect.isfunction(found):
        return f"`@dsl.{name}`", _doc(found.__doc__)
    if hasattr(found, "__getitem__"):
        doc = _doc(type(found).__doc__)
        return f"`dsl.{name}`", doc if "dsl." in doc else _doc(type(found).__getitem__.__doc__)
    raise LookupError(f"dsl.{name} is {found!r}, of which there is no line to show")


def scalars() -> str:
    """The scalar types."""
    rows = []
    for t in (*types.SCALARS,):
        limits = f"{t.min} to {t.max}" if t.is_int else "False, True" if t.kind == "bool" else _float_range(t)
        use = "loaded, stored and converted only" if t in types.STORAGE else "arithmetic"
        rows.append((f"`dsl.{t.name}`", f"{t.size}", limits, f"`{t.dtype.name}`", use if t.is_float else ""))
    return table(("type", "bytes", "values", "NumPy's name", "floats: use"), rows)


def _float_range(t: ScalarType) -> str:
    import ml_dtypes

    info: Any = ml_dtypes.finfo(t.dtype)  # type: ignore[no-untyped-call]
    return f"up to {float(info.max):.3g}, {info.nmant + 1} bits of precision"


# --- rows of the op table ---------------------------------------------------------------------------


def functions(section: str) -> str:
    """The rows of a section that have a name under ``dsl``."""
    rows = [op for op in OPS.values() if op.section == section and op.dsl]
    return table(
        ("name", "takes", "meaning", "also written"),
        ((_call(getattr(dsl, op.dsl)), _taken(op), op.doc, _python(op)) for op in rows),
    )


def operators() -> str:
    """The rows that only an operator or a cast spells."""
    rows = [op for op in OPS.values() if not op.dsl and not op.internal and op.section != "topology"]
    return table(("op", "takes", "meaning"), ((f"`{op.name}`", _taken(op), op.doc) for op in rows))


def accuracy() -> str:
    """The bounds of rows that are not exact, in units in the last place."""
    rows = [op for op in OPS.values() if op.ulp]
    dtypes = ("f16", "bf16", "f32", "f64")
    return table(
        ("function", *dtypes),
        ((f"`{op.dsl}`", *(f"{op.ulp[t]:g}" if t in op.ulp else "exact" for t in dtypes)) for op in rows),
    )


def _taken(op: Op) -> str:
    return ("bool, then " if op.condition else "") + _set(op.accepts)


def _python(op: Op) -> str:
    return " ".join(f"`{name}`" for name in op.python)


def atomics() -> str:
    """The functions under ``dsl.atomic``."""
    rows = []
    for row in ATOMICS.values():
        found = getattr(dsl.atomic, row.dsl, None) or getattr(dsl.atomic, f"{row.dsl}_")
        rows.append((_call(found), _set(row.accepts), row.doc, "the old element" if row.returns else "nothing"))
    return table(("name", "takes", "meaning", "gives"), rows)


def subgroup() -> str:
    """The functions under ``dsl.subgroup``."""
    rows = []
    for row in SUBGROUPS.values():
        found = getattr(dsl.subgroup, row.dsl, None) or getattr(dsl.subgroup, f"{row.dsl}_")
        rows.append((_call(found), _set(row.accepts) if row.accepts else "", row.doc))
    return table(("name", "takes", "each lane gets"), rows)


def python_names() -> str:
    """Python's own callables that kernels take as operations."""
    of_rows = {name for op in OPS.values() for name in op.python}  # also those that only later versions have
    spelled = sorted(of_rows | {name for _, name, _ in calls.PYTHON.values()} - {"cast", "Vec", "struct"})
    groups: dict[str, list[str]] = {"builtins": [], "math": [], "numpy": []}
    for name in spelled:
        module, _, _ = name.rpartition(".")
        groups[module or "builtins"].append(name)
    return table(("from", "names"), ((module, " ".join(f"`{n}`" for n in found)) for module, found in groups.items()))


# --- other frameworks -------------------------------------------------------------------------------


def habit(*frameworks: str) -> str:
    """What the names of frameworks (``cuda``; ``bare`` for names without a module) are answered with."""
    rows = []
    for framework in frameworks:
        if framework == "bare":
            rows += [(f"`{name}`", _cell(text)) for name, text in habits._BARE.items()]
        else:
            start = f"{framework}."
            rows += [(f"`{name}`", _cell(text)) for name, text in habits._HABITS.items() if name.startswith(start)]
    return table(("there", "here"), rows)


def host_habit() -> str:
    """What the names of frameworks on the host are answered with; those with one answer share a row."""
    rows: dict[str, list[str]] = {}
    for owner, found in (
        ("client", host_habits.CLIENT),
        ("a", host_habits.ARRAY),
        ("stream", host_habits.STREAM),
        ("event", host_habits.EVENT),
    ):
        for name, here in found.items():
            rows.setdefault(here, []).append(f"`{owner}.{name}`")
    return table(("there", "here"), ((", ".join(names), _cell(here)) for here, names in rows.items()))


def _cell(text: str) -> str:
    """Code as code, where the text begins with it."""
    if text.startswith(
        ("dsl.", "client.", "kernel", "a.", "a[", "stream.", "event.", "start.", "torch.", "@", "x if ")
    ):
        for found in re.finditer(r",? (?:on the host|or|for)\b|[;,] |$", text):
            code = text[: found.start()]
            if code.count("(") == code.count(")") and code.count("[") == code.count("]"):
                return f"`{code}`{text[found.start() :]}"
    return text


# --- devices and the host ---------------------------------------------------------------------------


def targets(*specs: str) -> str:
    """What the targets with these names have."""
    found = [registry.runtime(spec.partition(":")[0]).target(spec) for spec in specs]
    facts: dict[str, Callable[[Target], str]] = {
        "dtypes": lambda t: " ".join(s.name for s in types.SCALARS if s.name in t.dtypes),
        "threads a block, at most": lambda t: str(t.limits.max_threads),
        "block, at most": lambda t: _dims(t.limits.max_block),
        "grid, at most": lambda t: _dims(t.limits.max_grid),
        "shared memory a block": lambda t: f"{t.limits.shared_memory // 1024} KiB",
        "subgroup sizes, the default first": lambda t: " ".join(map(str, t.subgroup_sizes)),
        "atomics": _atomics_of,
        "features": lambda t: " ".join(f"`{name}`" for name in sorted(t.features)) or "none",
    }
    rows = ((name, *(fact(t) for t in found)) for name, fact in facts.items())
    return table(("", *(f"`{t}`" for t in found)), rows)


def _dims(dims: tuple[int, ...]) -> str:
    return " x ".join(map(str, dims))


def _atomics_of(target: Target) -> str:
    """The dtypes of ``dsl.atomic.add``, and whether they are emulated."""
    support = {s.name: target.atomics.get((s.name, "atomic_add")) for s in types.SCALARS}
    return ", ".join(name + ("" if how == "native" else f" ({how})") for name, how in support.items() if how)


def members(path: str) -> str:
    """The public members of a class under ``ruda``."""
    cls = getattr(ruda, path)
    rows = []
    for name in (n for c in reversed(cls.__mro__) for n in vars(c)):
        found = inspect.getattr_static(cls, name)
        doc = _doc(getattr(found, "__doc__", None) or getattr(getattr(found, "func", None), "__doc__", None))
        if name.startswith("_") or not doc or name in _INSIDE.get(path, ()) or isinstance(found, host_habits.Habit):
            continue
        call = f"({_signature(getattr(cls, name), 1)})" if inspect.isfunction(found) else ""
        line = (f"`.{name}{call}`", doc)
        if line not in rows:
            rows.append(line)
    return table(("member", "meaning"), rows)


#: Members that only ruda itself calls.
_INSIDE = {
    "ComputeClient": (
        "ring", "allocate", "owning", "load", "signature", "locked", "lose_server", "replace_server", "living",
        "retire_stream", "retire_event", "retire_program",
    ),
    "Array": ("start", "operations"),
    "Event": ("require", "id"),
    "Kernel": (),
}  # fmt: skip


PARTS: dict[str, Callable[..., str]] = {
    "names": names,
    "scalars": scalars,
    "functions": functions,
    "operators": operators,
    "accuracy": accuracy,
    "atomics": atomics,
    "subgroup": subgroup,
    "python-names": python_names,
    "habits": habit,
    "host-habits": host_habit,
    "targets": targets,
    "members": members,
}
