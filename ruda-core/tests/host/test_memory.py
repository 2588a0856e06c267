"""The pool reuses, joins and gives back, and says what it holds when there is no more."""

import gc
import random
import sys
import threading

import pytest

from ruda.contract import RuntimeOptions
from ruda.errors import ConfigError, OutOfMemoryError
from ruda.host.pool import PAGE, Pool

MB = 1_000_000
EXCLUSIVE = RuntimeOptions(memory_config="exclusive_pages")


def allocs(client):
    return [call[1] for call in client.server.named("alloc")]


def test_small_arrays_share_a_page_and_padding_is_counted(client):
    arrays = [client.empty(n, "u8") for n in (1, 64, 65, 1000)]
    assert allocs(client) == [PAGE]
    usage = client.memory_usage()
    assert usage.bytes_in_use == 1130
    assert usage.bytes_padding == (64 + 64 + 128 + 1024) - 1130
    assert usage.bytes_reserved == PAGE and usage.allocations == 4
    starts = [a.memory.offset for a in arrays]
    assert all(start % 64 == 0 for start in starts) and len(set(starts)) == 4
    del arrays
    assert client.memory_usage().bytes_in_use == 0 and client.memory_usage().allocations == 0


def test_views_keep_the_memory(client):
    array = client.zeros(100, "f32")
    view = array[10:]
    del array
    assert client.memory_usage().allocations == 1
    del view
    assert client.memory_usage().allocations == 0


@pytest.mark.parametrize("options", [RuntimeOptions(), EXCLUSIVE], ids=["sub_slices", "exclusive_pages"])
def test_freed_memory_is_used_again(make_client, options):
    client = make_client(options=options)
    for _ in range(50):
        small, large = client.empty(1000, "u8"), client.empty(5 * MB, "u8")
        del small, large
    assert len(allocs(client)) == 2


def test_neighbours_join(client):
    arrays = [client.empty(PAGE // 16, "u8") for _ in range(16)]
    for i in random.Random(1).sample(range(16), 16):
        arrays[i].free()
    assert all(not block.free for block in client._pool._blocks()), "finalizers join nothing"
    assert client._pool.largest_free() == PAGE
    assert allocs(client) == [PAGE]


def test_a_much_larger_page_is_not_wasted_on_a_small_request(client):
    client.empty(100 * MB, "u8").free()
    middle = client.empty(50 * MB, "u8")
    assert len(allocs(client)) == 2
    middle.free()
    client.empty(49 * MB, "u8")
    assert len(allocs(client)) == 2


def test_cleanup_gives_pages_back(client):
    keep = client.zeros(10, "f32")
    large = client.empty(30 * MB, "u8")
    del large
    client.memory_cleanup()
    assert client.server.used == PAGE
    del keep
    client.memory_cleanup()
    assert client.server.used == 0 and client.memory_usage().bytes_reserved == 0


@pytest.mark.parametrize("options", [RuntimeOptions(), EXCLUSIVE], ids=["sub_slices", "exclusive_pages"])
def test_the_pool_is_trimmed_before_giving_up(make_client, options):
    """B62, cupy#7678: 500 MB, free, 800 MB of 1 GB; and 30 % + 30 %, free one, 60 %."""
    client = make_client(total=1000 * MB, options=options)
    client.empty(500 * MB, "u8").free()
    client.empty(800 * MB, "u8").free()
    client = make_client(total=1000 * MB, options=options)
    first, second = client.empty(300 * MB, "u8"), client.empty(300 * MB, "u8")
    del second
    third = client.empty(600 * MB, "u8")
    assert client.memory_usage().bytes_in_use == first.nbytes + third.nbytes


def test_a_small_request_needs_no_whole_page(make_client):
    client = make_client(total=PAGE // 2)
    assert client.zeros(100, "f32").numpy().size == 100


def test_arrays_in_cycles_are_found_before_giving_up(make_client):
    client = make_client(total=1000 * MB)
    cycle = [client.empty(700 * MB, "u8")]
    cycle.append(cycle)
    gc.disable()
    try:
        del cycle
        client.empty(700 * MB, "u8")
    finally:
        gc.enable()


def test_out_of_memory_has_all_figures(make_client):
    client = make_client(total=1000 * MB)
    keep = client.empty(600 * MB, "u8"), client.empty(1000, "u8")
    with pytest.raises(OutOfMemoryError, match="memory_cleanup") as caught:
        client.empty(700 * MB, "u8")
    error = caught.value
    assert isinstance(error, MemoryError)
    assert error.requested == 700 * MB and error.in_use == 600 * MB + 1000 and error.total == 1000 * MB
    assert error.reserved == client.memory_usage().bytes_reserved
    assert error.largest_free == PAGE - 1024
    assert "fake:0" in str(error)
    assert len(keep) == 2
    client.empty(100, "u8")


def test_unknown_presets_are_refused(make_client):
    with pytest.raises(ConfigError, match="sub_slices, exclusive_pages"):
        make_client(options=RuntimeOptions(memory_config="magic"))


@pytest.mark.parametrize("seed", range(5))
def test_blocks_never_overlap(make_client, seed):
    """A random program of allocations and frees on several streams: live blocks are apart, the figures add up."""
    client = make_client()
    pool = Pool(client.server, 64, "sub_slices")
    rng = random.Random(seed)
    live = []
    for _ in range(600):
        if live and rng.random() < 0.48:
            pool.release(live.pop(rng.randrange(len(live))), rng.randrange(3))
        elif rng.random() < 0.03:
            pool.adopt(rng.sample([0, 1, 2], 2), 0)
        elif rng.random() < 0.03:
            pool.trim()
        else:
            live.append(pool.alloc(rng.choice([1, 100, 5000, 300_000, 2 * MB]), rng.sample([0, 1, 2], 3)))
        pages = {}
        for block in live:
            pages.setdefault(id(block.allocation), []).append((block.offset, block.offset + block.nbytes))
            assert block.requested <= block.nbytes and block.offset + block.nbytes <= block.allocation.nbytes
        for spans in pages.values():
            spans.sort()
            assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
        usage = pool.usage()
        assert usage.allocations == len(live)
        assert usage.bytes_in_use == sum(b.requested for b in live)
        assert usage.bytes_reserved == client.server.used
    for block in live:
        pool.release(block, 0)
    pool.adopt([0, 1, 2], -1)
    pool.trim()
    assert client.server.used == 0


def test_many_threads(client):
    """Allocation, reading and dropping from eight threads: every array keeps its own contents."""
    wrong = []

    def work(seed):
        rng = random.Random(seed)
        kept = []
        for i in range(150):
            kept.append((client.full(rng.randrange(1, 4000), seed * 1000 + i, "i32"), seed * 1000 + i))
            if rng.random() < 0.5:
                array, value = kept.pop(rng.randrange(len(kept)))
                if not (array.numpy() == value).all():
                    wrong.append(value)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert client.memory_usage().allocations == 0


def test_freeing_takes_no_lock(client):
    """A finalizer may run while this very thread holds a lock of the client."""
    array, other = client.zeros(3, "f32"), client.zeros(3, "f32")
    with client.locked():
        array.free()
        del other
    assert client.memory_usage().allocations == 0


def within(seconds, call):
    """What ``call`` gives, in a thread of its own; fails where it is still at it after ``seconds``."""
    got = []
    thread = threading.Thread(target=lambda: got.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert got, "it waits for a lock"
    return got[0]


def test_an_array_as_one_that_came_back_takes_no_lock(client):
    client.zeros(1000, "u8").free()
    with client.locked():
        array = within(10, lambda: client.empty(1000, "u8"))
    assert allocs(client) == [PAGE]
    assert client.memory_usage().bytes_in_use == array.nbytes


def test_figures_are_exact_while_blocks_wait_for_an_array_like_theirs(client):
    kept = [client.empty(n, "u8") for n in (10, 20, 5 * MB)]
    for n in (10, 20, 30, 5 * MB):
        client.empty(n, "u8")
    usage = client._pool.usage()
    assert (usage.bytes_in_use, usage.allocations) == (5 * MB + 30, 3)
    assert usage.bytes_reserved == client.server.used
    del kept
    assert client._pool.largest_free() == PAGE
    assert client._pool.usage().allocations == 0


def test_lengths_that_do_not_come_again_are_forgotten(client):
    keep = [client.empty(n, "u8") for n in (7, 4000)]
    for n in range(5000):
        client.empty(n, "u8")
    client.memory_usage()
    assert set(client._pool.shelves) == {array.nbytes for array in keep}
    del keep[0]
    client.memory_usage()
    assert set(client._pool.shelves) == {4000}
    assert allocs(client) == [PAGE]


def test_blocks_come_and_go_while_the_pool_joins_others(client, monkeypatch):
    """Finalizers run, and other threads take arrays, with its lock held: no block is lost, none is given twice."""
    pool, taken = client._pool, []
    dropped = [client.empty(n, "u8") for n in (100, 100, 100, 200, 3000, 100)]
    insert = pool._insert

    def interrupted(block):
        insert(block)
        if dropped:
            dropped.pop()
        if len(taken) < 2 and pool.shelves[100]:
            taken.append(client.empty(100, "u8"))

    for array in [client.empty(n, "u8") for n in (100, 100, 100, 100, 200, 3000)]:
        array.free()
    with monkeypatch.context() as patch:
        patch.setattr(pool, "_insert", interrupted)
        within(10, client.memory_usage)
    assert len(taken) == 2 and len(dropped) < 6
    dropped.clear()
    taken += [client.empty(100, "u8") for _ in range(20)]
    assert len({array.memory.offset for array in taken}) == 22
    assert client.memory_usage().allocations == 22
    taken.clear()
    assert client.memory_usage().allocations == 0 and pool.largest_free() == PAGE


def test_a_block_belongs_to_the_stream_that_used_it_last(client):
    """Cut from another stream's memory or not."""
    stream = client.stream()
    with stream:
        first = client.zeros(PAGE, "u8")
    assert first.memory.owner is not client.stream0
    del first
    with stream:
        again = client.empty(PAGE, "u8")
    assert again.memory.owner is stream and allocs(client) == [PAGE]
    with client.stream0:
        again.fill(1)
    again.free()
    assert client._pool.owners() == {0}
    with stream:
        later = client.empty(PAGE, "u8")
    assert later.memory.owner is client.stream0, "who writes it on the other stream waits"
    assert allocs(client) == [PAGE]


def test_arrays_inside_of_stream_zero_are_as_those_outside(client):
    client.zeros(100, "u8").free()
    with client.locked(), client.stream0:
        array = client.empty(100, "u8")  # without a lock, or this waits for ever
    assert array.memory.owner is client.stream0


def test_the_pool_can_be_watched(client):
    """Those who replace ``alloc`` and ``release`` see every block, of arrays that are there already too."""
    pool, seen = client._pool, []
    before, other = client.empty(100, "u8"), client.empty(100, "u8")
    del other
    alloc, release = pool.alloc, pool.release
    pool.unshelve()
    pool.alloc = lambda nbytes, *rest, **named: seen.append(nbytes) or alloc(nbytes, *rest, **named)
    pool.release = lambda block, stream: seen.append(-block.requested) or release(block, stream)
    for _ in range(3):
        client.empty(100, "u8")
    del before
    client.sync()
    assert seen == [100, -100] * 3 + [-100]
    assert client.memory_usage().allocations == 0 and pool.largest_free() == PAGE


@pytest.mark.parametrize("streams", [1, 3])
def test_threads_that_take_and_drop_beside_one_that_joins(client, streams):
    """No block is lost or given out twice, and in the end the figures are exact."""
    others = [client.stream() for _ in range(streams - 1)]
    stop, wrong, pool = threading.Event(), [], client._pool
    lock, given = threading.Lock(), set()

    def take(seed):
        rng = random.Random(seed)
        kept = []
        for _ in range(4000):
            if kept and rng.random() < 0.55:
                array = kept.pop(rng.randrange(len(kept)))
                if others and rng.random() < 0.1:
                    client.record_allocation(array, rng.choice(others))
                with lock:
                    given.discard((array.memory.allocation.address, array.memory.offset))
                del array
            else:
                array = client.empty(rng.choice([10, 100, 100, 100, 100, 3000, 2 * MB]), "u8")
                place = (array.memory.allocation.address, array.memory.offset)
                with lock:
                    wrong.extend([place] if place in given else [])
                    given.add(place)
                kept.append(array)
        with lock:
            given.difference_update((a.memory.allocation.address, a.memory.offset) for a in kept)

    def join():
        while not stop.is_set():
            usage = client.memory_usage()
            wrong.extend([usage] if usage.bytes_in_use + usage.bytes_padding > usage.bytes_reserved else [])
            client.memory_cleanup()

    takers = [threading.Thread(target=take, args=(seed,)) for seed in range(4)]
    joiner = threading.Thread(target=join)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in (*takers, joiner):
            thread.start()
        for thread in takers:
            thread.join()
        stop.set()
        joiner.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    client.memory_cleanup()
    usage = client.memory_usage()
    assert (usage.allocations, usage.bytes_reserved, client.server.used) == (0, 0, 0)
    assert not pool.shelves
