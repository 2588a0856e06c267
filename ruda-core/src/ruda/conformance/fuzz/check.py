"""Run cases on drivers and with Python, compare every array bit for bit, and make a failing case smaller."""

from __future__ import annotations

import ast
import copy
import pprint
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ruda.conformance.fuzz.emulate import Case, emulate
from ruda.conformance.harness import define, guarded
from ruda.conformance.oracle import differences
from ruda.host.client import ComputeClient
from ruda.types import as_type

#: So many smaller versions of a failing case are tried.
_TRIES = 300


def launch(case: Case, client: ComputeClient) -> dict[str, Any]:
    """The arrays after the launch on one device, by name; what lies around each of them is poisoned."""
    kernel = define(case.source)
    arrays = []
    for a in case.arrays:
        values = a.array()
        arrays.append(guarded(client, values.shape, values.dtype))
        arrays[-1].array.copy_(values)
    scalars = [as_type(dtype)(value) for _, dtype, value in case.scalars]
    kernel[case.grid, case.block](*(a.array for a in arrays), *scalars)
    return {a.name: array.numpy() for a, array in zip(case.arrays, arrays, strict=True)}


def differ(case: Case, client: ComputeClient, want: dict[str, Any] | None = None) -> str:
    """What is different on the device from Python itself; "" where nothing is."""
    want = emulate(case) if want is None else want
    try:
        got = launch(case, client)
    except Exception:
        return traceback.format_exc(limit=-4)
    lines = []
    for name, expected in want.items():
        for at in differences(got[name], expected)[:4]:
            lines.append(f"{name}[{at}] is {got[name][at]!r}, Python has {expected[at]!r}")
    return "\n".join(lines)


def report(case: Case, client: ComputeClient, difference: str, command: str) -> str:
    """Everything a person needs about a failing (and minimised) case; ``command`` runs its seed again."""
    return (
        f"seed {case.seed} differs on {client.device}, grid {case.grid}, block {case.block}, scalars {case.scalars}\n"
        f"{differ(case, client) or difference}\n\n{case.source}\nagain: {command}\n"
    )


def module_text(case: Case, title: str) -> str:
    """The module under ``cases`` that keeps ``case``; ``title`` is its docstring."""
    values = {str(v) for a in case.arrays for v in a.values}
    names = [name for name in ("inf", "nan") if {name, f"-{name}"} & values]
    special = f"from math import {', '.join(names)}\n\n" if names else ""
    return (
        f'"""{title}"""\n\n{special}from ruda.conformance.fuzz.emulate import ArrayArgument, Case\n\n'
        f"CASE = {pprint.pformat(case, width=110, sort_dicts=False)}\n"
    )


def minimise(case: Case, client: ComputeClient, difference: str) -> Case:
    """A smaller case that still fails in the same way: statements are taken out while that lasts."""
    kind = _kind(difference)
    tries = 0
    shrinking = True
    while shrinking:
        shrinking = False
        for candidate in _smaller(case):
            tries += 1
            if tries > _TRIES:
                return case
            try:
                want = emulate(candidate)
            except Exception:
                continue  # no longer a program
            if _kind(differ(candidate, client, want)) == kind:
                case, shrinking = candidate, True
                break
    return case


def _kind(difference: str) -> str:
    """The same for differences of one cause: the exception's class, or that values differ."""
    if not difference:
        return ""
    last = difference.strip().splitlines()[-1] if "Traceback" in difference else ""
    return f"raises {_raised(difference)}" if last else "values"


def _raised(text: str) -> str:
    """The exception's name and message without figures, from a traceback."""
    line = next((x for x in text.splitlines() if x and not x[0].isspace() and ":" in x and "Traceback" not in x), "")
    return "".join(c for c in line if not c.isdigit())[:60]


def _smaller(case: Case) -> Iterator[Case]:
    """The case without one statement, or with a compound statement replaced by its body; larger cuts first."""
    tree = ast.parse(case.source)
    bodies = [body for node in ast.walk(tree) for body in (getattr(node, "body", None), getattr(node, "orelse", None))]
    for body in bodies:
        if not isinstance(body, list):
            continue
        for position, statement in enumerate(list(body)):
            for instead in ([], list(getattr(statement, "body", []))):
                if isinstance(statement, ast.FunctionDef) and (instead or statement.name == "kernel"):
                    continue
                body[position : position + 1] = instead
                yield replace(case, source=_text(tree))
                body[position : position + len(instead)] = [statement]


def _text(tree: ast.Module) -> str:
    """Source of the tree, with ``pass`` where a block has become empty."""
    filled = _Filled().visit(copy.deepcopy(tree))
    return ast.unparse(ast.fix_missing_locations(filled)) + "\n"


class _Filled(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == [] and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node
