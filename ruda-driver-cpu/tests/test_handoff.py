"""Launches that are shared with waiting workers."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from ruda_driver_cpu.handoff import Handoff, Job


def job(helpers: int) -> Job:
    return Job(entry=0, packed=0, grid=(1, 1, 1), control=0, scratch=[0] * helpers)


def test_an_offer_that_nobody_takes_is_withdrawn():
    """With no worker waiting, post says so and finish does not wait."""
    handoff = Handoff()
    for helpers in (0, 1, 5):
        assert handoff.post(job(helpers)) == 0
        assert handoff.finish()


def test_a_waiting_worker_gives_up_by_itself():
    """Nothing comes: the worker is back in Python soon, and no longer counted."""
    handoff = Handoff()
    worker = threading.Thread(target=handoff.wait)
    worker.start()
    worker.join(20)
    assert not worker.is_alive()
    assert handoff.post(job(0)) == 0


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
