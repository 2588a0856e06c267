"""The server: memory, streams, events, small and large launches, and many threads that launch at once."""

import threading

import numpy as np
import pytest

from ruda.contract import CompiledKernel
from ruda.errors import CompilationError, RudaError, TooManyResources
from ruda_driver_cpu.server import CpuServer

X = "array @x i32 rank 1 c align 4"
N = "scalar ^n i32"

ADD = """
let %i: i32 = global_idx_x.i32()
load %v: i32 = @x[%i]
store @x[%i] = add.i32(%v, ^n)
"""


@pytest.fixture
def server():
    server = CpuServer(threads=2)
    yield server
    server.close()


def as_bytes(array):
    return memoryview(array.reshape(-1).view(np.uint8))


def test_memory_is_aligned_and_round_trips(server):
    data = np.random.default_rng(0).integers(0, 256, 1_000_003).astype(np.uint8)
    for nbytes in (1, 63, 64, len(data)):
        allocation = server.alloc(nbytes, 0)
        assert allocation.address % 64 == 0
        assert allocation.nbytes >= nbytes
        server.write(allocation, 0, as_bytes(data[:nbytes]), 0)
        out = np.zeros(nbytes, np.uint8)
        server.read(allocation, 0, as_bytes(out), 0)
        np.testing.assert_array_equal(out, data[:nbytes])


def test_copy_and_fill_touch_their_bytes_alone(server):
    a, b = server.alloc(100, 0), server.alloc(100, 0)
    server.fill(a, 0, b"\x01", 100, 0)
    server.fill(a, 3, b"\x11\x22\x33\x44\x55\x66\x77\x88", 5, 0)
    server.fill(b, 0, b"\xab\xcd", 50, 0)
    server.copy(b, 10, a, 2, 42, 0)
    out = np.zeros(100, np.uint8)
    server.read(b, 0, as_bytes(out), 0)
    want = np.tile(np.array([0xAB, 0xCD], np.uint8), 50)
    want[10:52] = [1, *[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88] * 5, 1]
    np.testing.assert_array_equal(out, want)


def test_read_only_bytes_can_be_written(server):
    allocation = server.alloc(5, 0)
    server.write(allocation, 0, memoryview(b"hello"), 0)
    out = bytearray(5)
    server.read(allocation, 0, memoryview(out), 0)
    assert out == b"hello"


def test_more_memory_than_there_is_is_a_memory_error(server):
    total = server.memory_info().total
    assert 0 < server.memory_info().free <= total
    for nbytes in (total + 1, 1 << 62, 1 << 70):
        with pytest.raises(MemoryError):
            server.alloc(nbytes, 0)


def test_large_allocations_are_committed_as_they_are_touched(server):
    """3 GiB, of which the ends are used."""
    if server.memory_info().free < 4 << 30:
        pytest.skip("less than 4 GiB of memory free")
    allocation = server.alloc(3 << 30, 0)
    server.write(allocation, (3 << 30) - 4, memoryview(b"last"), 0)
    out = bytearray(4)
    server.read(allocation, (3 << 30) - 4, memoryview(out), 0)
    assert out == b"last"


def test_streams_have_numbers_of_their_own_and_clear_errors(server):
    first = server.create_stream()
    server.destroy_stream(first)
    second = server.create_stream()
    assert second not in (0, first)
    assert server.query_stream(second)
    server.synchronize(second)
    server.flush(second)
    assert server.faults(second) == []
    for call in (server.synchronize, server.query_stream, server.destroy_stream, server.flush, server.faults):
        with pytest.raises(RudaError, match=f"no stream {first}"):
            call(first)
    with pytest.raises(RudaError, match="default stream"):
        server.destroy_stream(0)


def test_events_say_which_of_three_things_is_wrong(server):
    start, end, plain = server.create_event(True), server.create_event(True), server.create_event(False)
    with pytest.raises(RudaError, match=f"event {start} has not been recorded"):
        server.elapsed(start, end)
    server.record(start, 0)
    server.record(end, 0)
    server.record(plain, 0)
    assert server.elapsed(start, end) >= 0
    assert server.query_event(end)
    server.synchronize_event(end)
    server.wait(end, 0)
    with pytest.raises(RudaError, match="without timing"):
        server.elapsed(start, plain)
    server.destroy_event(start)
    with pytest.raises(RudaError, match=f"no event {start}"):
        server.elapsed(start, end)
    assert server.create_event(True) != start


@pytest.mark.parametrize("block", [1, 64, 1000])
@pytest.mark.parametrize("n", [1, 63, 65, 5000, 1_000_001])
def test_small_and_large_launches(cpu, make_kernel, n, block):
    """Inline and pooled, with a grid that is larger than the array."""
    x = np.arange(n, dtype=np.int32)
    cpu.launch(make_kernel(ADD, X, N, block=(block, 1, 1)), n // block + 3, x, 5)
    np.testing.assert_array_equal(x, np.arange(n) + 5)


@pytest.mark.parametrize("grid", [(5, 1, 1), (2, 3, 4), (1, 1, 7), (1, 300, 200)])
def test_every_block_runs_once(cpu, make_kernel, grid):
    """Block and grid indices of all axes, in both index types."""
    body = """
let %row: I = add.I(block_idx_y.I(), mul.I(grid_dim_y.I(), block_idx_z.I()))
let %b: I = add.I(block_idx_x.I(), mul.I(grid_dim_x.I(), %row))
let %i: I = add.I(mul.I(%b, I(6)), add.I(thread_idx_x.I(), mul.I(I(3), thread_idx_y.I())))
load %v: i32 = @x[%i]
store @x[%i] = add.i32(%v, cast.i32(%i))
"""
    total = 6 * grid[0] * grid[1] * grid[2]
    for index in ("i32", "i64"):
        x = np.ones(total, np.int32)
        text = body.replace("cast.i32(%i)", "%i") if index == "i32" else body
        cpu.launch(
            make_kernel(text.replace("I(", f"{index}(").replace(": I", f": {index}"), X, block=(3, 2, 1), index=index),
            grid,
            x,
        )
        np.testing.assert_array_equal(x, 1 + np.arange(total))


def test_a_folded_grid_is_seen_as_x_alone(cpu, make_kernel):
    body = """
let %i: i32 = global_idx_x.i32()
store @x[%i] = add.i32(mul.i32(grid_dim_x.i32(), i32(100)), add.i32(block_idx_y.i32(), block_idx_x.i32()))
"""
    x = np.zeros(24, np.int32)
    cpu.launch(make_kernel(body, X, block=(2, 1, 1), flags=" folded"), (4, 3, 1), x)
    np.testing.assert_array_equal(x, 1200 + np.arange(24) // 2)


def test_more_blocks_than_can_be_counted_are_refused(cpu, make_kernel):
    x = np.zeros(1, np.int32)
    with pytest.raises(TooManyResources, match="blocks of a grid"):
        cpu.launch(make_kernel(ADD, X, N), (2**31 - 1, 2**31 - 1, 1), x, 1)


def test_scratch_memory_of_pooled_and_inline_launches_is_apart(cpu, make_kernel):
    """Shared memory of concurrent blocks: each sees its own block's number alone."""
    body = """
let %t: i32 = thread_idx_x.i32()
store @sh[%t] = block_idx_x.i32()
barrier
load %v: i32 = @sh[sub.i32(i32(99), %t)]
store @x[global_idx_x.i32()] = %v
"""
    kernel = make_kernel(body, X, "shared @sh i32 [100]", block=(100, 1, 1))
    for blocks in (1, 5, 5000):
        x = np.full(100 * blocks, -1, np.int32)
        cpu.launch(kernel, blocks, x)
        np.testing.assert_array_equal(x, np.arange(100 * blocks) // 100)


@pytest.mark.parametrize("elements", [100, 300_000])
def test_many_threads_launch_at_once(cpu, make_kernel, elements):
    program = cpu.load(make_kernel(ADD, X, N))
    errors = []

    def work(number):
        try:
            x = np.arange(elements, dtype=np.int32)
            packed, [(_, allocation)] = cpu.pack(make_kernel(ADD, X, N).params, (x, number))
            for _ in range(20):
                cpu.server.launch(program, (elements // 64 + 1, 1, 1), packed, (), 0)
            cpu.server.read(allocation, 0, as_bytes(x), 0)
            np.testing.assert_array_equal(x, np.arange(elements) + 20 * number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_an_error_in_a_worker_reaches_the_launch_and_the_pool_goes_on(cpu, make_kernel, monkeypatch):
    """For instance when there is no memory for scratch."""
    kernel = make_kernel(
        "store @sh[i32(0)] = ^n\nbarrier\nload %v: i32 = @sh[i32(0)]\nstore @x[i32(0)] = %v", X, N, "shared @sh i32 [1]"
    )
    program = cpu.load(kernel)
    program.short = 0
    packed, [(_, allocation)] = cpu.pack(kernel.params, (np.zeros(1, np.int32), 8))
    with monkeypatch.context() as patch:
        patch.setattr(program, "take", lambda: (_ for _ in ()).throw(MemoryError("none left")))
        with pytest.raises(MemoryError, match="none left"):
            cpu.server.launch(program, (9, 1, 1), packed, (), 0)
    cpu.server.launch(program, (9, 1, 1), packed, (), 0)
    out = np.zeros(1, np.int32)
    cpu.server.read(allocation, 0, as_bytes(out), 0)
    assert out[0] == 8


def test_code_that_cannot_be_linked_is_a_compilation_error(cpu, make_kernel):
    """Object code that calls a function which nobody has, and bytes that are no object code."""
    source = cpu.compiler.emit(make_kernel("", X))
    broken = type(source)(
        f"declare void @nobody()\ndefine void @{source.entry}() {{\ncall void @nobody()\nret void\n}}\n",
        source.entry,
        source.metadata,
    )
    for binary in (cpu.compiler.build(broken), b"not an object file"):
        with pytest.raises(CompilationError, match="kernel k"):
            cpu.server.load(CompiledKernel("k", source, binary, (64, 1, 1), 0))


def test_programs_can_be_dropped(cpu, make_kernel):
    """Their code goes with them; later programs are not disturbed."""
    for n in range(5):
        x = np.zeros(10, np.int32)
        cpu.launch(make_kernel(ADD, X, N), 1, x, n)
        np.testing.assert_array_equal(x, n)


@pytest.mark.parametrize("block", [(1, 1, 1), (5, 3, 1), (64, 2, 1), (300, 1, 1)])
@pytest.mark.parametrize("shape", [(1, 1), (7, 1000), (33, 65), (3, 20_000)])
def test_blocks_inside_and_at_the_edges_agree(agree, make_kernel, block, shape):
    """A difference with both neighbours, by the user's own guard, the bounds' guards, or both."""
    body = """
let %x: i32 = global_idx_x.i32()
let %y: i32 = global_idx_y.i32()
if lt.bool(%x, sub.i32(extent(@a, 1), i32(1))) {
  load %l: i32 = @a[%y, sub.i32(%x, i32(1))]
  load %r: i32 = @a[%y, add.i32(%x, i32(1))]
  load %far: i32 = @a[add.i32(%y, i32(2)), %x]
  store @b[%y, %x] = add.i32(sub.i32(%r, %l), mul.i32(%far, i32(1000)))
} else {
}
"""
    arrays = ("array @a i32 rank 2 c align 4", "array @b i32 rank 2 c align 4")
    grid = (-(-shape[1] // block[0]) + 1, -(-shape[0] // block[1]) + 1)
    a = np.random.default_rng(0).integers(-1000, 1000, shape, dtype=np.int32)
    _, b = agree(make_kernel(body, *arrays, block=block), grid, a, np.full(shape, -7, np.int32))
    padded = np.pad(a, ((0, 2), (1, 1)))
    want = padded[:-2, 2:] - padded[:-2, :-2] + 1000 * padded[2:, 1:-1]
    want[:, -1] = -7
    np.testing.assert_array_equal(b, want)
