"""Calls of C functions that take a launch's packed block."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

try:
    from ruda.contract import _foreign
except ImportError:  # built without a C compiler
    _foreign = None  # type: ignore[assignment]

Words = tuple[int, int, int, int]


def packed_call(address: int, words: Words, cell: int, keep: object) -> Callable[[bytes], int]:
    """A function that calls a C function of four words, such as a driver's launch, for a packed block.

    It first leaves the block's address in a cell to which the words lead somehow,
    as CUDA's and HIP's ``kernelParams`` do, and lets go of the GIL for the call.
    Whoever calls it holds the lock under which the cell is used.

    Args:
        address: the C function's; it gives an int, its status.
        words: its arguments.
        cell: address of the cell, a pointer.
        keep: what words and cell lie in, kept as long as the function.
    """
    if _foreign is not None:
        return _foreign.PackedCall(address, words, cell, keep)
    return _PackedCall(address, words, cell, keep)


class _PackedCall:
    """What stands for the compiled class of the name where there is none."""

    def __init__(self, address: int, words: Words, cell: int, keep: object) -> None:
        self._function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * len(words))(address)
        self._words = [*map(ctypes.c_void_p, words)]
        self._cell = ctypes.c_char_p.from_address(cell)
        self._keep = keep

    def __call__(self, packed: bytes, /) -> int:
        if not isinstance(packed, bytes):
            raise TypeError("the packed block is bytes")
        self._cell.value = packed
        return int(self._function(*self._words))
