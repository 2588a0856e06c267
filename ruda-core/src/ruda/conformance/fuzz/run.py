"""Long runs of the fuzzers: the seeds are shared by processes, so that all cores work and no crash ends a run."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Literal

from ruda import registry
from ruda.conformance.fuzz import expressions
from ruda.conformance.fuzz.check import differ, minimise, module_text, report
from ruda.conformance.fuzz.emulate import emulate
from ruda.conformance.fuzz.generate import generate
from ruda.host.client import ComputeClient

#: Seconds between two lines about how far a run is.
_PERIOD = 30.0
#: Seeds that one process runs; compilers of drivers may hold a little memory for each kernel that they ever made.
_SEEDS = 1000


@dataclass(frozen=True)
class Work:
    """What to run.

    Attributes:
        kind: what to make of each seed.
        seeds: the seeds.
        drivers: drivers to test, perhaps with an index.
        keep: the folder for failing kernels, if they are to be kept.
        source: whether each kernel is printed before it runs.
    """

    kind: Literal["kernels", "expressions"]
    seeds: range
    drivers: Sequence[str]
    keep: Path | None = None
    source: bool = False

    def again(self, seed: int, driver: str = "") -> str:
        """The command that runs one seed once more."""
        drivers = " ".join(f"--driver {name}" for name in ([driver] if driver else self.drivers))
        return f"python -m ruda.conformance.fuzz --kind {self.kind} {drivers} --count 1 --seed {seed}"

    def check(self, seed: int) -> int:
        """Run one seed and print what differs; the number of drivers on which something does."""
        clients = {name: registry.client(name) for name in self.drivers}
        if self.kind == "expressions":
            return sum(self._expressions(seed, name, client) for name, client in clients.items())
        case = generate(seed)
        if self.source:
            print(f"# seed {seed}\n{case.source}", flush=True)
        want = emulate(case)
        failed = 0
        for name, client in clients.items():
            if difference := differ(case, client, want):
                failed += 1
                smaller = minimise(case, client, difference)
                print(report(smaller, client, difference, self.again(seed, name)), flush=True)
                if self.keep:
                    file = self.keep / f"seed_{seed}_{client.target.driver}.py"
                    file.write_text(module_text(smaller, f"Seed {seed} on {client.target.driver}."), encoding="utf-8")
        return failed

    def _expressions(self, seed: int, name: str, client: ComputeClient) -> bool:
        difference = expressions.check(seed, client)
        if difference:
            print(f"seed {seed} on {client.device}:\n{difference}\nagain: {self.again(seed, name)}\n", flush=True)
        return bool(difference)


class Worker:
    """One process after the other that run seeds in order; of one that dies the seed is told, which is left out."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._spawn = multiprocessing.get_context("spawn")  # threads of drivers do not survive a fork
        self._done: Synchronized[int] = self._spawn.Value("q", 0)
        self._failed: Synchronized[int] = self._spawn.Value("q", 0)
        self.process = self._start()

    @property
    def done(self) -> int:
        """Seeds that have been run."""
        return self._done.value

    @property
    def failed(self) -> int:
        """Differences, and seeds that killed the process."""
        return self._failed.value

    def ended(self) -> bool:
        """Whether all seeds have been run, now that the process has ended; if not, there is another."""
        self.process.join()
        if code := self.process.exitcode:
            seed = self.work.seeds[self.done]
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
            print(f"seed {seed} ended its process with {how}\nagain: {self.work.again(seed)}\n", flush=True)
            self._failed.value += 1
            self._done.value += 1
        if self.done == len(self.work.seeds):
            return True
        self.process = self._start()
        return False

    def _start(self) -> BaseProcess:
        work = replace(self.work, seeds=self.work.seeds[self.done :][:_SEEDS])
        process = self._spawn.Process(target=_run, args=(work, self._done, self._failed), daemon=True)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited: the imports before _run are deaf to it too
        try:
            process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        return process


def _run(work: Work, done: Synchronized[int], failed: Synchronized[int]) -> None:
    """What a worker's process does. Only its parent listens to Ctrl-C, and ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which Windows' processes do not inherit
    for seed in work.seeds:
        failed.value += work.check(seed)
        done.value += 1


def run(work: Work, jobs: int) -> int:
    """Run all seeds in ``jobs`` processes; the number of failures, after their reports and a line of totals."""
    start = last = time.monotonic()
    count = len(work.seeds)
    workers = [Worker(replace(work, seeds=work.seeds[k::jobs])) for k in range(min(jobs, count))]
    running = list(workers)
    try:
        while running:
            ready = connection.wait([worker.process.sentinel for worker in running], timeout=_PERIOD)
            running = [w for w in running if w.process.sentinel not in ready or not w.ended()]
            if time.monotonic() - last >= _PERIOD:
                last = time.monotonic()
                done, failed = sum(w.done for w in workers), sum(w.failed for w in workers)
                print(f"{done} of {count} done, {failed} failed, {last - start:.0f} s", file=sys.stderr, flush=True)
    finally:
        for worker in running:
            worker.process.terminate()
            worker.process.join()
        done, failed = sum(w.done for w in workers), sum(w.failed for w in workers)
        of = f"{done} of {count}" if done < count else str(count)
        where = f"from seed {work.seeds.start} on {', '.join(work.drivers)}"
        print(f"{work.kind}: {of} {where}: {failed} failed, {time.monotonic() - start:.1f} s", flush=True)
    return failed
