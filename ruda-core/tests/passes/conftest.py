"""A bench that runs kernels, lowered or not, on the reference, and a generator of random ones."""

import random
import struct
from collections.abc import Callable

import numpy as np
import pytest

from ruda import ir, types
from ruda.contract import CompiledKernel
from ruda.ir import text
from ruda.ir.ops import OPS
from ruda.ir.verify import verify
from ruda.passes.rewrite import FALSE, TRUE, cast, op
from ruda.reference.device import ReferenceOptions
from ruda.reference.runtime import TARGET, ReferenceRuntime
from ruda.reference.server import ReferenceServer
from ruda.types import bool_, f32, f64, i8, i32, i64, u8, u16, u32, u64


def run(kernel: ir.Kernel, grid: int, *args: object) -> tuple[list[np.ndarray], list[Exception]]:
    """Launch ``kernel`` over ``grid`` blocks on C-contiguous arrays and scalars.

    Returns copies of the arrays after the launch, and the faults that the reference found.
    """
    verify(kernel)
    server = ReferenceServer(ReferenceOptions())
    compiler = ReferenceRuntime.compiler(TARGET)
    source = compiler.emit(kernel)
    program = server.load(CompiledKernel(kernel.name, source, compiler.build(source), kernel.block_dim, 0))
    packed, memory = [], []
    for param, arg in zip(kernel.params, args, strict=True):
        if isinstance(param, ir.Scalar):
            packed.append(np.asarray(arg, param.type.dtype).tobytes().ljust(8, b"\0"))
            continue
        assert isinstance(arg, np.ndarray)
        assert arg.flags.c_contiguous
        assert (arg.dtype, arg.ndim) == (param.elem.dtype, param.rank)
        allocation = server.alloc(max(arg.nbytes, 16), 0)
        if arg.nbytes:
            server.write(allocation, 0, memoryview(arg.tobytes()), 0)
        memory.append((allocation, arg))
        strides = [s // arg.itemsize for s in arg.strides]
        packed.append(struct.pack(f"<Q{2 * arg.ndim}q", allocation.address, *arg.shape, *strides))
    server.launch(program, (grid, 1, 1), b"".join(packed), (), 0)
    results = []
    for allocation, arg in memory:
        out = bytearray(arg.nbytes)
        if arg.nbytes:
            server.read(allocation, 0, memoryview(out), 0)
        results.append(np.frombuffer(bytes(out), arg.dtype).reshape(arg.shape))
    return results, server.faults(0)


@pytest.fixture(name="run")
def _run() -> Callable[..., tuple[list[np.ndarray], list[Exception]]]:
    return run


@pytest.fixture
def kernel() -> Callable[..., ir.Kernel]:
    """A function from the lines of a kernel's text to a verified kernel; positions are in ``user.py``."""

    def make(
        body: str, *declarations: str, block: str = "64 1 1", index: str = "i32", bounds: str = "unchecked"
    ) -> ir.Kernel:
        head = f"kernel k block {block} index {index} bounds {bounds}"
        lines = (text.HEADER, 'file 0 "user.py"', head, *declarations, "body {", body.strip(), "}")
        parsed = text.parse("\n".join(lines) + "\n")
        verify(parsed)
        return parsed

    return make


THREADS = 7  # a block; not a multiple of anything
ROW = 11

_COMPUTE = (i8, u8, u16, i32, u32, i64, u64, f32, f64)
_BINARY = {t: [o.name for o in OPS.values() if o.arity == 2 and t in o.accepts and not o.internal] for t in _COMPUTE}


class Generator:
    """A random legal kernel that ends, has no races, and reaches its barriers together but for returned threads.

    ``out`` is (threads, ROW), and a thread stores in its own row; ``x`` and ``m`` are only read. Under
    uniform control conditions are made of scalars, loop variables and the locals ``u*`` alone.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.out = ir.Array("out", i32, 2)
        self.x = ir.Array("x", f32, 1)
        self.m = ir.Array("m", i32, 3, "strided")
        self.n = ir.Scalar(i32, "n")
        self.f = ir.Scalar(f32, "f")
        self.index = self.random.choice([i32, i64])
        self.tile = ir.SharedArray("tile", i32, (THREADS,))
        self.uniform: list[ir.Expr] = [self.n]
        self.names: list[ir.Expr] = [self.n, self.f]
        self.locals: list[ir.Local] = []
        self.uniform_locals: list[ir.Local] = []
        self.arrays: list[ir.LocalArray] = []
        self.line = 0

    def kernel(self) -> ir.Kernel:
        size = self.random.randint(3, 7)
        prologue: list[ir.Statement] = []
        for t in (i32, f32, u8, i64):
            local = ir.Local(t, self.name("v"))
            prologue.append(ir.Declare(local, self.const(t)))
            self.locals.append(local)
        for _ in range(2):
            local = ir.Local(i32, self.name("u"))
            prologue.append(ir.Declare(local, cast(self.n, i32)))
            self.uniform_locals.append(local)
        self.names += self.locals
        self.uniform += self.uniform_locals
        body = self.block(size, 3, uniform=True, loop=False, barriers=True)
        epilogue = [
            ir.Store(self.out, (self.thread(), ir.Const(i32, ROW - 1)), (cast(local, i32),))
            for local in self.locals[:1]
        ]
        return ir.Kernel(
            "k",
            (self.out, self.x, self.m, self.n, self.f),
            (THREADS, 1, 1),
            self.index,
            (self.tile,),
            ir.Block((*prologue, *body, *epilogue)),
            pos=ir.Pos("user.py", 1),
        )

    def name(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def pos(self) -> ir.Pos:
        self.line += 1
        return ir.Pos(self.random.choice(["user.py", "a b.py"]), self.line, self.random.randint(0, 9), 20)

    def thread(self) -> ir.Expr:
        return op("global_idx_x", to=self.index)

    # --- expressions ---

    def const(self, t: types.ScalarType) -> ir.Const:
        if t == bool_:
            return self.random.choice([TRUE, FALSE])
        if t.is_float:
            pick = self.random.choice([0.0, -0.0, 1.0, -2.5, float("inf"), float("nan"), 0.1, 3e5])
            return ir.Const(t, float(np.asarray(pick, t.dtype)))
        pick = self.random.choice([0, 1, 2, 3, 7, -1, -3, t.min, t.max, self.random.randint(t.min, t.max)])
        return ir.Const(t, t.wrap(pick))

    def expr(self, t: types.ScalarType, depth: int = 2, uniform: bool = False) -> ir.Expr:
        """A random expression of type ``t``; of uniform ones only integer operations are taken."""
        names = self.uniform if uniform else self.names
        if depth <= 0 or self.random.random() < 0.2:
            fitting = [e for e in names if e.type == t]
            if fitting and self.random.random() < 0.7:
                return self.random.choice(fitting)
            if not uniform and t == self.index and self.random.random() < 0.4:
                return self.random.choice([self.thread(), op("thread_idx_x", to=t), ir.Extent(t, self.x, 0)])
            return self.const(t)
        if t == bool_:
            of = i32 if uniform else self.random.choice(_COMPUTE)
            compared = [self.expr(of, depth - 1, uniform) for _ in range(2)]
            pos = self.pos()
            test = op(self.random.choice(["lt", "le", "gt", "ge", "eq", "ne"]), *compared, pos=pos)
            return test if self.random.random() < 0.8 else op("not", test)
        way = self.random.random()
        if way < 0.15 and not uniform:
            return cast(self.expr(self.random.choice(_COMPUTE), depth - 1), t)
        if way < 0.25:
            arms = [self.expr(t, depth - 1, uniform) for _ in range(2)]
            return op("select", self.expr(bool_, depth - 1, uniform), *arms)
        names = [n for n in _BINARY[t] if OPS[n].result == "same" and not OPS[n].ulp]
        return op(
            self.random.choice(names),
            self.expr(t, depth - 1, uniform),
            self.expr(t, depth - 1, uniform),
            pos=self.pos(),
        )

    # --- statements ---

    def block(self, size: int, depth: int, *, uniform: bool, loop: bool, barriers: bool) -> ir.Block:
        """``loop``: Break and Continue may stand here. ``barriers``: barriers may."""
        scope = (list(self.names), list(self.uniform), list(self.locals), list(self.arrays))
        statements: list[ir.Statement] = []
        for _ in range(size):
            statements += self.statement(depth, uniform=uniform, loop=loop, barriers=barriers)
        self.names, self.uniform, self.locals, self.arrays = scope
        return ir.Block(tuple(statements))

    def statement(self, depth: int, *, uniform: bool, loop: bool, barriers: bool) -> list[ir.Statement]:
        pos, way = self.pos(), self.random.random()
        if depth > 0 and way < 0.45:
            return self.control(depth, pos, uniform=uniform, loop=loop, barriers=barriers)
        if uniform and barriers and way < 0.6:
            return self.exchange(pos)
        if uniform and way < 0.65:
            return [ir.Assign(self.random.choice(self.uniform_locals), self.expr(i32, 2, uniform=True), pos=pos)]
        if way < 0.72:
            local = self.random.choice(self.locals)
            return [ir.Assign(local, self.expr(local.type), pos=pos)]
        if way < 0.78:
            t = self.random.choice(_COMPUTE)
            value = ir.Value(t, self.name("t"))
            let = ir.Let(value, self.expr(t), pos=pos)
            self.names.append(value)
            return [let]
        if way < 0.88:
            memory = self.random.choice([self.x, self.m, *self.arrays])
            indices = tuple(self.subscript() for _ in range(memory.rank))
            value = ir.Value(memory.elem, self.name("e"))
            load = ir.Load((value,), memory, indices, pos=pos)
            self.names.append(value)
            return [load]
        if way < 0.92:
            array = ir.LocalArray(self.name("a"), i32, self.random.choice([(3,), (2, 4)]))
            self.arrays.append(array)
            return [ir.DeclareArray(array, pos=pos)]
        if self.arrays and way < 0.95:
            array = self.random.choice(self.arrays)
            return [ir.Store(array, tuple(self.subscript() for _ in array.shape), (self.expr(i32),), pos=pos)]
        return [ir.Store(self.out, (self.thread(), self.subscript()), (self.expr(i32),), pos=pos)]

    def subscript(self) -> ir.Expr:
        """Inside, or anywhere, of any integer type."""
        t = self.random.choice([i8, u8, i32, u32, i64, u64, self.index])
        index = self.expr(t)
        return op("mod", index, ir.Const(t, 5)) if self.random.random() < 0.7 else index

    def exchange(self, pos: ir.Pos) -> list[ir.Statement]:
        """Each thread reads what its neighbour wrote; a thread that returned has left what it last wrote."""
        tid = op("thread_idx_x", to=self.index)
        near = op("mod", op("add", tid, ir.Const(self.index, self.random.randint(1, 5))), ir.Const(self.index, THREADS))
        value = ir.Value(i32, self.name("s"))
        out = [
            ir.Store(self.tile, (tid,), (self.expr(i32),), pos=pos),
            ir.Barrier(pos=pos),
            ir.Load((value,), self.tile, (near,), pos=pos),
            ir.Barrier(pos=pos),
        ]
        self.names.append(value)
        return out

    def control(self, depth: int, pos: ir.Pos, *, uniform: bool, loop: bool, barriers: bool) -> list[ir.Statement]:
        way = self.random.random()
        same = uniform and self.random.random() < 0.6
        if way < 0.2:
            exits: list[ir.Statement] = []
            if loop and way < 0.13:
                exits = [ir.Break(pos=pos) if way < 0.07 else ir.Continue(pos=pos)]
                same = same or barriers  # a loop that may hold barriers is left by all threads together
            elif way < 0.17:
                exits = [ir.Return(pos=pos)]
            extra = self.block(1, 0, uniform=same, loop=False, barriers=barriers and same)
            then = ir.Block((*extra, *exits))
            return [ir.If(self.expr(bool_, 1, uniform=same and uniform), then, ir.Block(), pos=pos)]
        inner = {"uniform": same, "loop": loop and (same or not barriers), "barriers": barriers and same}
        if way < 0.6:
            then = self.block(self.random.randint(0, 3), depth - 1, **inner)
            orelse = self.block(self.random.randint(0, 2), depth - 1, **inner)
            return [ir.If(self.expr(bool_, 2, uniform=same), then, orelse, pos=pos)]
        value = ir.Value(i32, self.name("i"))
        count = op("and", cast(self.expr(i32, 1, uniform=same), u32), ir.Const(u32, 3))
        start, step = self.expr(i32, 1, uniform=same), self.expr(i32, 0, uniform=same)
        scope = list(self.names), list(self.uniform)
        self.names.append(value)
        if same:
            self.uniform.append(value)
        within = {"uniform": same, "loop": True, "barriers": barriers and same and self.random.random() < 0.7}
        body = self.block(self.random.randint(1, 4), depth - 1, **within)
        self.names, self.uniform = scope
        if way < 0.85:
            return [ir.For(value, start, step, count, body, pos=pos)]
        # A while loop: a fresh local counts down at its head.
        left = ir.Local(u32, self.name("w"))
        zero, one = ir.Const(u32, 0), ir.Const(u32, 1)
        head = (
            ir.If(op("eq", left, zero), ir.Block((ir.Break(pos=pos),)), ir.Block(), pos=pos),
            ir.Assign(left, op("sub", left, one), pos=pos),
            ir.Let(value, cast(left, i32), pos=pos),
        )
        return [ir.Declare(left, count, pos=pos), ir.Loop(ir.Block((*head, *body)), pos=pos)]


@pytest.fixture
def random_kernel() -> Callable[[int], ir.Kernel]:
    """A function from a seed to a random kernel."""
    return lambda seed: Generator(seed).kernel()


@pytest.fixture
def random_args() -> Callable[[int], tuple[object, ...]]:
    """Arguments for a random kernel over two blocks, from a seed."""

    def make(seed: int) -> tuple[object, ...]:
        rng = np.random.default_rng(seed)
        out = np.full((2 * THREADS - 1, ROW), -77, np.int32)  # the last thread's row is outside
        x = rng.standard_normal(5).astype(np.float32)
        m = rng.integers(-9, 9, (3, 2, 4), np.int32)
        return out, x, m, int(rng.integers(-3, 4)), float(rng.integers(-2, 3))

    return make
