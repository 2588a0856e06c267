"""The ring of records that kernels with ``print``, ``assert`` or bounds "validate" fill, and what it says.

:mod:`ruda.passes.diagnostics` has its form. A ring exists from the first such
launch on a stream to the moment its records are read, and keeps the stream.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ruda.contract import Binding
from ruda.errors import DeviceFault, KernelAssertionError, OutOfBoundsError
from ruda.passes.diagnostics import HEAD, HEADER, LOST, Site, Table
from ruda.target import Dim3
from ruda.types import ScalarType, u32

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient
    from ruda.host.stream import Stream

_Words = npt.NDArray[np.uint32]


class Ring:
    """The records of one stream.

    Attributes:
        memory: where they are on the device.
        open: launches may still fill it; guarded by the stream's lock.
    """

    def __init__(self, client: ComputeClient, stream: Stream) -> None:
        self.open = True
        self._stream = stream
        self._tables: list[Table] = []
        self._array = client.empty(max(client.options.diagnostics_bytes // u32.size, HEADER), u32)
        self.memory = self._array.memory
        with client.owning(stream, (self.memory,)):
            header = np.zeros(HEADER, np.uint32)
            header[HEAD] = HEADER
            stream.server.write(self.memory.allocation, self.memory.offset, memoryview(header.tobytes()), stream.id)

    def enter(self, table: Table) -> tuple[bytes, tuple[Binding, ...]]:
        """The hidden arguments of one more launch: what follows in its packed block, and its last binding, if any.

        The stream's lock is held until it is launched.
        """
        self._tables.append(table)  # launches count from 1
        binding = self._array.binding
        packed = self._array.packed + struct.pack("<Q", len(self._tables))
        return packed, () if binding is None else (binding,)

    def drain(self) -> list[DeviceFault]:
        """Print what was printed, and give the faults, after the work of the stream; the ring ends here.

        Warns:
            RuntimeWarning: records were lost, since the ring was full.
        """
        stream = self._stream
        stream.server.synchronize(stream.id)
        with stream.lock:
            self.open = False
            header = self._read(HEADER)
            words = self._read(min(int(header[HEAD]), self._array.size))
        said = sorted(_records(words, self._tables), key=lambda record: record.order)
        text = "".join(record.text for record in said if record.site.kind == "print")
        if text:
            print(text, end="")
        if header[LOST]:
            warnings.warn(
                f"{stream.client.device}: {header[LOST]} records of print, assert or bounds checks were lost; "
                f"{self._array.nbytes} bytes hold no more: wait for the stream more often, or open the device with "
                "RuntimeOptions(diagnostics_bytes=...)",
                RuntimeWarning,
                stacklevel=4,
            )
        return _faults(said)

    def _read(self, count: int) -> _Words:
        words = np.empty(count, np.uint32)
        memory, stream = self.memory, self._stream
        stream.server.read(memory.allocation, memory.offset, words.view(np.uint8).data, stream.id)
        return words


@dataclass(frozen=True)
class _Record:
    """One record; ``order`` is that of launches, then blocks (z first), then threads, then time."""

    table: Table
    site: Site
    block: Dim3
    thread: Dim3
    values: tuple[Any, ...]
    order: tuple[int, ...]

    @property
    def text(self) -> str:
        return self.site.template.format(*self.values)

    @property
    def message(self) -> str:
        """The fault's message."""
        what = self._outside() if self.site.kind == "bounds" else f"assertion failed: {self.text}"
        where = f"block {self.block}, thread {self.thread}"
        return f"{self.site.place}: in kernel {self.table.kernel}: {what}; {where}"

    def _outside(self) -> str:
        count = len(self.site.lengths)
        indices, extents = self.values[:count], iter(self.values[count:])
        lengths = [next(extents) if n is None else n for n in self.site.lengths]
        axis = next(i for i in range(count) if not 0 <= indices[i] < lengths[i])
        what = f"index {indices[axis]} of [{', '.join(map(str, indices))}]"
        of = f"axis {axis} of a slice, of" if axis in self.site.slices else f"axis {axis} of"
        return f"{self.site.template}: {what} is outside {of} length {lengths[axis]}"


class _Float(float):
    """A float whose text without a format is the shortest of its own type: f32(0.1) is 0.1."""

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else self.text


def _records(words: _Words, tables: Sequence[Table]) -> Iterator[_Record]:
    """The records in ``words``, as they lie there."""
    at, numbers = HEADER, words.tolist()
    while at < len(numbers) and numbers[at]:
        launch, start = numbers[at], at
        table = tables[launch - 1]
        site = table.sites[numbers[at + 1]]
        at += 2
        values: list[Any] = []
        for type in (*(table.index,) * 3, u32, *site.types):
            count = -(-type.size // u32.size)
            values.append(_float(words, at, type) if type.is_float else _integer(numbers[at : at + count], type))
            at += count
        x, y, z, thread, *rest = values
        width, height, _ = table.block_dim
        place = (thread % width, thread // width % height, thread // (width * height))
        yield _Record(table, site, (x, y, z), place, tuple(rest), (launch, z, y, x, thread, start))


def _integer(words: Sequence[int], type: ScalarType) -> int:
    bits = words[0] if len(words) == 1 else words[0] | words[1] << 32
    return type.wrap(bits) if type.is_int else bool(bits)


def _float(words: _Words, at: int, type: ScalarType) -> _Float:
    value = np.frombuffer(words, type.dtype, 1, at * u32.size)[0]
    number = _Float(value)
    number.text = str(value)
    return number


def _faults(records: Sequence[_Record]) -> list[DeviceFault]:
    """What is outside of an array, and for each assertion the first time it failed, and how often it did again."""
    outside = [OutOfBoundsError(record.message) for record in records if record.site.kind == "bounds"]
    failed: dict[tuple[int, Site], list[_Record]] = {}
    for record in records:
        if record.site.kind == "assert":
            failed.setdefault((id(record.table), record.site), []).append(record)
    asserts = []
    for first, *more in failed.values():
        asserts.append(KernelAssertionError(f"{first.message}{f', and {len(more)} more times' if more else ''}"))
    return [*outside, *asserts]
