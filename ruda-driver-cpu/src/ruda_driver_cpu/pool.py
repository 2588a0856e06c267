"""Threads that run launches; they are started by the first launch that wants them and stay.

A launch is handed to as many workers as pay off. These call the kernel's entry,
which takes chunks of blocks from a counter in native code until none is left;
ctypes releases the GIL meanwhile. The caller takes part where the launch is
known to end soon, and shares it with helpers by ``handoff``. Else it waits on a
lock, so that Ctrl-C reaches it: it then sets the launch's cancel flag and waits
for the workers, which look at the flag between chunks and in loops.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from ruda_driver_cpu.handoff import Handoff, Job
from ruda_driver_cpu.handoff_native import MOST

#: Seconds between looks at pending signals where a lock's wait cannot be interrupted.
_SLICE = 0.1

#: Seconds between looks at helpers that take longer than a busy wait.
_NAP = 50e-6

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


class Launch:
    """One launch on the pool.

    Args:
        work: runs chunks until there are none; called by each worker that joins.
        cancel: makes running ``work`` return soon.
    """

    def __init__(self, work: Callable[[], None], cancel: Callable[[], None]) -> None:
        self._work = work
        self._cancel = cancel
        self._lock = threading.Lock()
        self._running = 0
        self._closed = False
        self._error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def join(self) -> None:
        """Take part, in a worker thread; at once over where another worker found that no chunk is left."""
        with self._lock:
            if self._closed:
                return
            self._running += 1
        try:
            self._work()
        except BaseException as error:  # for instance no memory for scratch: the launching thread raises it
            self._error = error
        with self._lock:
            self._closed = True
            self._running -= 1
            last = self._running == 0
        if last:
            self._done.release()

    def wait(self) -> None:
        """Wait until all chunks have run.

        Raises:
            KeyboardInterrupt: Ctrl-C, or whatever a signal handler raised; no worker runs the launch any more.
        """
        try:
            _acquire(self._done)
        except BaseException:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error

    def cancel(self) -> None:
        """End the launch early, and wait until no worker runs it."""
        self._cancel()
        with self._lock:
            self._closed = True
            idle = self._running == 0
        while not idle:
            try:
                _acquire(self._done)
            except KeyboardInterrupt:  # once is enough
                continue
            return


class Pool:
    """``threads`` workers, daemons, one queue."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.reset()
        _pools.add(self)

    def reset(self) -> None:
        """Forget the workers, which a forked child does not have."""
        self._queue: SimpleQueue[Launch | Handoff | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = False
        self._handoff = Handoff()
        self._handing = threading.Lock()

    def run(self, launch: Launch, workers: int) -> None:
        """Run ``launch`` on at most ``workers`` threads and wait for it; may be called by several threads at once."""
        try:
            self._start()
            for _ in range(workers):
                self._queue.put(launch)
            self._handoff.disturb()
        except BaseException:
            launch.cancel()
            raise
        launch.wait()

    def share(self, job: Job) -> bool:
        """Run a launch that ends soon in this thread and in helpers that wait or wake in time.

        Returns:
            Whether it ran; not where another thread is sharing its launch, and the helpers are busy with that.
        """
        if not self._handing.acquire(blocking=False):
            return False
        try:
            try:
                self._start()
                for _ in range(job.helpers - self._handoff.post(job)):
                    self._queue.put(self._handoff)
                self._handoff.run()
            finally:
                self._finish()
        finally:
            self._handing.release()
        return True

    def _finish(self) -> None:
        """Wait for the helpers, through any number of signals: they use memory of the launch."""
        interrupt: BaseException | None = None
        while True:
            try:
                if self._handoff.finish():
                    break
                time.sleep(_NAP)
            except BaseException as error:
                interrupt = error
                self._handoff.cancel()
        if interrupt is not None:
            raise interrupt

    def close(self) -> None:
        """Let the workers end once they are idle."""
        with self._lock:
            if self._started:
                self._started = False
                for _ in range(self.threads):
                    self._queue.put(None)

    def _start(self) -> None:
        if self._started:
            return
        with self._lock:
            if self._started:
                return
            for number in range(self.threads):
                arguments = self._queue, self._handoff, number
                threading.Thread(target=_work, args=arguments, name=f"ruda-cpu-{number}", daemon=True).start()
            self._started = True


class Seat:
    """The processor on which a worker sleeps, one of its own where there are enough; awake it goes wherever it likes.

    Else Linux may wake two workers on the same processor, where other threads were busy just before, and leave them
    there for some ten milliseconds.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._before: set[int] = set()
        self._works = hasattr(os, "sched_setaffinity")

    def take(self) -> None:
        """Called before the worker may sleep."""
        if self._works and not self._before:
            allowed = os.sched_getaffinity(0)
            if self._go({sorted(allowed)[self._number % len(allowed)]}):
                self._before = allowed

    def leave(self) -> None:
        """Called once it is awake."""
        if self._before:
            self._go(self._before)
            self._before = set()

    def _go(self, processors: set[int]) -> bool:
        try:
            os.sched_setaffinity(0, processors)
        except OSError:  # a sandbox may forbid it
            self._works = False
        return self._works


def _work(queue: SimpleQueue[Launch | Handoff | None], handoff: Handoff, number: int) -> None:
    section, seat = min(number + 1, MOST), Seat(number)
    while True:
        if queue.empty():
            seat.take()
        item = queue.get()
        seat.leave()
        if item is None:
            return
        if isinstance(item, Launch):
            item.join()
        del item  # keep nothing of it while waiting
        if queue.empty():
            section = handoff.wait(section)


def _acquire(lock: threading.Lock) -> None:
    if sys.platform != "win32":
        lock.acquire()
        return
    while not lock.acquire(timeout=_SLICE):
        pass


def _after_fork() -> None:
    for pool in _pools:
        pool.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
