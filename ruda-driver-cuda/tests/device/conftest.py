"""Tests that need a GPU: they are skipped, with the driver's reason, where there is none."""

import pytest

from ruda.errors import RudaError
from ruda_driver_cuda.device import CudaDevice
from ruda_driver_cuda.runtime import CudaRuntime


@pytest.fixture(scope="session")
def client():
    """The client of the first GPU."""
    try:
        return CudaRuntime.client(CudaDevice(0))
    except RudaError as error:
        pytest.skip(f"absent: cuda: {error}")


@pytest.fixture
def current(client):
    """A function that gives the calling thread's current context as the driver has it."""
    from cuda.bindings import driver as cu

    return lambda: int(cu.cuCtxGetCurrent()[1])
