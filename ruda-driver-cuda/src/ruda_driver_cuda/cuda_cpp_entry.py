"""The entry function of a kernel in CUDA C++: arguments, memories, and the body."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ruda.contract import ArgumentLayout
from ruda.ir import Apply, ConstantArray, Expr, Load, SharedArray, walk
from ruda.passes.context import expressions
from ruda_driver_cuda.cuda_cpp_functions import Signature
from ruda_driver_cuda.cuda_cpp_memory import WIDEST, element
from ruda_driver_cuda.cuda_cpp_scope import LANE, SUBGROUP, Scope, thread_number
from ruda_driver_cuda.cuda_cpp_statements import Path, Statements
from ruda_driver_cuda.cuda_cpp_types import FULL, mem

#: Bytes of shared memory that a kernel may declare; more is given at the launch.
STATIC_SHARED = 48 << 10

_LANES = {"lane_idx", "subgroup_idx"}


@dataclass
class Entry:
    """Writes the entry function of one kernel.

    Attributes:
        dynamic: bytes of shared memory that its launch must give, or 0.
    """

    scope: Scope
    name: str
    functions: dict[str, Signature]
    dynamic: int = 0

    def write(self) -> str:
        """The constant arrays, the type of the arguments, and the function."""
        w, kernel = self.scope.writer, self.scope.kernel
        constants = [self.constant(array) for array in kernel.constants]
        arguments = self.arguments()
        self.shared()
        self.bounds()
        mask = self.lanes()
        Statements(self.scope, self.functions, Path(mask)).block(kernel.body)
        params = "const __grid_constant__ Args args" if kernel.params else ""
        bounds = f"__launch_bounds__({kernel.threads})"
        head = f'extern "C" __global__ void {bounds} {self.name}({params}) {{'
        return "\n".join([*constants, arguments, head, w.text(), "}"])

    def arguments(self) -> str:
        """The struct that is the packed block of ``ArgumentLayout``, each member in a slot of 8 bytes."""
        scope, members = self.scope, []
        arrays = {a.name: a for a in scope.kernel.arrays}
        for slot in ArgumentLayout.of(scope.kernel.params).slots:
            if slot.kind == "address":
                array = arrays[slot.param]
                name, type = scope.name(array), element(array)
                scope.alignments[array.name] = array.alignment
                members.append(f"  {type}* {name};")
                scope.writer.do(f"{type}* const {name} = args.{name};")
            elif slot.kind == "scalar":
                (scalar,) = (s for s in scope.kernel.scalars if s.name == slot.param)
                members.append(f"  alignas(8) {mem(slot.type)} {scope.name(scalar)};")
            else:
                members.append(f"  i64 {scope.member(slot.param, slot.kind, slot.axis)};")
        return "\n".join(["struct Args {", *members, "};"]) if members else ""

    def constant(self, array: ConstantArray) -> str:
        """A table; in the constant memory, which gives a warp one element at a time, if all threads read the same."""
        scope = self.scope
        loads = [s for s in walk(scope.kernel.body) if isinstance(s, Load) and s.memory == array]
        same = all(scope.uniform.expr(s.indices[0]) for s in loads)
        scope.alignments[array.name] = WIDEST
        size = array.elem.size
        numbers = (int.from_bytes(array.data[k : k + size], "little") for k in range(0, len(array.data), size))
        items = ", ".join(f"{n:#x}" for n in numbers)
        # As bits, so that a NaN is one too.
        name, type = scope.name(array), mem(array.elem)
        scope.writer.do(f"const {type}* const {name} = reinterpret_cast<const {type}*>({name}bits);")
        where = "__constant__" if same else "__device__ const"
        return f"alignas({WIDEST}) {where} u{8 * size} {name}bits[{prod(array.shape)}] = {{{items}}};"

    def shared(self) -> None:
        """Shared arrays: declared, or places in one buffer where they are larger than a kernel may declare."""
        scope, w = self.scope, self.scope.writer
        arrays = sorted(scope.kernel.shared, key=lambda a: -a.elem.size)
        if sum(-(-_bytes(a) // WIDEST) * WIDEST for a in arrays) <= STATIC_SHARED:
            for a in arrays:
                scope.alignments[a.name] = WIDEST
                w.do(f"alignas({WIDEST}) __shared__ {mem(a.elem)} {scope.name(a)}[{_bytes(a) // a.elem.size}];")
            return
        w.do(f"alignas({WIDEST}) extern __shared__ u8 shared[];")
        for a in arrays:  # the widest elements first, so that nothing is lost between arrays
            type = mem(a.elem)
            w.do(f"{type}* const {scope.name(a)} = reinterpret_cast<{type}*>(shared + {self.dynamic});")
            scope.alignments[a.name] = min(WIDEST, self.dynamic & -self.dynamic or WIDEST)
            self.dynamic += _bytes(a)

    def bounds(self) -> None:
        """Tell the compiler how many threads there are, so that it drops guards that they cannot fail."""
        for axis, size in zip("xyz", self.scope.kernel.block_dim, strict=True):
            if size > 1:
                self.scope.writer.do(f"__builtin_assume(threadIdx.{axis} < {size}u);")

    def lanes(self) -> str:
        """The lane of the thread, if anybody asks; the mask of all lanes that the subgroup has."""
        kernel, w = self.scope.kernel, self.scope.writer
        subgroups = kernel.body.contains_subgroup
        if subgroups or any(_tells(e) for s in walk(kernel.body) for e in expressions(s)):
            if kernel.subgroup_size != SUBGROUP:
                self.scope.refuse(f"subgroup of {kernel.subgroup_size} lanes", [kernel.index], kernel.pos)
            w.do(f"const u32 {LANE} = ({thread_number(kernel)}) % {SUBGROUP}u;")
        whole, rest = divmod(kernel.threads, SUBGROUP)
        if not subgroups or not rest:
            return FULL if subgroups else ""
        last = f"{(1 << rest) - 1:#x}u"
        w.do(f"const u32 lanes = ({thread_number(kernel)}) / {SUBGROUP}u == {whole}u ? {last} : {FULL};")
        return "lanes"


def _bytes(array: SharedArray) -> int:
    """Of an even number, since atomics on bytes are made by pairs."""
    size = prod(array.shape) * array.elem.size
    return size + size % 2


def _tells(expr: Expr) -> bool:
    return isinstance(expr, Apply) and (expr.op in _LANES or any(map(_tells, expr.args)))
