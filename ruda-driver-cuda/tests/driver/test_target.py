"""What targets claim by compute capability, against NVIDIA's tables as written down here."""

import pytest

from ruda.types import NUMBERS
from ruda_driver_cuda.runtime import CudaRuntime
from ruda_driver_cuda.target import SHARED_MEMORY, live

#: CUDA C++ programming guide, table of technical specifications: KiB of shared memory that a block may have.
_KIB = {75: 64, 80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}

#: The first compute capability with the instruction; None is none.
_FIRST = {
    ("f64", "atomic_add"): 60,
    ("f16", "atomic_add"): 70,
    ("bf16", "atomic_add"): 90,
    ("f32", "atomic_add"): 20,
    ("f32", "atomic_max"): None,
    ("f64", "atomic_min"): None,
    ("f32", "atomic_exchange"): 20,
    ("f64", "atomic_load"): 20,
    ("f16", "atomic_exchange"): None,
    ("i32", "atomic_max"): 20,
    ("u64", "atomic_and"): 20,
    ("i8", "atomic_add"): None,
    ("u16", "atomic_exchange"): None,
}


@pytest.mark.parametrize("capability", SHARED_MEMORY)
def test_atomics(capability):
    target = CudaRuntime.target(f"cuda:sm_{capability}")
    for (dtype, op), first in _FIRST.items():
        native = first is not None and capability >= first
        assert target.atomics[dtype, op] == ("native" if native else "emulated"), (dtype, op)
    assert all((t.name, "atomic_add") in target.atomics for t in NUMBERS)


@pytest.mark.parametrize(("capability", "kib"), _KIB.items())
def test_shared_memory(capability, kib):
    assert CudaRuntime.target(f"sm_{capability}").limits.shared_memory == kib << 10


def test_what_all_have():
    for capability in SHARED_MEMORY:
        target = CudaRuntime.target(f"cuda:sm_{capability}")
        assert target.subgroup_sizes == (32,)
        assert target.limits.max_grid == (2**31 - 1, 65535, 65535)
        assert (target.limits.max_block, target.limits.max_threads) == ((1024, 1024, 64), 1024)
        assert {"subgroup", "subgroup_divergent", "device_fence"} <= target.features
        assert "fork" not in target.features
        assert len(target.dtypes) == 15


def test_each_has_a_fingerprint_of_its_own():
    targets = [CudaRuntime.target(f"cuda:sm_{capability}") for capability in SHARED_MEMORY]
    assert len({target.fingerprint for target in targets}) == len(targets)


def test_a_device_between_the_names(fake):
    """A capability that the table lacks: the device itself says what it has."""
    fake.gpus[0] |= {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 1}
    target = live(0)
    assert (target.name, target.limits.shared_memory) == ("cuda:sm_91", 232448)
