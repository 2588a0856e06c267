"""Arrays and streams shared with PyTorch, CuPy and numba, without a copy and in order both ways."""

import numpy as np
import pytest

import ruda
from ruda import dsl

N = 1 << 22


@ruda.kernel
def step(a: dsl.Array[dsl.f32], k: dsl.f32) -> None:
    """Depends on the order of its launches."""
    i = dsl.global_idx.x
    a[i] = a[i] * 0.5 + k


@ruda.kernel
def slow_step(a: dsl.Array[dsl.f32], k: dsl.f32, rounds: dsl.i32) -> None:
    """The same, later."""
    i = dsl.global_idx.x
    x = dsl.f32(0.0)
    for _ in range(rounds):
        x = x * 0.5 + k
    a[i] = a[i] * 0.5 + k + x * 0.0


@pytest.fixture
def torch(client):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch


@pytest.fixture
def cupy(client):
    return pytest.importorskip("cupy", reason="CuPy is not installed")


def test_torch_tensors_are_arguments_in_order_both_ways(client, torch):
    """Torch writes, ruda, torch, ruda, torch: without a wait on the host, on torch's default stream and on another."""
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            tensor = torch.zeros(N, device="cuda")
            want = 0.0
            for k in range(10):
                tensor += k
                want += k
                slow_step.forall(N)(tensor, 2.0, 2_000)
                want = want * 0.5 + 2.0
                tensor *= 3
                want *= 3
            found = tensor.cpu().numpy()
        np.testing.assert_allclose(found, np.full(N, want), rtol=1e-5)


def test_a_view_of_a_tensor_and_a_tensor_of_an_array(client, torch):
    tensor = torch.arange(N, device="cuda", dtype=torch.float32).reshape(2, -1)
    view = client.from_dlpack(tensor[:, ::2])
    assert view.memory.allocation.address <= tensor.data_ptr()
    np.testing.assert_array_equal(view.numpy(), tensor[:, ::2].cpu().numpy())
    array = client.array(np.arange(N, dtype=np.float32))
    slow_step.forall(N)(array, 1.0, 2_000)
    lent = torch.from_dlpack(array)
    assert lent.data_ptr() == array.memory.allocation.address + array.start
    lent += 1
    step.forall(N)(array, 0.0)
    np.testing.assert_allclose(array.numpy(), (np.arange(N, dtype=np.float32) * 0.5 + 2) * 0.5, rtol=1e-6)
    for dtype in ("uint8", "int16", "int64", "float16", "bf16", "float64", "bool"):
        assert torch.from_dlpack(client.zeros(3, dtype)).sum().item() == 0
    also = torch.as_tensor(client.full(7, 3, "i32"), device="cuda")
    assert also.sum().item() == 21, "by the CUDA array interface"


def test_launches_on_torchs_stream(client, torch):
    """Work of both on one stream is in one order."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        tensor = torch.ones(N, device="cuda")
        with client.external_stream(side.cuda_stream) as stream:
            view = client.from_dlpack(tensor)
            for _ in range(5):
                slow_step.forall(N)(view, 1.0, 2_000)
                tensor += 1
        assert view.memory.owner is stream
    side.synchronize()
    want = 1.0
    for _ in range(5):
        want = want * 0.5 + 2
    np.testing.assert_allclose(tensor.cpu().numpy(), np.full(N, want), rtol=1e-6)


@pytest.mark.parametrize("first", ["torch", "ruda"])
def test_b66_torchs_events_and_tensors_go_on(client, torch, first):
    """B66: a ruda launch between two events of torch, and tensors made before and after it."""
    array = client.zeros(N, "f32")
    if first == "ruda":
        step.forall(N)(array, 1.0)
    before = torch.ones(1000, device="cuda")
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with client.external_stream(torch.cuda.current_stream().cuda_stream):
        slow_step.forall(N)(array, 1.0, 20_000)
    end.record()
    after = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0.05
    assert (before + after).sum().item() == 2000
    assert torch.cuda.current_device() == 0


def test_freed_tensors_do_not_change_under_a_launch(client, torch):
    """A tensor that goes right after the launch: its memory is torch's again only after our work."""
    for _ in range(20):
        tensor = torch.zeros(N, device="cuda")
        slow_step.forall(N)(tensor, 1.0, 5_000)
        del tensor
        torch.full((N,), 7.0, device="cuda")
        other = torch.full((N,), 3.0, device="cuda")
        client.zeros(1, "f32")
        assert other.min().item() == other.max().item() == 3.0


def test_cupy_both_ways(client, cupy):
    theirs = cupy.arange(N, dtype=cupy.float32)
    step.forall(N)(theirs, 1.0)
    theirs += 1
    want = np.arange(N, dtype=np.float32) * 0.5 + 2
    np.testing.assert_allclose(cupy.asnumpy(theirs), want, rtol=1e-6)
    array = client.array(want)
    slow_step.forall(N)(array, 1.0, 2_000)
    for seen in (cupy.from_dlpack(array), cupy.asarray(array)):
        assert seen.data.ptr == array.memory.allocation.address + array.start
        np.testing.assert_allclose(cupy.asnumpy(seen), want * 0.5 + 1, rtol=1e-6)


@pytest.mark.parametrize("first", ["cupy", "ruda"])
def test_cupys_own_stream(client, cupy, first):
    """Work of both in turns on one array of either, without a wait on the host."""
    with cupy.cuda.Stream(non_blocking=True):
        if first == "cupy":
            ours = theirs = cupy.zeros(N, dtype=cupy.float32)
        else:
            ours = client.zeros(N, "f32")
            theirs = cupy.from_dlpack(ours)
        want = 0.0
        for k in range(10):
            theirs += k
            slow_step.forall(N)(theirs, 2.0, 2_000)
            want = (want + k) * 0.5 + 2.0
            theirs *= 3
            want *= 3
        found = cupy.asnumpy(theirs)
    np.testing.assert_allclose(found, np.full(N, want), rtol=1e-5)
    if first == "ruda":
        np.testing.assert_allclose(ours.numpy(), found)


def test_launches_on_cupys_stream(client, cupy):
    side = cupy.cuda.Stream(non_blocking=True)
    with side:
        theirs = cupy.ones(N, dtype=cupy.float32)
        with client.external_stream(side.ptr):
            view = client.from_dlpack(theirs)
            want = 1.0
            for _ in range(5):
                slow_step.forall(N)(view, 1.0, 2_000)
                theirs += 1
                want = want * 0.5 + 2
    side.synchronize()
    np.testing.assert_allclose(cupy.asnumpy(theirs), np.full(N, want), rtol=1e-6)


def test_torchs_events_wait_for_ruda(client, torch, busy):
    """An event of torch behind our work, on our stream as torch sees it, is ready when that is done, and not before."""
    ours, array = client.stream(), client.zeros(N, "f32")
    step.forall(N)(array, 0.0)  # it is compiled
    client.sync()
    busy(300, ours)
    with ours:
        step.forall(N)(array, 1.0)
    seen = torch.cuda.ExternalStream(client.server.native_stream(ours.id))
    event = torch.cuda.Event()
    event.record(seen)
    assert not event.query()
    side = torch.cuda.Stream()
    side.wait_event(event)
    with torch.cuda.stream(side):
        assert torch.from_dlpack(array).sum().item() == N
    assert event.query()


@pytest.fixture
def numba_cuda(client):
    cuda = pytest.importorskip("numba.cuda", reason="numba is not installed")
    if not cuda.is_available():
        pytest.skip("this numba has no CUDA")
    return cuda


def test_numba_by_the_cuda_array_interface(client, numba_cuda):
    """Its arrays have no DLPack."""
    theirs = numba_cuda.to_device(np.ones(1000, np.float32))
    step.forall(1000)(theirs, 1.0)
    np.testing.assert_array_equal(theirs.copy_to_host(), np.full(1000, 1.5))
    array = client.full(1000, 4, "f32")
    seen = numba_cuda.as_cuda_array(array)
    assert seen.__cuda_array_interface__["data"][0] == array.memory.allocation.address + array.start
    np.testing.assert_array_equal(seen.copy_to_host(), np.full(1000, 4))


def test_numbas_own_stream(client, numba_cuda):
    """Its copies and our launches in turns, ordered by the stream that its arrays name, and on that stream."""
    stream = numba_cuda.stream()
    theirs = numba_cuda.to_device(np.ones(N, np.float32), stream=stream)
    assert theirs.__cuda_array_interface__["stream"] == int(stream)
    slow_step.forall(N)(theirs, 1.0, 2_000)
    back = np.empty(N, np.float32)
    theirs.copy_to_host(back, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(back, np.full(N, 1.5))
    with client.external_stream(int(stream)):
        view = client.from_dlpack(theirs)
        slow_step.forall(N)(view, 1.0, 2_000)
    theirs.copy_to_host(back, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(back, np.full(N, 1.75))
