"""Threads: run a lowered kernel for some whole blocks at once, each value an array with one element a thread.

``m`` is everywhere the mask of the threads that are meant. A branch makes it smaller, and a thread that leaves a loop
waits behind it, so no thread overtakes another.
"""

from math import prod

import numpy as np

from ruda import ir
from ruda.contract import ArgumentLayout
from ruda.ir.ops import ATOMICS, OPS
from ruda.types import i64


class Threads:
    """Blocks ``first`` to ``first + blocks``, x fastest; ``find`` gives (bytes, offset) of a device address.

    A statement's method is named as its class, and gives the threads that go on to the next statement.
    """

    def __init__(self, kernel, grid, first, blocks, packed, find):
        self.kernel = kernel
        self.grid = (prod(grid), 1, 1) if kernel.folded else grid
        self.number = np.arange(blocks * kernel.threads)
        self.block, self.thread = self.number // kernel.threads, self.number % kernel.threads
        self.first, self.none = first, np.zeros(len(self.number), bool)
        slots = ArgumentLayout.of(kernel.params).slots
        self.words = {(s.param, s.kind, s.axis): np.frombuffer(packed, s.type.dtype, 1, s.position)[0] for s in slots}
        # Of each memory its bytes, and the byte of element 0: one number, or one a thread.
        self.memory = {a.name: find(int(self.words[a.name, "address", 0])) for a in kernel.arrays}
        self.memory |= {c.name: (np.frombuffer(c.data, np.uint8), 0) for c in kernel.constants}
        for s in kernel.shared:
            size = prod(s.shape) * s.elem.size
            self.memory[s.name] = (np.zeros(blocks * size, np.uint8), self.block * size)
        self.env, self.loops, self.results = {}, [], ()

    def run(self, block, m):
        for statement in block:
            if not m.any():
                break
            m = getattr(self, type(statement).__name__)(statement, m)
        return m

    # --- expressions ---
    def same(self, type, value):
        return np.full(len(self.number), value, type.dtype)

    def expr(self, e):
        match e:
            case ir.Const():
                return self.same(e.type, e.value)
            case ir.Value() | ir.Local():
                return self.env[type(e), e.name]
            case ir.Scalar():
                return self.same(e.type, self.words[e.name, "scalar", 0])
            case ir.Extent() | ir.Stride():
                word = self.words[e.array.name, type(e).__name__.lower(), e.axis]
                return self.same(i64, word).astype(e.type.dtype)
            case ir.Apply() if OPS[e.op].section == "topology":
                return self.topology(e.op[:-2], "xyz".index(e.op[-1])).astype(e.type.dtype)
        # Another driver has a table here: for each op, how its device spells it.
        return OPS[e.op].evaluate(*map(self.expr, e.args), to=e.type)

    def topology(self, kind, axis):
        if kind == "grid_dim":
            return self.same(i64, self.grid[axis])
        dims, block_dim = self.grid, self.kernel.block_dim
        block = (self.first + self.block) // prod(dims[:axis]) % dims[axis]
        thread = self.thread // prod(block_dim[:axis]) % block_dim[axis]
        return {"block_idx": block, "thread_idx": thread, "global_idx": block * block_dim[axis] + thread}[kind]

    # --- variables ---
    def Let(self, s, m):
        self.env[ir.Value, s.value.name] = self.expr(s.expr)
        return m

    def Declare(self, s, m):
        self.env[ir.Local, s.local.name] = self.expr(s.init or ir.Const(s.local.type, 0))
        return m

    def Assign(self, s, m):
        name = ir.Local, s.local.name
        self.env[name] = np.where(m, self.expr(s.expr), self.env[name])
        return m

    # --- memory ---
    def DeclareArray(self, s, m):
        size = prod(s.memory.shape) * s.memory.elem.size
        self.memory[s.memory.name] = (np.zeros(len(self.number) * size, np.uint8), self.number * size)
        return m

    def elements(self, s, m):
        """Which threads access memory, all of the memory in the type of ``s``, and where their elements are."""
        data, start = self.memory[s.memory.name]
        if s.guard is not None:
            m = m & self.expr(s.guard)
        size = s.type.size
        index = start // size + self.expr(s.indices[0]).astype(np.int64)
        return m, data[: len(data) // size * size].view(s.type.dtype), index[m]

    def Load(self, s, m):
        inside, data, index = self.elements(s, m)
        for k, value in enumerate(s.values):
            self.env[ir.Value, value.name] = self.same(s.type, 0)
            self.env[ir.Value, value.name][inside] = data[index + k]
        return m

    def Store(self, s, m):
        inside, data, index = self.elements(s, m)
        for k, expr in enumerate(s.exprs):
            data[index + k] = self.expr(expr)[inside]
        return m

    def Atomic(self, s, m):
        inside, data, index = self.elements(s, m)
        row, args, old = ATOMICS[s.op], [self.expr(a) for a in s.args], self.same(s.type, 0)
        for at, thread in zip(index, np.flatnonzero(inside), strict=True):
            element = data[at : at + 1]
            old[thread] = element[0]
            if row.writes:
                element[:] = row.combine(element.copy(), *(a[thread : thread + 1] for a in args))
        if s.value is not None:
            self.env[ir.Value, s.value.name] = old
        return m

    # --- control flow ---
    def Barrier(self, s, m):
        return m  # all threads are here, and all that they wrote is written

    Fence = Barrier

    def If(self, s, m):
        cond = self.expr(s.cond)
        return self.run(s.then, m & cond) | self.run(s.orelse, m & ~cond)

    def Loop(self, s, m):
        self.loops.append([self.none, self.none])  # the threads that left it, and its present round
        while m.any():
            m = self.run(s.body, m) | self.loops[-1][1]
            self.loops[-1][1] = self.none
        return self.loops.pop()[0]

    def For(self, s, m):
        value, step, count = self.expr(s.start), self.expr(s.step), self.expr(s.count)
        self.loops.append([self.none, self.none])
        ended, round = self.none, 0
        while (on := m & (count > round)).any():
            ended = ended | m & ~on
            self.env[ir.Value, s.value.name] = value
            m = self.run(s.body, on) | self.loops[-1][1]
            self.loops[-1][1] = self.none
            value, round = value + step, round + 1
        return ended | m | self.loops.pop()[0]

    def Break(self, s, m):
        self.loops[-1][0] = self.loops[-1][0] | m
        return self.none

    def Continue(self, s, m):
        self.loops[-1][1] = self.loops[-1][1] | m
        return self.none

    def Call(self, s, m):
        function = next(f for f in self.kernel.functions if f.name == s.function)
        outer = self.env
        self.env = {(ir.Value, p.name): self.expr(a) for p, a in zip(function.params, s.args, strict=True)}
        self.run(function.body, m)
        self.env = outer | {(ir.Value, v.name): r for v, r in zip(s.values, self.results, strict=True)}
        return m

    def Return(self, s, m):
        self.results = [self.expr(r) for r in s.results]
        return self.none
