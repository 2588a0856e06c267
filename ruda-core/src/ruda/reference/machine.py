"""The state of an execution: Launch, Batch (whole blocks in lockstep) and Frame (the variables of one body)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ruda import ir
from ruda.contract import ArgumentLayout
from ruda.errors import DeviceFault
from ruda.reference.device import ReferenceOptions
from ruda.reference.faults import Place, Reports
from ruda.reference.lanes import ALL, NONE, Lanes, Mask, join
from ruda.reference.storage import Storage
from ruda.reference.views import View, of_array, of_constant, of_shape, poison
from ruda.target import Dim3
from ruda.types import ScalarType

if TYPE_CHECKING:
    from ruda.reference.sanitizer.observe import Observer
    from ruda.reference.sanitizer.watch import Watch


class Launch:
    """One launch: its arguments, its grid, and the reports it makes.

    ``grid`` is the grid that the kernel sees: where it is folded, x alone.
    """

    def __init__(
        self,
        kernel: ir.Kernel,
        grid: Dim3,
        packed: bytes,
        storage: Storage,
        faults: list[DeviceFault],
        options: ReferenceOptions,
    ) -> None:
        self.kernel = kernel
        self.grid: Dim3 = (prod(grid), 1, 1) if kernel.folded else grid
        self.options = options
        self.reports = Reports(kernel, faults)
        self.watch: Watch | None = None  # the sanitizer's, where it is on
        slots = {
            (s.param, s.kind, s.axis): np.frombuffer(packed, s.type.dtype, 1, s.position)
            for s in ArgumentLayout.of(kernel.params).slots
        }
        self.scalars: dict[str, Lanes] = {p.name: slots[p.name, "scalar", 0] for p in kernel.scalars}
        #: Extents and strides of the array arguments, in elements.
        self.extents: dict[str, tuple[int, ...]] = {}
        self.strides: dict[str, tuple[int, ...]] = {}
        self.constants = {c.name: of_constant(c, kernel.flat) for c in kernel.constants}
        self._addresses: dict[str, int] = {}
        self._storage = storage
        self._views: dict[tuple[str, ScalarType], View] = {}
        for a in kernel.arrays:
            self.extents[a.name] = tuple(int(slots[a.name, "extent", i][0]) for i in range(a.rank))
            self.strides[a.name] = tuple(int(slots[a.name, "stride", i][0]) for i in range(a.rank))
            self._addresses[a.name] = int(slots[a.name, "address", 0][0])

    def array(self, array: ir.Array, type: ScalarType) -> View:
        """The view of an array argument as scalars of ``type``."""
        found = self._views.get((array.name, type))
        if found is None:
            name, flat = array.name, self.kernel.flat
            place = (self._addresses[name], self.extents[name], self.strides[name])
            found = self._views[name, type] = of_array(array, type, *place, self._storage, flat)
        return found


class Batch:
    """``blocks`` whole blocks from block number ``first`` on, x fastest; lanes are block by block, then x fastest.

    ``live`` are the lanes that have not returned.
    """

    def __init__(self, launch: Launch, first: int, blocks: int) -> None:
        self.launch = launch
        self.first = first
        self.blocks = blocks
        self.threads = launch.kernel.threads
        self.lanes = blocks * self.threads
        self.live: Mask = ALL
        self._topology: dict[str, Lanes] = {}

    @cached_property
    def shared(self) -> dict[str, View]:
        """Each block's shared arrays, poisoned."""
        flat = self.launch.kernel.flat
        views = {}
        for memory in self.launch.kernel.shared:
            size = prod(memory.shape)
            data = np.full(self.blocks * size, poison(memory.elem), memory.elem.dtype)
            views[memory.name] = of_shape(data, memory.shape, 1, self._per_block(np.arange(self.blocks) * size), flat)
        return views

    @cached_property
    def lane_numbers(self) -> Lanes:
        """0, 1, ... per lane."""
        return np.arange(self.lanes)

    def topology(self, name: str) -> Lanes:
        """The value of a row of the op table's section "topology", in the kernel's index type."""
        found = self._topology.get(name)
        if found is None:
            wide = self._lane(name) if name[-2] != "_" else self._wide(name[:-2], "xyz".index(name[-1]))
            found = self._topology[name] = wide.astype(self.launch.kernel.index.dtype, copy=False)
        return found

    @property
    def subgroups(self) -> int:
        """Subgroups of a block, the last of which may not be full."""
        return -(-self.threads // self.launch.kernel.subgroup_size)

    def thread(self, subgroup: int, lane: int) -> int:
        """The lane of the batch that is lane ``lane`` of its subgroup number ``subgroup``."""
        block, number = divmod(subgroup, self.subgroups)
        return block * self.threads + number * self.launch.kernel.subgroup_size + lane

    def place(self, lane: int) -> Place:
        """Which thread ``lane`` is."""
        block, thread = divmod(lane, self.threads)
        return Place(
            _coordinates(self.first + block, self.launch.grid), _coordinates(thread, self.launch.kernel.block_dim)
        )

    def _lane(self, name: str) -> npt.NDArray[np.int64]:
        """Where threads are among subgroups, which are numbered along the block."""
        if name == "num_subgroups":
            return np.array([self.subgroups])
        subgroup, lane = np.divmod(np.arange(self.threads), self.launch.kernel.subgroup_size)
        return np.tile(lane if name == "lane_idx" else subgroup, self.blocks)

    def _wide(self, kind: str, axis: int) -> npt.NDArray[np.int64]:
        """A topology value as i64, before it wraps to the index type."""
        grid, block_dim = self.launch.grid, self.launch.kernel.block_dim
        if kind == "grid_dim":
            return np.array([grid[axis]])
        if kind == "thread_idx":
            if block_dim[axis] == 1:
                return np.zeros(1, np.int64)
            numbers = np.arange(self.threads) // prod(block_dim[:axis]) % block_dim[axis]
            return np.tile(numbers, self.blocks)
        if kind == "block_idx":
            if grid[axis] == 1:
                return np.zeros(1, np.int64)
            return self._per_block(np.arange(self.first, self.first + self.blocks) // prod(grid[:axis]) % grid[axis])
        return self._wide("block_idx", axis) * block_dim[axis] + self._wide("thread_idx", axis)

    def _per_block(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """One value a block as lanes."""
        return values if self.blocks == 1 else np.repeat(values, self.threads)


def _coordinates(number: int, dims: Dim3) -> Dim3:
    x, y, _ = dims
    return number % x, number // x % y, number // (x * y)


class Exits:
    """The lanes that left one run of a loop by Break, and those that left its present round by Continue."""

    __slots__ = ("broken", "continued")

    def __init__(self) -> None:
        self.broken: Mask = NONE
        self.continued: Mask = NONE


class Frame:
    """The variables of one body, of a kernel or of a function, by slot number.

    ``declared`` holds, for each local, the mask it was declared under: an assignment under that same mask
    need not keep the others' values, because they never read them. ``exits`` has one item a loop that runs.
    """

    __slots__ = ("batch", "declared", "exits", "results", "slots")

    def __init__(self, batch: Batch, size: int) -> None:
        self.batch = batch
        self.slots: list[Any] = [None] * size
        self.declared: list[Mask] = [NONE] * size
        self.exits: list[Exits] = []
        self.results: tuple[Lanes, ...] = ()

    def leave(self, mask: Mask) -> None:
        """Break: ``mask`` leaves the innermost loop."""
        exits = self.exits[-1]
        exits.broken = join(exits.broken, mask)

    def skip(self, mask: Mask) -> None:
        """Continue: ``mask`` leaves the present round."""
        exits = self.exits[-1]
        exits.continued = join(exits.continued, mask)


#: An expression, translated: its value for every lane; what inactive lanes hold means nothing.
Evaluate: TypeAlias = Callable[[Frame], Lanes]

#: A statement, translated: runs for the active lanes and gives those that go on to the next statement.
Execute: TypeAlias = Callable[[Frame, Mask], Mask]


@dataclass(frozen=True)
class Routine:
    """A function, translated."""

    params: tuple[int, ...]
    size: int
    body: Execute


@dataclass
class Scope:
    """What translating one body needs: the kernel, the functions before it, and a slot for each name.

    ``observer`` is the sanitizer's, where it is on.
    """

    kernel: ir.Kernel
    routines: Mapping[str, Routine]
    observer: Observer | None = None
    _slots: dict[tuple[type, str], int] = field(default_factory=dict)

    def slot(self, node: ir.Value | ir.Local | ir.LocalArray) -> int:
        """The slot of a value, local or local array; a new one for a new name."""
        return self._slots.setdefault((type(node), node.name), len(self._slots))

    def knows(self, local: ir.Local) -> bool:
        """Whether the body has declared ``local`` before this point."""
        return (type(local), local.name) in self._slots

    @property
    def size(self) -> int:
        """How many slots a frame needs."""
        return len(self._slots)
