"""What a launch costs, where that depends on its arguments: a function of the kernel's module.

It counts the rounds of loops for a few threads, from the first of the first
block to the last of the last. That is exact for counts that grow or fall along
the grid, as those of ``range(i, n, step)`` do, and near enough for the rest.
"""

from __future__ import annotations

from ruda.ir import Apply, Block, Const, Expr, For, Kernel, Let, Local, Value, blocks, walk
from ruda.types import f64
from ruda_driver_cpu.cost import Work
from ruda_driver_cpu.llvm_entry import arguments, grid_size
from ruda_driver_cpu.llvm_scope import Scope
from ruda_driver_cpu.llvm_writer import Module, Writer, constant, reg

#: Threads that are looked at.
_SAMPLES = 5

#: What its name ends with, after the entry's.
SUFFIX = ".cost"

#: As the entry's arguments of these names; it gives the operations of a block.
_SIGNATURE = "ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz"

_TOPOLOGY = ("thread_idx", "block_idx", "global_idx", "grid_dim")


def write(module: Module, kernel: Kernel, work: Work, target: str, entry: str) -> str:
    """The definition of the function, or "" where some loop's count does not follow from indices and parameters."""
    needed = _Needed(kernel)
    if not work.bounded or not all(needed.loop(s) for s in walk(kernel.body) if isinstance(s, For)):
        return ""
    w = Writer(module)
    scope = Scope(w, kernel, target)
    arguments(scope)
    _, grid = grid_size(scope)
    most = w.slot("double")
    w.do(f"store double 0.0, ptr {most}")
    with w.repeat(_SAMPLES, hint="sample") as number:
        sample = _Sample(scope, needed.values, number)
        sample.place(grid)
        sample.block(kernel.body)
        here, so_far = sample.operations(work), w.op(f"load double, ptr {most}")
        larger = w.op(f"fcmp ogt double {here}, {so_far}")
        w.do(f"store double {w.select(larger, 'double', here, so_far)}, ptr {most}")
    a_thread = w.op(f"load double, ptr {most}")
    w.do(f"ret double {w.op(f'fmul double {a_thread}, {_double(kernel.threads)}')}")
    return f"define double @{entry}{SUFFIX}({_SIGNATURE}) #3 {{\n{w.text()}\n}}"


class _Needed:
    """The ``values`` that loops' counts follow from."""

    def __init__(self, kernel: Kernel) -> None:
        self.values: set[Value] = set()
        self._sources: dict[Value, tuple[Expr, ...]] = {}
        for s in walk(kernel.body):
            if isinstance(s, Let):
                self._sources[s.value] = (s.expr,)
            elif isinstance(s, For):
                self._sources[s.value] = (s.start, s.step, s.count)

    def loop(self, s: For) -> bool:
        """Take what the number of rounds of ``s`` follows from; whether that is all at hand."""
        return self._expr(s.count)

    def _expr(self, e: Expr) -> bool:
        match e:
            case Apply(args=()):
                return e.op.rpartition("_")[0] in _TOPOLOGY
            case Apply():
                return all(map(self._expr, e.args))
            case Value():
                if e not in self.values and not all(map(self._expr, self._sources.get(e, (_UNKNOWN,)))):
                    return False
                self.values.add(e)
        return not isinstance(e, Local)


_UNKNOWN = Local(f64, "")


class _Sample:
    """One thread, of which nothing is computed but the rounds of its loops."""

    def __init__(self, scope: Scope, needed: set[Value], number: str) -> None:
        self.scope = scope
        self.needed = needed
        self.number = number
        self.rounds: dict[Value, str] = {}

    def place(self, grid: tuple[str, str, str]) -> None:
        """Which thread it is."""
        w, indices, kernel = self.scope.writer, self.scope.indices, self.scope.kernel
        for axis, blocks_here, size in zip("xyz", grid, kernel.block_dim, strict=True):
            block = self.along(w.op(f"sub nuw nsw i64 {blocks_here}, 1"))
            thread = self.along(str(size - 1))
            here = w.op(f"add nuw nsw i64 {w.op(f'mul nuw nsw i64 {block}, {size}')}, {thread}")
            for name, text in (("block_idx", block), ("thread_idx", thread), ("global_idx", here)):
                indices[f"{name}_{axis}"] = self.scope.narrowed(text, kernel.index)

    def along(self, last: str) -> str:
        """The sample's share of ``last``, an i64."""
        w = self.scope.writer
        return w.op(f"udiv i64 {w.op(f'mul nuw i64 {last}, {self.number}')}, {_SAMPLES - 1}")

    def block(self, block: Block) -> None:
        scope, w = self.scope, self.scope.writer
        for s in block:
            if isinstance(s, Let) and s.value in self.needed:
                scope.define(s.value, scope.eval(s.expr))
            elif isinstance(s, For) and not isinstance(s.count, Const):
                self.rounds[s.value] = w.op(f"uitofp {reg(s.count.type)} {scope.eval(s.count)} to double")
            if isinstance(s, For) and s.value in self.needed:  # its value in the middle stands for all
                half = w.op(f"lshr {reg(s.count.type)} {scope.eval(s.count)}, 1")
                behind = w.op(f"mul {reg(s.step.type)} {scope.eval(s.step)}, {half}")
                scope.define(s.value, w.op(f"add {reg(s.value.type)} {scope.eval(s.start)}, {behind}"))
            for inside in blocks(s):
                self.block(inside)

    def operations(self, work: Work) -> str:
        """Those of the sample, as a double."""
        w, total = self.scope.writer, _double(work.fixed)
        for often, loop, inside in work.loops:
            rounds = w.op(f"fmul double {self.rounds[loop]}, {_double(often)}")
            total = w.op(f"fadd double {total}, {w.op(f'fmul double {rounds}, {self.operations(inside)}')}")
        return total


def _double(number: int) -> str:
    return constant(Const(f64, float(number)))
