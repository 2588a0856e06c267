"""Subgroup operations by Python itself: what each lane gets, and whole bodies of threads that exchange values.

Nothing here is shared with the driver's side of the language: :func:`exchange` is written lane by lane, and
:func:`run` lets every thread be a generator that Python's own control flow drives. A thread stops at each
operation and says where it is: the lines and loop rounds that lead there, in the order of the text. Of the threads
of a subgroup, those at the least such place go on together; no other can still come there.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: What a thread yields: its place, the operation, its operands.
Wanted = tuple[tuple[int, ...], str, tuple[Any, ...]]

_MERGE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_SOURCE: dict[str, Callable[[int, int], int]] = {
    "broadcast": lambda lane, operand: operand,
    "shuffle": lambda lane, operand: operand,
    "shuffle_xor": lambda lane, operand: lane ^ operand,
    "shuffle_up": lambda lane, operand: lane - operand,
    "shuffle_down": lambda lane, operand: lane + operand,
}
_PAST = 1 << 30  # a line after the body of its loop


def exchange(op: str, given: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
    """What each lane gets, from the operands of the lanes that take part."""
    lanes = sorted(given)
    if op == "elect":
        return {lane: lane == lanes[0] for lane in lanes}
    x = {lane: given[lane][0] for lane in lanes}
    if op in ("all", "any"):
        return dict.fromkeys(lanes, {"all": all, "any": any}[op](x.values()))
    if op == "ballot":
        bits = sum(1 << lane for lane in lanes if x[lane])
        return dict.fromkeys(lanes, tuple(bits >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)))
    if op in _SOURCE:
        sources = {lane: _SOURCE[op](lane, int(given[lane][1])) for lane in lanes}
        return {lane: x.get(sources[lane], x[lane]) for lane in lanes}
    scan, _, combine = op.rpartition("_")
    identity = type(x[lanes[0]])(1 if combine == "mul" else 0)

    def merged(some: list[int]) -> Any:
        with np.errstate(over="ignore"):
            return functools.reduce(_MERGE[combine], [x[lane] for lane in some]) if some else identity

    before = {lane: [other for other in lanes if other < lane] for lane in lanes}
    if scan == "inclusive":
        return {lane: merged([*before[lane], lane]) for lane in lanes}
    if scan == "exclusive":
        return {lane: merged(before[lane]) for lane in lanes}
    return dict.fromkeys(lanes, merged(lanes))


def members(where: npt.NDArray[Any], threads: int) -> list[dict[int, int]]:
    """Lane to thread for each subgroup, in blocks of ``threads`` threads.

    Args:
        where: (2, threads of the grid), each thread's ``subgroup_idx`` and ``lane_idx``; no two share a place.
        threads: of one block.
    """
    found: dict[tuple[int, int], dict[int, int]] = {}
    for thread, (subgroup, lane) in enumerate(where.T.tolist()):
        lanes = found.setdefault((thread // threads, subgroup), {})
        assert lane not in lanes
        lanes[lane] = thread
    return list(found.values())


class _Places(ast.NodeTransformer):
    """``dsl.subgroup.f(x)`` becomes ``(yield place, "f", (x,))``; each loop counts its rounds."""

    def __init__(self) -> None:
        self.around: list[ast.expr] = []

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self.loop(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self.loop(node)

    def loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        rounds = f"_rounds{node.lineno}"
        here: list[ast.expr] = [ast.Constant(node.lineno), ast.Name(rounds, ast.Load())]
        if isinstance(node, ast.For):
            node.iter = self.visit(node.iter)
        outside, self.around = self.around, [*self.around, *here]
        if isinstance(node, ast.While):
            self.around = [*self.around, ast.Constant(_PAST)]
            node.test = self.visit(node.test)
            self.around = self.around[:-1]
        node.body = [new for s in node.body for new in _listed(self.visit(s))]
        self.around = outside
        node.orelse = [new for s in node.orelse for new in _listed(self.visit(s))]
        node.body.insert(0, ast.AugAssign(ast.Name(rounds, ast.Store()), ast.Add(), ast.Constant(1)))
        return [ast.Assign([ast.Name(rounds, ast.Store())], ast.Constant(0)), node]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if not name.startswith("dsl.subgroup."):
            return node
        place = ast.Tuple([*self.around, ast.Constant(node.lineno), ast.Constant(node.col_offset)], ast.Load())
        op = ast.Constant(name.removeprefix("dsl.subgroup.").rstrip("_"))
        return ast.Yield(ast.Tuple([place, op, ast.Tuple(node.args, ast.Load())], ast.Load()))


def _listed(node: Any) -> list[ast.stmt]:
    return node if isinstance(node, list) else [node]


def run(body: str, parameters: Sequence[Mapping[str, Any]], subgroups: Sequence[Mapping[int, int]]) -> None:
    """Run ``body`` in every thread.

    Args:
        body: statements of a kernel on Python's ints, with ``dsl.subgroup`` operations.
        parameters: for each thread, the names that the body knows; what it stores into them is the result.
        subgroups: for each subgroup, lane to thread.
    """
    names = list(parameters[0])
    tree = ast.parse(f"def thread({', '.join(names)}):\n    yield\n{textwrap.indent(body, '    ')}\n")
    space: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(_Places().visit(tree)), "<threads>", "exec"), space)
    thread: Callable[..., Generator[Wanted | None, Any, None]] = space["thread"]
    for subgroup in subgroups:
        waiting: dict[int, tuple[Generator[Wanted | None, Any, None], Wanted]] = {}
        ready = {lane: (thread(**parameters[number]), None) for lane, number in subgroup.items()}
        for generator, _ in ready.values():
            next(generator)
        while ready or waiting:
            for lane, (generator, answer) in ready.items():
                try:
                    wanted = generator.send(answer)
                except StopIteration:
                    continue
                assert wanted is not None
                waiting[lane] = generator, wanted
            place = min((wanted[0] for _, wanted in waiting.values()), default=None)
            here = {lane: waiting.pop(lane) for lane in list(waiting) if waiting[lane][1][0] == place}
            op = next((wanted[1] for _, wanted in here.values()), "")
            answers = exchange(op, {lane: wanted[2] for lane, (_, wanted) in here.items()}) if here else {}
            ready = {lane: (here[lane][0], answers[lane]) for lane in here}
