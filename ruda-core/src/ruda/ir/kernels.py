"""Nodes: functions and whole kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ruda.ir.expressions import NOWHERE, Array, ConstantArray, Pos, Scalar, SharedArray, Value
from ruda.ir.statements import Block
from ruda.target import Dim3
from ruda.types import ScalarType

Bounds = Literal["checked", "validate", "unchecked"]


@dataclass(frozen=True)
class Function:
    """A pure function: scalars in, scalars out, no memory but its own local arrays, not recursive.

    Its body is straight structured code whose only Return is the last statement.
    """

    name: str
    params: tuple[Value, ...]
    results: tuple[ScalarType, ...]
    body: Block
    pos: Pos = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Kernel:
    """One specialised kernel.

    Attributes:
        name: the Python name; also the entry point, after mangling by the emitter.
        params: arrays and scalars in launch order; hidden ones last.
        block_dim: compile-time block dimensions (x, y, z).
        index: the index type, i32 or i64.
        shared: every shared array that the body names.
        constants: every constant array that the body names.
        body: the statements of one thread.
        functions: what Call statements name, callees before callers.
        bounds: the mode that ``passes.bounds`` turns into guards; afterwards "unchecked".
        fastmath: contraction, reassociation and approximate functions are allowed in the body; functions are strict.
        folded: a 1-D grid whose x was folded into (x, y); block_idx x is ``y * grid_dim_x + x``.
        flat: every Load, Store and Atomic has exactly one index, the element's offset from element 0, functions
            included; ``passes.flatten`` sets it, and only it tells an offset from the index of a rank-1 strided array.
        subgroup_size: lanes of a subgroup, a power of two; the requested number, or the target's default.
    """

    name: str
    params: tuple[Array | Scalar, ...]
    block_dim: Dim3
    index: ScalarType
    shared: tuple[SharedArray, ...]
    body: Block
    functions: tuple[Function, ...] = ()
    constants: tuple[ConstantArray, ...] = ()
    bounds: Bounds = "checked"
    fastmath: bool = False
    folded: bool = False
    flat: bool = False
    subgroup_size: int = 1
    pos: Pos = field(default=NOWHERE, compare=False)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(p for p in self.params if isinstance(p, Array))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(p for p in self.params if isinstance(p, Scalar))

    @property
    def threads(self) -> int:
        """Threads a block."""
        x, y, z = self.block_dim
        return x * y * z
