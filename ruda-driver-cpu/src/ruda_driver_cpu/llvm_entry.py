"""The entry function of a kernel's module: arguments, memory, and the loop over blocks.

Its control record says which blocks: a call takes ``chunk`` blocks at a time
from ``next`` up to ``limit``, until none is left or ``cancel`` is set. Calls
with the same record share its blocks. A chunk of 0 means that this call runs
all blocks of the grid alone.
"""

from __future__ import annotations

from ruda.contract import ArgumentLayout
from ruda.ir import Apply, DeclareArray, Expr, Kernel, Local, LocalArray, walk
from ruda.passes.context import expressions
from ruda.passes.regions import BlockFor, Once, ThreadLoop, walk_regions
from ruda.passes.split import Split, split
from ruda.types import bool_
from ruda_driver_cpu.llvm_regions import Regions
from ruda_driver_cpu.llvm_scope import Place, Row, Scope, array_bytes, array_type
from ruda_driver_cpu.llvm_statements import Statements
from ruda_driver_cpu.llvm_writer import Module, Writer, reg

#: ``packed`` is laid out by ArgumentLayout; ``scratch`` is the worker's own shared arrays and contexts.
_SIGNATURE = "ptr noalias readonly %packed, i64 %gx, i64 %gy, i64 %gz, ptr %control, ptr {scratch}%scratch"

#: So that LLVM may keep what is in ``scratch`` in registers, also across a way out of a loop.
_SCRATCH = "noalias writable align 64 dereferenceable({nbytes}) "

#: Byte offsets in the control record: i64 chunk, i32 cancel, i64 limit and, on a cache line of its own, i64 next.
CHUNK, CANCEL, LIMIT, NEXT, CONTROL_BYTES = 0, 8, 16, 64, 128

#: Bytes of a thread's local arrays that stay on the stack, where LLVM can make registers of them.
STACK = 64 << 10

#: Threads in x of the blocks that may run as one.
ROW = 1 << 20

_ALIGNMENT = 64


class Entry:
    """Writes the entry function of one kernel. ``scratch`` is the bytes of scratch memory it needs."""

    def __init__(self, module: Module, kernel: Kernel, target: str) -> None:
        self.kernel = kernel
        self.writer = Writer(module)
        self.scope = Scope(self.writer, kernel, target)
        self.split = split(kernel)
        self.context: dict[Local, Place] = {}
        self.scratch = 0
        self.merges = _merges(kernel, self.split)
        self.widest = max(1, ROW // kernel.block_dim[0])
        self.position = tuple(self.writer.slot("i64") for _ in range(4))  # block number, x, y, z

    def write(self, name: str) -> str:
        """The function's definition."""
        body = self.body()
        scratch = _SCRATCH.format(nbytes=self.scratch) if self.scratch else ""
        return f"define void @{name}({_SIGNATURE.format(scratch=scratch)}) #0 {{\n{body}\n}}"

    def body(self) -> str:
        w = self.writer
        arguments(self.scope)
        self.memories()
        total, self.grid = grid_size(self.scope)
        cancel = w.op(f"getelementptr inbounds i8, ptr %control, i64 {CANCEL}")
        begin, end, alone = self.take(total, cancel)
        self.coordinates(begin, end)
        statements = Statements(self.scope, cancel, "exit", {f.name: f for f in self.kernel.functions})
        Regions(self.kernel, statements, self.context).write(self.split.regions)
        self.advance(end, alone)
        w.place("exit")
        w.do("ret void")
        return w.text()

    def memories(self) -> None:
        """Constant arrays, shared arrays, contexts and local arrays."""
        w, threads = self.writer, self.kernel.threads
        for constant in self.kernel.constants:
            self.scope.places[constant.name] = Place(w.module.constant(constant.data))
        for shared in self.kernel.shared:
            self.scope.places[shared.name] = Place(self.reserve(array_bytes(shared)))
        for variable in self.split.context:
            if isinstance(variable, Local):
                self.context[variable] = Place(self.reserve(variable.type.size * threads))
            else:
                self.scope.places[variable.name] = Place(self.reserve(array_bytes(variable) * threads), stride=threads)
        stack = 0
        for array in self.local_arrays():
            if array.name in self.scope.places:
                continue
            stack += array_bytes(array)
            address = w.slot(array_type(array), _ALIGNMENT) if stack <= STACK else self.reserve(array_bytes(array))
            self.scope.places[array.name] = Place(address, shared=False)

    def local_arrays(self) -> list[LocalArray]:
        """The local arrays of the kernel, in order of appearance."""
        bodies = [r.body for r in walk_regions(self.split.regions) if isinstance(r, ThreadLoop | Once)]
        return list(dict.fromkeys(s.memory for b in bodies for s in walk(b) if isinstance(s, DeclareArray)))

    def reserve(self, nbytes: int) -> str:
        """The address of ``nbytes`` of scratch memory."""
        offset = self.scratch
        self.scratch += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return self.writer.op(f"getelementptr inbounds i8, ptr %scratch, i64 {offset}")

    def take(self, total: str, cancel: str) -> tuple[str, str, str]:
        """Take blocks [begin, end): all of them where ``alone``, else the next chunk."""
        w = self.writer
        chunk = w.op(f"load i64, ptr {w.op(f'getelementptr inbounds i8, ptr %control, i64 {CHUNK}')}, align 8")
        limit = w.op(f"load i64, ptr {w.op(f'getelementptr inbounds i8, ptr %control, i64 {LIMIT}')}, align 8")
        next = w.op(f"getelementptr inbounds i8, ptr %control, i64 {NEXT}")
        alone = w.op(f"icmp eq i64 {chunk}, 0")
        w.branch(alone, "range", "take")
        w.place("take")
        stop = w.op(f"load atomic i32, ptr {cancel} monotonic, align 4")
        w.branch(w.op(f"icmp eq i32 {stop}, 0"), "more", "exit")
        w.place("more")
        first = w.op(f"atomicrmw add ptr {next}, i64 {chunk} monotonic, align 8")
        last = w.call("llvm.umin.i64", "i64", ("i64", w.op(f"add i64 {first}, {chunk}")), ("i64", limit))
        w.branch(w.op(f"icmp ult i64 {first}, {limit}"), "range", "exit")
        w.place("range")
        begin = w.op(f"phi i64 [ 0, %entry ], [ {first}, %more ]")
        return begin, w.op(f"phi i64 [ {total}, %entry ], [ {last}, %more ]"), alone

    def coordinates(self, begin: str, end: str) -> None:
        """Begin the loop over blocks."""
        w, (gx, gy, _) = self.writer, self.grid
        row = w.op(f"udiv i64 {begin}, {gx}")
        parts = (begin, w.op(f"urem i64 {begin}, {gx}"), w.op(f"urem i64 {row}, {gy}"), w.op(f"udiv i64 {row}, {gy}"))
        for slot, part in zip(self.position, parts, strict=True):
            w.do(f"store i64 {part}, ptr {slot}")
        w.jump("block")
        w.place("block")
        for axis, slot in zip("xyz", self.position[1:], strict=True):
            here = w.op(f"load i64, ptr {slot}")
            self.scope.indices[f"block_idx_{axis}"] = self.scope.narrowed(here, self.kernel.index)
        if self.merges:
            self.scope.merged = self.row(end)

    def row(self, end: str) -> Row:
        """Take blocks to the end of the row or of the range."""
        w, (block, x, _, _) = self.writer, self.position
        left = w.op(f"sub nuw nsw i64 {end}, {w.op(f'load i64, ptr {block}')}")
        in_row = w.op(f"sub nuw nsw i64 {self.grid[0]}, {w.op(f'load i64, ptr {x}')}")
        blocks = w.call("llvm.umin.i64", "i64", ("i64", left), ("i64", in_row))
        blocks = w.call("llvm.umin.i64", "i64", ("i64", blocks), ("i64", str(self.widest)))
        threads = w.op(f"mul nuw nsw i64 {blocks}, {self.kernel.block_dim[0]}")
        return Row(blocks, threads, "0", threads)

    def advance(self, end: str, alone: str) -> None:
        """Go on to the next block, x fastest; after the last, take more."""
        w, (block, x, y, z), (gx, gy, _) = self.writer, self.position, self.grid
        taken = "1" if self.scope.merged is None else self.scope.merged.blocks
        up = [w.op(f"add nuw nsw i64 {w.op(f'load i64, ptr {s}')}, {n}") for s, n in ((x, taken), (y, 1), (z, 1))]
        row_ends = w.op(f"icmp eq i64 {up[0]}, {gx}")
        w.do(f"store i64 {w.select(row_ends, 'i64', '0', up[0])}, ptr {x}")
        w.branch(row_ends, "row", "following")
        w.place("row")
        plane_ends = w.op(f"icmp eq i64 {up[1]}, {gy}")
        w.do(f"store i64 {w.select(plane_ends, 'i64', '0', up[1])}, ptr {y}")
        w.branch(plane_ends, "plane", "following")
        w.place("plane")
        w.do(f"store i64 {up[2]}, ptr {z}")
        w.jump("following")
        w.place("following")
        number = w.op(f"add nuw nsw i64 {w.op(f'load i64, ptr {block}')}, {taken}")
        w.do(f"store i64 {number}, ptr {block}")
        w.branch(w.op(f"icmp ult i64 {number}, {end}"), "block", "done")
        w.place("done")
        w.branch(alone, "exit", "take")


def arguments(scope: Scope) -> None:
    """Everything in ``packed``."""
    w = scope.writer
    for slot in ArgumentLayout.of(scope.kernel.params).slots:
        address = w.op(f"getelementptr inbounds i8, ptr %packed, i64 {slot.position}")
        if slot.kind == "address":
            scope.places[slot.param] = Place(w.op(f"load ptr, ptr {address}, align 1"))
        elif slot.kind == "scalar" and slot.type == bool_:
            byte = w.op(f"load i8, ptr {address}, align 1")
            scope.scalars[slot.param] = w.op(f"icmp ne i8 {byte}, 0")
        else:
            value = w.op(f"load {reg(slot.type)}, ptr {address}, align 1")
            if slot.kind == "scalar":
                scope.scalars[slot.param] = value
            else:
                of = scope.extents if slot.kind == "extent" else scope.strides
                of[slot.param, slot.axis] = value


def grid_size(scope: Scope) -> tuple[str, tuple[str, str, str]]:
    """The number of blocks, and the grid as the kernel sees it: a folded one is its x alone."""
    w = scope.writer
    total = w.op(f"mul i64 {w.op('mul i64 %gx, %gy')}, %gz")
    grid = (total, "1", "1") if scope.kernel.folded else ("%gx", "%gy", "%gz")
    for axis, size in zip("xyz", grid, strict=True):
        scope.indices[f"grid_dim_{axis}"] = scope.narrowed(size, scope.kernel.index)
    return total, grid


def _merges(kernel: Kernel, regions: Split) -> bool:
    """Whether blocks side by side may run as one: nothing asks for the place in the block or grid in x, none has memory
    of its own, and one loop over threads is all there is.
    """

    def tells(expr: Expr) -> bool:
        return isinstance(expr, Apply) and (expr.op in ("thread_idx_x", "block_idx_x") or any(map(tells, expr.args)))

    found = regions.regions
    if len(found) == 1 and isinstance(found[0], BlockFor):
        found = found[0].body
    if len(found) != 1 or not isinstance(found[0], ThreadLoop) or kernel.shared:
        return False
    return not any(tells(e) for s in walk(kernel.body) for e in expressions(s))
