"""Handing a short launch to waiting workers without Python, and so without the GIL.

After its work a worker waits for a few tenths of a millisecond in native code.
A launch that comes meanwhile is taken there: waking a sleeping thread, or
passing the GIL on, costs more than many launches take.

One record of words is shared by a pool's threads. The launching thread writes
the job, then how many helpers are wanted (``OPEN``) and that there is news
(``TICKET``). A waiting worker that sees news takes one of the open places or
goes back to Python. A worker that stops waiting says so (``WAITING``) before
its last look at the ticket, and the launching thread posts before it reads who
waits, so a launch is either seen by a worker or known not to be.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ruda.target import Dim3
from ruda_driver_cpu import targets
from ruda_driver_cpu.memory import address, aligned

#: More helpers than this are never wanted of one hand-off.
MOST = 64

#: Words of the record; those that threads write often have a cache line each.
_TICKET, _WAITING, _OPEN, _RUNNING, _JOB = 0, 8, 16, 24, 32
_SCRATCH = _JOB + 6  # one word a helper; before it: entry, packed, grid x y z, control
_WORDS = _SCRATCH + MOST

#: Looks at a word before a wait is given up; with a pause each, some tenths of a millisecond.
_ROUNDS = 8_000

#: What tells the processor that this is a busy wait, by the beginning of LLVM's platform.
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "arm64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}


@dataclass(frozen=True)
class Job:
    """A call of a kernel's entry: addresses of the code, the packed block and the control record, and the grid.

    ``scratch`` has an address for each helper that is wanted, at most ``MOST``.
    """

    entry: int
    packed: int
    grid: Dim3
    control: int
    scratch: list[int]


@dataclass(frozen=True)
class _Native:
    """The native functions; ``code`` keeps them alive."""

    wait: Any
    post: Any
    finish: Any
    code: llvm.ResourceTracker


class Handoff:
    """The record of one pool, and what its threads do with it."""

    def __init__(self) -> None:
        self._words = aligned(8 * _WORDS).view(np.int64)
        self._words[:] = 0
        self._address = address(self._words)
        self._native = _native()

    def wait(self) -> None:
        """In a worker: wait a while for jobs, and run what comes."""
        self._native.wait(self._address)

    def disturb(self) -> None:
        """Make waiting workers go back to Python, which has something for them."""
        self._words[_TICKET] += 1

    def post(self, job: Job) -> int:
        """Offer ``job`` to one helper for each of its scratch addresses; how many workers wait now."""
        self._words[_JOB:_SCRATCH] = (job.entry, job.packed, *job.grid, job.control)
        self._words[_SCRATCH : _SCRATCH + len(job.scratch)] = job.scratch
        return int(self._native.post(self._address, len(job.scratch)))

    def finish(self) -> bool:
        """Withdraw the offer, and wait a while for the helpers that took it; whether none runs any more."""
        return not self._native.finish(self._address)


@functools.cache
def _native() -> _Native:
    declare, pause = _PAUSES.get(targets.host().triple.partition("-")[0], ("", ""))

    def word(name: str, index: int) -> str:
        return f"%{name} = getelementptr inbounds i64, ptr %record, i64 {index}"

    fields = "\n".join(
        f"  {word(f'{name}.at', _JOB + i)}\n  %{name} = load {type}, ptr %{name}.at, align 8"
        for i, (name, type) in enumerate(
            {"entry": "ptr", "packed": "ptr", "x": "i64", "y": "i64", "z": "i64", "control": "ptr"}.items()
        )
    )
    text = f"""
{declare}
declare i64 @llvm.smax.i64(i64, i64)

define void @ruda_wait(ptr %record) {{
start:
  {word("waiting", _WAITING)}
  {word("open", _OPEN)}
  {word("running", _RUNNING)}
  br label %enter
enter:
  %in = atomicrmw add ptr %waiting, i64 1 seq_cst
  %present = load atomic i64, ptr %record seq_cst, align 8
  br label %claim
claim:
  %ticket = phi i64 [ %present, %enter ], [ %now, %news ]
  %woken = phi i1 [ false, %enter ], [ true, %news ]
  %places = atomicrmw sub ptr %open, i64 1 seq_cst
  %taken = icmp sgt i64 %places, 0
  br i1 %taken, label %run, label %missed
missed:
  br i1 %woken, label %gone, label %look
look:
  %round = phi i64 [ 0, %missed ], [ 0, %run ], [ %next, %again ]
  %now = load atomic i64, ptr %record seq_cst, align 8
  %same = icmp eq i64 %now, %ticket
  br i1 %same, label %again, label %news
news:
  br label %claim
again:
  {pause}
  %next = add nuw i64 %round, 1
  %more = icmp ult i64 %next, {_ROUNDS}
  br i1 %more, label %look, label %leave
leave:
  %out = atomicrmw sub ptr %waiting, i64 1 seq_cst
  %last = load atomic i64, ptr %record seq_cst, align 8
  %quiet = icmp eq i64 %last, %ticket
  br i1 %quiet, label %done, label %enter
gone:
  %end = atomicrmw sub ptr %waiting, i64 1 seq_cst
  br label %done
run:
{fields}
  %place = sub i64 %places, 1
  %slot = add i64 %place, {_SCRATCH}
  %scratch.at = getelementptr inbounds i64, ptr %record, i64 %slot
  %scratch = load ptr, ptr %scratch.at, align 8
  call void %entry(ptr %packed, i64 %x, i64 %y, i64 %z, ptr %control, ptr %scratch)
  %was = atomicrmw sub ptr %running, i64 1 seq_cst
  br label %look
done:
  ret void
}}

define i64 @ruda_post(ptr %record, i64 %helpers) {{
  {word("waiting", _WAITING)}
  {word("open", _OPEN)}
  {word("running", _RUNNING)}
  store atomic i64 %helpers, ptr %running seq_cst, align 8
  store atomic i64 %helpers, ptr %open seq_cst, align 8
  %old = atomicrmw add ptr %record, i64 1 seq_cst
  %now = load atomic i64, ptr %waiting seq_cst, align 8
  ret i64 %now
}}

define i64 @ruda_finish(ptr %record) {{
start:
  {word("open", _OPEN)}
  {word("running", _RUNNING)}
  %left = atomicrmw xchg ptr %open, i64 0 seq_cst
  %unclaimed = call i64 @llvm.smax.i64(i64 %left, i64 0)
  %before = atomicrmw sub ptr %running, i64 %unclaimed seq_cst
  br label %look
look:
  %round = phi i64 [ 0, %start ], [ %next, %again ]
  %now = load atomic i64, ptr %running seq_cst, align 8
  %none = icmp eq i64 %now, 0
  br i1 %none, label %done, label %again
again:
  {pause}
  %next = add nuw i64 %round, 1
  %more = icmp ult i64 %next, {_ROUNDS}
  br i1 %more, label %look, label %done
done:
  ret i64 %now
}}
"""
    library = llvm.JITLibraryBuilder().add_object_img(
        targets.host().target_machine().emit_object(llvm.parse_assembly(text))
    )
    for name in ("ruda_wait", "ruda_post", "ruda_finish"):
        library.export_symbol(name)
    code = library.link(targets.jit(), "ruda_handoff")
    word_type, pointer = ctypes.c_int64, ctypes.c_void_p
    return _Native(
        wait=ctypes.CFUNCTYPE(None, pointer)(code["ruda_wait"]),  # CFUNCTYPE releases the GIL
        post=ctypes.PYFUNCTYPE(word_type, pointer, word_type)(code["ruda_post"]),
        finish=ctypes.CFUNCTYPE(word_type, pointer)(code["ruda_finish"]),
        code=code,
    )
