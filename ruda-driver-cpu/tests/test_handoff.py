"""Launches that are shared with waiting workers, in sections of blocks."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from ruda_driver_cpu import pool as pool_module
from ruda_driver_cpu.handoff import Handoff, Job
from ruda_driver_cpu.llvm_entry import CANCEL, CHUNK, LIMIT, NEXT
from ruda_driver_cpu.pool import Launch, Pool
from ruda_driver_cpu.server import CpuServer

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *(ctypes.c_int64,) * 3, ctypes.c_void_p, ctypes.c_void_p)


class Blocks:
    """An entry in Python: takes chunks from its control record, as kernels do.

    Attributes:
        ran: (thread, block) of each block, in order.
        entry: for a Job; goes with this object.
    """

    def __init__(self, block=lambda number, cancelled: None):
        self.ran = []
        self._lock = threading.Lock()
        self._block = block
        self._callback = ENTRY(self._run)
        self.entry = ctypes.cast(self._callback, ctypes.c_void_p).value

    def job(self, total, helpers, chunk=1):
        return Job(self.entry, b"", (total, 1, 1), total, chunk, helpers)

    def _run(self, packed, x, y, z, control, scratch):
        word = {field: ctypes.c_int64.from_address(control + field) for field in (CHUNK, CANCEL, LIMIT, NEXT)}
        while not word[CANCEL].value:
            with self._lock:
                first = word[NEXT].value
                word[NEXT].value += word[CHUNK].value
                blocks = range(first, min(first + word[CHUNK].value, word[LIMIT].value))
                self.ran += [(threading.get_ident(), number) for number in blocks]
            if not blocks:
                return
            for number in blocks:
                self._block(number, lambda: word[CANCEL].value)


class Waiting:
    """Threads that wait at a hand-off again and again, each with the section that it had last; a context."""

    def __init__(self, handoff, sections):
        self._handoff = handoff
        self._ends = threading.Event()
        self.threads = [threading.Thread(target=self._wait, args=(s,)) for s in sections]

    def _wait(self, section):
        while not self._ends.is_set():
            section = self._handoff.wait(section)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self._ends.set()
        for thread in self.threads:
            thread.join()


def share(handoff, job):
    """As the pool does, without sleeping workers."""
    handoff.post(job)
    handoff.run()
    while not handoff.finish():
        time.sleep(0)


def test_an_offer_that_nobody_takes_is_withdrawn():
    """With no worker waiting, post says so and finish does not wait."""
    handoff, blocks = Handoff(), Blocks()
    for helpers in (0, 1, 5, 63):
        assert handoff.post(blocks.job(9, helpers)) == 0
        assert handoff.finish()
    assert blocks.ran == []


def test_a_waiting_worker_gives_up_by_itself():
    """Nothing comes: the worker is back in Python soon, likes the same section, and is no longer counted."""
    handoff, blocks, likes = Handoff(), Blocks(), []
    worker = threading.Thread(target=lambda: likes.append(handoff.wait(7)))
    worker.start()
    worker.join(20)
    assert likes == [7]
    assert handoff.post(blocks.job(1, 0)) == 0


@pytest.mark.parametrize(("total", "chunk"), [(1, 1), (2, 1), (7, 1), (7, 3), (100, 7), (64, 64), (1000, 300)])
@pytest.mark.parametrize("helpers", [0, 1, 2, 4, 63])
def test_the_sections_hold_each_block_once(helpers, total, chunk):
    """Uneven totals, fewer blocks than sections, chunks that are longer than a section; with and without helpers."""
    handoff = Handoff()
    for waiting in (0, min(helpers, 4)):
        with Waiting(handoff, range(1, 1 + waiting)):
            for _ in range(5):
                blocks = Blocks()
                share(handoff, blocks.job(total, helpers, chunk))
                assert sorted(number for _, number in blocks.ran) == list(range(total))


@pytest.mark.parametrize("likes", [(1, 2, 3), (3, 1, 2)])
def test_a_helper_begins_with_the_section_that_it_had_last(likes):
    """In every launch; the launching thread begins with the first."""
    handoff, rounds, size = Handoff(), 30, 20
    present = threading.Barrier(4)
    with Waiting(handoff, likes) as waiting:
        for _ in range(rounds):
            blocks = Blocks(lambda number, cancelled: number % size or present.wait(20))  # all four come
            share(handoff, blocks.job(4 * size, 3))
            begins = {}
            for thread, number in blocks.ran:
                begins.setdefault(thread, number // size)
            assert begins[threading.get_ident()] == 0
            assert [begins[thread.ident] for thread in waiting.threads] == list(likes)


@pytest.mark.parametrize("slow", [0, 1])
def test_a_slow_section_is_helped(slow):
    """The first block of one section ends only when another thread has run the section's last one."""
    handoff, size = Handoff(), 10
    helped, waits = threading.Event(), []

    def block(number, cancelled):
        if number == slow * size:
            waits.append(helped.wait(20))
        elif number == slow * size + size - 1:
            helped.set()

    blocks = Blocks(block)
    with Waiting(handoff, [1]):
        share(handoff, blocks.job(2 * size, 1))
    assert waits == [True]
    assert sorted(number for _, number in blocks.ran) == list(range(2 * size))


def test_cancel_reaches_every_section_and_is_gone_afterwards():
    """Blocks that end only when they are cancelled, in the launching thread and in helpers."""
    handoff, started, ends = Handoff(), threading.Semaphore(0), []

    def block(number, cancelled):
        started.release()
        deadline = time.monotonic() + 20
        while not cancelled() and time.monotonic() < deadline:
            time.sleep(0.001)
        ends.append(cancelled())

    blocks = Blocks(block)
    with Waiting(handoff, [1, 2]):
        launching = threading.Thread(target=share, args=(handoff, blocks.job(3000, 2)))
        launching.start()
        for _ in range(3):
            assert started.acquire(timeout=20)
        handoff.cancel()
        launching.join(20)
        assert not launching.is_alive()
    assert ends == [1, 1, 1]
    blocks = Blocks()
    share(handoff, blocks.job(50, 2))
    assert len(blocks.ran) == 50


def test_an_interrupt_ends_the_helpers_and_is_raised_when_none_runs(monkeypatch):
    """It comes while the launching thread waits for a helper, whose blocks end only when they are cancelled."""
    pool, helped, ends = Pool(2), threading.Event(), []
    launching = threading.get_ident()

    def block(number, cancelled):
        if threading.get_ident() == launching:
            helped.wait(20)
            return
        helped.set()
        deadline = time.monotonic() + 20
        while not cancelled() and time.monotonic() < deadline:
            time.sleep(0.001)
        ends.append(cancelled())

    def interrupted(seconds):
        raise KeyboardInterrupt

    blocks = Blocks(block)
    with monkeypatch.context() as patch:
        patch.setattr(pool_module, "time", SimpleNamespace(sleep=interrupted))
        with pytest.raises(KeyboardInterrupt):
            pool.share(blocks.job(10, 1))
    assert ends == [1]
    blocks = Blocks()
    assert pool.share(blocks.job(10, 1))
    assert len(blocks.ran) == 10
    pool.close()


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("scratch", [False, True])
def test_every_block_runs_once_with_any_number_of_workers(cpu, make_kernel, threads, scratch):
    """Few and many blocks, also fewer than workers; each thread's shared array is its own."""
    body = """
let %b: i32 = block_idx_x.i32()
atomic atomic_add @x[%b] (i32(1))
"""
    through = """
store @sh[i32(0)] = block_idx_x.i32()
barrier
load %b: i32 = @sh[i32(0)]
atomic atomic_add @x[%b] (i32(1))
"""
    shared = ["shared @sh i32 [1]"] if scratch else []
    kernel = make_kernel(
        through if scratch else body, "array @x i32 rank 1 c align 4", *shared, block=(2 if scratch else 1, 1, 1)
    )
    program, server = cpu.load(kernel), CpuServer(threads)
    program.short, program.cost = 0, 100_000  # every launch is worth a helper for each block
    threads_of_a_block = kernel.block_dim[0]
    try:
        for total in (1, 2, 3, 4, 5, 97, 1001):
            x = np.zeros(total, np.int32)
            packed, [(_, allocation)] = cpu.pack(kernel.params, (x,))
            for _ in range(3):
                server.launch(program, (total, 1, 1), packed, (), 0)
            np.testing.assert_array_equal(allocation.handle.view(np.int32)[:total], 3 * threads_of_a_block)
    finally:
        server.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_back_to_back_launches_lose_no_block(threads):
    """Hundreds of pooled launches in a row, from several threads at once, each add one to every element."""
    import ruda
    from ruda import dsl

    @ruda.kernel
    def increment(x: dsl.Array[dsl.i32]):
        i = dsl.global_idx.x
        x[i] += 1

    client = ruda.client("cpu")
    rounds, n = 300, 100_003
    arrays = [client.zeros(n, "i32") for _ in range(threads)]

    def run(x):
        for number in range(rounds):
            increment[dsl.cdiv(n, 64), 64](x)
            if number % 50 == 0:
                time.sleep(0.002)  # long enough for workers to fall asleep

    workers = [threading.Thread(target=run, args=(x,)) for x in arrays]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for x in arrays:
        np.testing.assert_array_equal(x.numpy(), rounds)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads are placed on Linux alone")
def test_workers_sleep_on_processors_of_their_own_and_run_anywhere():
    allowed = os.sched_getaffinity(0)
    pool, ran, both = Pool(3), {}, threading.Barrier(3)

    def work():
        ran[threading.get_native_id()] = os.sched_getaffinity(0)
        both.wait(5)

    for _ in range(2):
        pool.run(Launch(work, lambda: None), 3)
        assert len(ran) == 3
        assert set(map(frozenset, ran.values())) == {frozenset(allowed)}
        deadline = time.monotonic() + 5
        while any(len(os.sched_getaffinity(worker)) > 1 for worker in ran) and time.monotonic() < deadline:
            time.sleep(0.001)
        asleep = [os.sched_getaffinity(worker) for worker in ran]
        assert [len(seat) for seat in asleep] == [1] * 3
        assert len(set().union(*asleep)) == min(3, len(allowed))
    pool.close()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads are placed on Linux alone")
def test_workers_whose_place_cannot_be_set_work_on(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    pool, ran = Pool(2), []
    for _ in range(3):
        pool.run(Launch(lambda: ran.append(1), lambda: None), 2)
    assert len(ran) >= 3
    pool.close()
