"""The compile cache of the driver: a second process compiles nothing, and what is damaged is never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruda.conformance.harness import in_process
from ruda.host.client import ComputeClient

SCRIPT = """
import json, sys
import numpy as np
import ruda
from ruda import cache, dsl

@ruda.kernel
def scale(a, k):
    a[dsl.global_idx.x] *= k

@ruda.kernel
def total(a, out):
    s = dsl.shared(64, dsl.i32)
    s[dsl.thread_idx.x] = a[dsl.global_idx.x]
    dsl.barrier()
    if dsl.thread_idx.x == 0:
        for k in range(64):
            dsl.atomic.add(out, 0, s[k])

client = ruda.client(sys.argv[1])
a = client.array(np.arange(64, dtype=np.int32))
out = client.zeros(1, "i32")
scale.forall(64)(a, 3)
total[1, 64](a, out)
scale[2, 32](a, 2)
figures = cache.stats()[client.target.driver]
print(json.dumps([a.numpy().tolist(), out.item(), figures.compiled, figures.disk_hits]))
"""
RESULT = [[6 * k for k in range(64)], 3 * sum(range(64))]
KERNELS = 3  # `scale` once for each block


def run(client: ComputeClient, folder: Path, seed: int) -> Any:
    """Results, compiled and found, of the script in a process of its own."""
    return in_process(SCRIPT, client, folder, RUDA_CACHE_DIR=str(folder / "cache"), PYTHONHASHSEED=str(seed))


def test_a_second_process_compiles_nothing(client: ComputeClient, tmp_path: Path) -> None:
    """It finds every kernel on the disk; nothing depends on the process's hash seed or folder."""
    assert run(client, tmp_path, 1) == [*RESULT, KERNELS, 0]
    assert run(client, tmp_path, 2) == [*RESULT, 0, KERNELS]


def test_damaged_entries_count_as_absent(client: ComputeClient, tmp_path: Path) -> None:
    """Entries that were cut, changed, swapped or made up are compiled anew, and replaced by good ones."""
    assert run(client, tmp_path, 1) == [*RESULT, KERNELS, 0]
    files = sorted((tmp_path / "cache").iterdir())
    good = [file.read_bytes() for file in files]
    for turn in range(2):
        for at, (file, data) in enumerate(zip(files, good, strict=True)):
            flipped = bytes([*data[:-9], data[-9] ^ 1, *data[-8:]])
            damaged = [data[: len(data) // 2], good[at - 1], flipped, b"", bytes(4000), b"\x80\x04\x95" + bytes(100)]
            file.write_bytes(damaged[(at + 3 * turn) % len(damaged)])
        assert run(client, tmp_path, 1) == [*RESULT, KERNELS, 0]
    assert run(client, tmp_path, 1) == [*RESULT, 0, KERNELS]
