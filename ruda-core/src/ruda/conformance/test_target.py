"""The target: what every device has, that what it does not claim is refused, and its limits of memory."""

from __future__ import annotations

import numpy as np
import pytest

from ruda.conformance.exempt import mismatched
from ruda.conformance.harness import define, guarded
from ruda.errors import OutOfMemoryError, TooManyResources, UnsupportedInstruction
from ruda.host.client import ComputeClient
from ruda.ir.ops import ATOMICS
from ruda.types import SCALARS, ScalarType, as_type, i32


def test_what_every_device_has(client: ComputeClient) -> None:
    """32-bit types with their atomics, and blocks and shared memory as large as WebGPU gives without being asked."""
    target, limits = client.target, client.target.limits
    assert target.dtypes >= {"bool", "i32", "u32", "f32"}
    needed = {(t, op.name) for t in ("i32", "u32") for op in ATOMICS.values() if as_type(t) in op.accepts}
    assert needed <= set(target.atomics)
    assert limits.max_threads >= 256 and limits.shared_memory >= 1 << 14
    assert all(have >= need for have, need in zip(limits.max_block, (256, 256, 64), strict=True))
    assert all(have >= 65535 for have in limits.max_grid)
    assert {n for n in target.subgroup_sizes if n & (n - 1) or n < 1} == set() != set(target.subgroup_sizes)
    assert target.driver == client.device.driver and str(client.device).startswith(f"{target.driver}:")
    assert target.fingerprint and target.alignment >= 16


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_what_is_not_claimed_is_refused(client: ComputeClient, type: ScalarType) -> None:
    """A dtype, and an atomic on a dtype, at the launch and with its name; what is claimed runs."""
    if type.name not in client.target.dtypes:
        with pytest.raises(UnsupportedInstruction, match=type.name):
            define(f"@kernel\ndef kernel(out):\n    x = dsl.{type}(out[0])\n    out[0] = dsl.i32(x)\n")[1, 1](
                client.zeros(1, "i32")
            )
        return
    for row in ATOMICS.values():
        if type in row.accepts and (type.name, row.name) not in client.target.atomics:
            args = ", ".join(["cells", "0", *["x"] * row.arity])
            text = f"@kernel\ndef kernel(cells):\n    x = cells[1]\n    dsl.atomic.{spelled(row.dsl)}({args})\n"
            with pytest.raises(UnsupportedInstruction, match=type.name):
                define(text)[1, 1](client.zeros(2, type))


def spelled(name: str) -> str:
    """The name under ``dsl.atomic``."""
    return f"{name}_" if name in ("and", "or") else name


@pytest.mark.child
def test_limits_are_checked_before_the_driver_is_called(client: ComputeClient) -> None:
    """One thread, or one byte of shared memory, more than there is; the limit itself works."""
    limits = client.target.limits
    text = (
        "@kernel\ndef kernel(out):\n    if dsl.thread_idx.x == dsl.block_dim.x - 1:\n        out[0] = dsl.block_dim.x\n"
    )
    out = guarded(client, 1, i32)
    define(text)[1, min(limits.max_threads, limits.max_block[0])](out.array)
    assert out.numpy().tolist() == [min(limits.max_threads, limits.max_block[0])]
    with pytest.raises(TooManyResources, match=str(limits.max_threads)):
        define(text)[1, limits.max_threads + 1](out.array)
    shared = "@kernel\ndef kernel(out):\n    s = dsl.shared({}, dsl.i32)\n    s[{}] = 7\n    out[0] = s[{}]\n"
    words = limits.shared_memory // 4
    define(shared.format(words, words - 1, words - 1))[1, 1](out.array)
    assert out.numpy().tolist() == [7]
    with pytest.raises(TooManyResources, match=str(limits.shared_memory)):
        define(shared.format(words + 1, 0, 0))[1, 1](out.array)


@pytest.mark.child
def test_out_of_memory(client: ComputeClient) -> None:
    """More than any device has is refused with the figure, and what comes next works."""
    with pytest.raises(OutOfMemoryError, match=str(1 << 60)):
        client.empty(1 << 60, "u8")
    a = client.array(np.arange(5, dtype=np.int32))
    define("@kernel\ndef kernel(a):\n    a[dsl.global_idx.x] += 1\n").forall(5)(a)
    assert a.numpy().tolist() == [1, 2, 3, 4, 5]


def test_exemptions_are_judged() -> None:
    """Every exemption of the op table has a judge in the kit, and every judge an exemption."""
    assert mismatched() == []
