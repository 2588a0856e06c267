"""Refuses barriers and subgroup operations that provably not all threads of the block, or subgroup, reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ruda.errors import KernelSyntaxError
from ruda.ir import (
    Apply,
    Assign,
    Barrier,
    Block,
    Break,
    Const,
    Continue,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Local,
    Loop,
    Pos,
    Return,
    Subgroup,
    Uniform,
    Value,
    walk,
)
from ruda.ir.ops import OPS
from ruda.ir.report import at
from ruda.passes.exits import RETURNED
from ruda.passes.uniform import analyse
from ruda.target import Target


def check(kernel: Kernel, target: Target) -> None:
    """Refuse a barrier that provably not all threads of the block reach, and a subgroup operation of the kind.

    Proved by running the conditions that depend on constants and on the thread's index alone, or on its lane and
    subgroup alone, for all threads of the block; where a condition is anything else, nothing is claimed. Where
    ``target`` has ``features.subgroup_divergent``, no subgroup operation is refused.

    Raises:
        KernelSyntaxError: at the barrier or operation, naming the condition's line.
    """
    strict = kernel.subgroup_size > 1 and "subgroup_divergent" not in target.features
    if kernel.body.contains_barrier or (strict and kernel.body.contains_subgroup):
        places = [_thread_places(kernel), *([_lane_places(kernel)] if kernel.subgroup_size > 1 else [])]
        for known in places:
            everyone = np.ones(kernel.threads, np.bool_)
            _Proof(kernel, known, strict).block(kernel.body, everyone, kernel.pos)


def _thread_places(kernel: Kernel) -> dict[str, Lanes]:
    """The index of each thread, x fastest."""
    x, y, _ = kernel.block_dim
    number = np.arange(kernel.threads)
    return {"thread_idx_x": number % x, "thread_idx_y": number // x % y, "thread_idx_z": number // (x * y)}


def _lane_places(kernel: Kernel) -> dict[str, Lanes]:
    """The lane and the subgroup of each thread, in an order of their own: which thread has which is not defined."""
    number, size = np.arange(kernel.threads), kernel.subgroup_size
    return {"lane_idx": number % size, "subgroup_idx": number // size}


Lanes = npt.NDArray[Any]


class _Proof:
    """What is known of each thread of a block while control passes down the kernel.

    ``active`` marks the threads that are here and ``live`` those that have not
    returned; None where that is not known. ``why`` is the last condition that
    parted them. Loop bodies are taken once, with all that rounds change unknown.
    ``places`` are the topology values that are known; ``strict`` says that subgroup
    operations are looked at.
    """

    def __init__(self, kernel: Kernel, places: Mapping[str, Lanes], strict: bool) -> None:
        self.kernel = kernel
        self.places = places
        self.strict = strict
        self.uniformity = analyse(kernel)
        self.known: dict[Value | Local, Lanes] = {}
        self.live: Lanes | None = np.ones(kernel.threads, np.bool_)

    def block(self, block: Block, active: Lanes | None, why: Pos) -> tuple[Lanes | None, Pos]:
        """Walk ``block``; gives the threads that come out at its end."""
        for statement in block:
            match statement:
                case Let():
                    self.set(statement.value, self.eval(statement.expr))
                case Declare(local=local, init=init):
                    self.set(local, self.zeros(local.type.dtype) if init is None else self.eval(init))
                case Assign():
                    self.assign(statement, active)
                case Barrier() | Uniform():
                    self.barrier(statement, active, why)
                case Subgroup() if self.strict:
                    self.subgroup(statement, active, why)
                case If():
                    active, why = self.branch(statement, active, why)
                case For() | Loop():
                    active = self.loop(statement, active, why)
                case Return() | Break() | Continue():
                    if isinstance(statement, Return):
                        self.leave(active)
                    return (None if active is None else self.zeros(np.bool_)), why
        return active, why

    def barrier(self, barrier: Barrier | Uniform, active: Lanes | None, why: Pos) -> None:
        if active is None or self.live is None:
            return
        here = int(np.count_nonzero(active & self.live))
        if 0 < here < np.count_nonzero(self.live):
            raise at(
                KernelSyntaxError,
                f"only {here} of the block's {self.kernel.threads} threads reach this barrier: "
                f"the condition at line {why.line} differs between them, and the others would be waited for for ever",
                barrier.pos,
                kernel=self.kernel.name,
                hint=f"move the barrier out of the branch or loop of line {why.line}, so that all threads reach it",
            )

    def subgroup(self, s: Subgroup, active: Lanes | None, why: Pos) -> None:
        if active is None or self.live is None:
            return
        size, here = self.kernel.subgroup_size, active & self.live
        if "lane_idx" in self.places:
            firsts = range(0, self.kernel.threads, size)
            parts = [(here[i : i + size], self.live[i : i + size]) for i in firsts]
            torn = any(some.any() and not np.array_equal(some, every) for some, every in parts)
        else:
            # Which threads share a subgroup is not defined, but all subgroups are full, except for the last.
            left = int(np.count_nonzero(here)) % size
            torn = bool(self.live.all()) and left not in (0, self.kernel.threads % size)
        if torn:
            raise at(
                KernelSyntaxError,
                f"only some threads of a subgroup of {size} reach this operation: "
                f"the condition at line {why.line} differs between them",
                s.pos,
                kernel=self.kernel.name,
                hint=f"move it out of the branch or loop of line {why.line}; what differs can go into its operand",
            )

    def branch(self, s: If, active: Lanes | None, why: Pos) -> tuple[Lanes | None, Pos]:
        cond = self.eval(s.cond)
        if cond is not None and active is not None:
            parted = bool((active & cond).any() and (active & ~cond).any())
            inside = s.pos if parted else why
            then, _ = self.block(s.then, active & cond, inside)
            orelse, _ = self.block(s.orelse, active & ~cond, inside)
            out = None if then is None or orelse is None else then | orelse
            return out, why if out is None or np.array_equal(out, active) else inside
        together = active if self.uniformity.control(s.cond) else None
        live = self.live
        then, _ = self.block(s.then, together, why)
        live_then, self.live = self.live, live
        orelse, _ = self.block(s.orelse, together, why)
        self.forget(s.then, s.orelse)
        if together is None:
            # Who left, if anybody could, is unknown.
            left = [n for b in (s.then, s.orelse) for n in walk(b) if isinstance(n, Return | Break | Continue)]
            if any(isinstance(n, Return) for n in left):
                self.live = None
            return (None if left else active), why
        # All threads went one way: out of a branch that nobody leaves at its end, or either way alike.
        if then is not None and not then.any():
            return orelse, why
        if orelse is not None and not orelse.any():
            self.live = live_then
            return then, why
        self.live = _agreed(live_then, self.live)
        return _agreed(then, orelse), why

    def loop(self, s: For | Loop, active: Lanes | None, why: Pos) -> Lanes | None:
        inside = active
        if isinstance(s, For):
            count = self.eval(s.count)
            if count is None:
                inside = active if self.uniformity.expr(s.count) else None
            elif active is not None and active.any():
                most = count[active].max()
                inside = active & (count == most) & (most > 0)
                why = why if np.array_equal(inside, active) else s.pos
        self.forget(s.body)
        self.block(s.body, inside, why)
        self.forget(s.body)
        if any(isinstance(n, Return) for n in walk(s.body)):
            self.live = None  # a later round may have seen more of them go
            return None
        return active

    def leave(self, active: Lanes | None) -> None:
        """The threads here return."""
        self.live = None if active is None or self.live is None else self.live & ~active

    def assign(self, s: Assign, active: Lanes | None) -> None:
        if s.local == RETURNED:
            self.leave(active)
        new, old = self.eval(s.expr), self.known.get(s.local)
        known = active is not None and new is not None and old is not None
        self.set(s.local, np.where(active, new, old) if known else None)  # type: ignore[arg-type]

    def forget(self, *blocks: Block) -> None:
        """Nothing is known any more of the locals that ``blocks`` assign."""
        for block in blocks:
            for statement in walk(block):
                if isinstance(statement, Assign):
                    self.known.pop(statement.local, None)

    def set(self, name: Value | Local, lanes: Lanes | None) -> None:
        if lanes is None:
            self.known.pop(name, None)
        else:
            self.known[name] = lanes

    def zeros(self, dtype: npt.DTypeLike) -> Lanes:
        return np.zeros(self.kernel.threads, dtype)

    def eval(self, expr: Expr) -> Lanes | None:
        """The value of ``expr`` in each thread, x fastest, or None where it is not known."""
        if isinstance(expr, Const):
            return np.full(self.kernel.threads, expr.value, expr.type.dtype)
        if isinstance(expr, Value | Local):
            return self.known.get(expr)
        if not isinstance(expr, Apply):
            return None
        if expr.op in self.places:
            return self.places[expr.op].astype(expr.type.dtype)
        args = [self.eval(a) for a in expr.args]
        lanes = [a for a in args if a is not None]
        row = OPS[expr.op]
        if len(lanes) < len(args) or row.reference is None:
            return None
        return row.evaluate(*lanes, to=expr.type)


def _agreed(a: Lanes | None, b: Lanes | None) -> Lanes | None:
    """What two ways of control agree on."""
    return a if a is not None and b is not None and np.array_equal(a, b) else None
