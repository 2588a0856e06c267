"""What names mean in one CUDA C++ function, and expressions over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from ruda.errors import UnsupportedInstruction
from ruda.ir import Apply, Const, Expr, Extent, Kernel, Local, Memory, Pos, Scalar, Stride, Value
from ruda.passes.multiples import Multiples
from ruda.passes.uniform import Uniformity
from ruda.types import ScalarType, bool_
from ruda_driver_cuda.cuda_cpp_convert import bitcast, cast
from ruda_driver_cuda.cuda_cpp_floats import ROWS as FLOATS
from ruda_driver_cuda.cuda_cpp_ints import ROWS as INTS
from ruda_driver_cuda.cuda_cpp_types import Names, constant
from ruda_driver_cuda.cuda_cpp_writer import Writer

#: The identifier of a thread's number in its subgroup.
LANE = "lane"

#: Lanes of a subgroup.
SUBGROUP = 32


@dataclass
class Scope:
    """The meaning of names while one function is written.

    Attributes:
        uniform: which values are the same in all threads of a block.
        multiples: what is known to divide integers.
        alignments: the alignment of element 0 in bytes, by the name of the memory.
    """

    writer: Writer
    kernel: Kernel
    target: str
    uniform: Uniformity
    multiples: Multiples
    alignments: dict[str, int] = field(default_factory=dict)
    names: Names = field(default_factory=Names)

    def name(self, thing: Value | Local | Scalar | Memory) -> str:
        """The identifier of ``thing``."""
        kind = Memory if isinstance(thing, Memory) else type(thing)
        return self.names.of((kind, thing.name), thing.name)

    def member(self, array: str, kind: str, axis: int) -> str:
        """The member of the arguments that holds an array's extent or stride; no identifier of a parameter ends so."""
        return f"{self.names.of((Memory, array), array)}{kind[0]}{axis}"

    def eval(self, expr: Expr) -> str:
        """The text of ``expr``, which binds closer than any operator."""
        match expr:
            case Const():
                return constant(expr)
            case Value() | Local():
                return self.name(expr)
            case Scalar():
                text = f"args.{self.name(expr)}"
                return f"({text} != 0)" if expr.type == bool_ else text
            case Extent():
                return f"{expr.type}(args.{self.member(expr.array.name, 'extent', expr.axis)})"
            case Stride():
                return f"{expr.type}(args.{self.member(expr.array.name, 'stride', expr.axis)})"
            case Apply() if not expr.args:
                return self.topology(expr)
            case Apply():
                return self.row(expr, [self.eval(a) for a in expr.args])
        raise AssertionError(expr)

    def row(self, expr: Apply, args: list[str]) -> str:
        module, operand = self.writer.module, expr.args[-1].type
        if expr.op == "cast":
            return cast(module, operand, expr.type, args[0])
        if expr.op == "bitcast":
            return bitcast(module, operand, expr.type, args[0])
        if expr.op == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        row = (FLOATS if operand.is_float else INTS).get(expr.op)
        if row is None:
            self.refuse(expr.op, [a.type for a in expr.args], expr.pos)
        return row(module, operand, args)

    def topology(self, expr: Apply) -> str:
        """Where a thread is, of the kernel's index type."""
        t, kernel = expr.type, self.kernel
        name, _, axis = expr.op.rpartition("_")
        block, blocks = f"blockIdx.{axis}", f"gridDim.{axis}"
        if kernel.folded:  # x goes on in y
            whole = f"u{t.bits}"
            block = f"{whole}(blockIdx.y) * gridDim.x + blockIdx.x" if axis == "x" else "0u"
            blocks = f"{whole}(gridDim.x) * gridDim.y" if axis == "x" else "1u"
        threads = dict(zip("xyz", kernel.block_dim, strict=True)).get(axis, 1)
        thread = f"threadIdx.{axis}" if threads > 1 else "0u"
        places = {
            "thread_idx": thread,
            "block_idx": block,
            "grid_dim": blocks,
            "global_idx": f"u{t.bits}({block}) * {threads}u + {thread}",
            "lane_idx": LANE,
            "subgroup_idx": f"({thread_number(kernel)}) / {SUBGROUP}u",
            "num_subgroups": str(-(-kernel.threads // SUBGROUP)),
        }
        text = places.get(name if axis in "xyz" else expr.op)
        if text is None:
            self.refuse(expr.op, [t], expr.pos)
        return f"{t}({text})"

    def refuse(self, op: str, types: list[ScalarType], pos: Pos) -> NoReturn:
        raise UnsupportedInstruction(
            f"kernel {self.kernel.name}, {pos}: the CUDA driver has no {op} on {', '.join(map(str, types))} "
            f"for {self.target}"
        )


def thread_number(kernel: Kernel) -> str:
    """The thread's number in its block, x fastest, as u32."""
    x, y, z = kernel.block_dim
    parts = ["threadIdx.x"] if x > 1 else []
    if y > 1:
        parts.append(f"threadIdx.y * {x}u")
    if z > 1:
        parts.append(f"threadIdx.z * {x * y}u")
    return " + ".join(parts) or "0u"
