"""Conway's Game of Life, once on a torus and once with a dead border."""

from __future__ import annotations

from typing import TypeAlias

import common
import numpy as np

import ruda
from ruda import dsl

BIRTH = (3,)
SURVIVE = (2, 3)

Board: TypeAlias = dsl.Array[dsl.u8, 2]


@dsl.func
def cell(board: Board, y: int, x: int, WRAP: bool) -> int:
    h, w = board.shape
    if WRAP:
        return int(board[y % h, x % w])  # % has the divisor's sign: -1 is the last
    if 0 <= y < h and 0 <= x < w:
        return int(board[y, x])
    return 0


@ruda.kernel
def generation(old: Board, new: Board, WRAP: dsl.Const[bool]) -> None:
    x, y = dsl.grid(2)
    alive = 0
    for dy in dsl.unroll(range(-1, 2)):
        for dx in dsl.unroll(range(-1, 2)):
            if dx != 0 or dy != 0:
                alive += cell(old, y + dy, x + dx, WRAP)
    if old[y, x] == 1:
        new[y, x] = 1 if alive in SURVIVE else 0
    else:
        new[y, x] = 1 if alive in BIRTH else 0


def expected(board: np.ndarray, wrap: bool) -> np.ndarray:
    """One generation in NumPy."""
    padded = np.pad(board, 1, mode="wrap" if wrap else "constant").astype(np.int32)
    h, w = board.shape
    alive = sum(padded[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w] for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - board
    return np.where(board == 1, np.isin(alive, SURVIVE), np.isin(alive, BIRTH)).astype(board.dtype)


def run(client: ruda.ComputeClient, small: bool) -> None:
    """64 generations on 128 x 96, exact."""
    h, w, generations = (24, 32, 16) if small else (96, 128, 64)
    start = np.random.default_rng(0).integers(0, 2, (h, w), np.uint8)
    for wrap in (True, False):
        old, new = client.array(start), client.empty((h, w), "u8")
        want = start
        for _ in range(generations):
            generation.forall((h, w))(old, new, wrap)
            old, new = new, old
            want = expected(want, wrap)
        np.testing.assert_array_equal(old.numpy(), want)


if __name__ == "__main__":
    common.main(run)
