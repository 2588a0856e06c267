"""The native code of :mod:`ruda_driver_cpu.handoff`, and the record of words that its threads share."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from ruda_driver_cpu import targets
from ruda_driver_cpu.llvm_entry import CANCEL, CHUNK, CONTROL_BYTES, LIMIT, NEXT

#: More helpers than this are never wanted of one launch; with the launching thread's, a section a bit.
MOST = 63

#: Words of the record; those that threads write often have a cache line each.
TICKET, WAITING, OPEN, RUNNING, JOB = 0, 8, 16, 24, 32
SCRATCH = JOB + 6  # one word a section; before it: entry, packed, grid x y z, number of sections
CONTROLS = -(-(SCRATCH + 1 + MOST) // 8) * 8  # one record a section
CONTROL = CONTROL_BYTES // 8
WORDS = CONTROLS + (1 + MOST) * CONTROL

#: Looks at a word before a wait is given up; with a pause each, some tenths of a millisecond.
_ROUNDS = 8_000

#: What tells the processor that this is a busy wait, by the beginning of LLVM's platform.
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "arm64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}


@dataclass(frozen=True)
class Native:
    """The functions; ``code`` keeps them alive. Each takes the record's address.

    Attributes:
        wait: with the section that a worker would like; see ``Handoff.wait``.
        post: with the rest of a job, without scratch; see ``Handoff.post``.
        run: with a section: run it, and then what is left of the others.
        finish: how many helpers still run; see ``Handoff.finish``.
    """

    wait: Any
    post: Any
    run: Any
    finish: Any
    code: llvm.ResourceTracker


@functools.cache
def native() -> Native:
    """The functions, compiled for the host."""
    declare, pause = _PAUSES.get(targets.host().triple.partition("-")[0], ("", ""))

    def word(name: str, index: int) -> str:
        return f"%{name} = getelementptr inbounds i64, ptr %record, i64 {index}"

    def control(field: int, value: str) -> str:
        at = f"%control.{field}"
        return f"  {at} = getelementptr inbounds i8, ptr %control, i64 {field}\n  store i64 {value}, ptr {at}, align 8"

    job = {"entry": "ptr", "packed": "ptr", "x": "i64", "y": "i64", "z": "i64", "sections": "i64"}
    places = "\n".join(f"  {word(f'{name}.at', JOB + i)}" for i, name in enumerate(job))
    loads = "\n".join(f"  %{name} = load {type}, ptr %{name}.at, align 8" for name, type in job.items())
    stores = "\n".join(f"  store {type} %{name}, ptr %{name}.at, align 8" for name, type in job.items())
    fresh = {CHUNK: "%chunk", CANCEL: "0", LIMIT: "%end", NEXT: "%first"}
    controls = "\n".join(control(field, value) for field, value in fresh.items())
    text = f"""
{declare}
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)

define i64 @ruda_wait(ptr %record, i64 %liked) {{
start:
  {word("waiting", WAITING)}
  {word("open", OPEN)}
  {word("running", RUNNING)}
  br label %enter
enter:
  %likes = phi i64 [ %liked, %start ], [ %had, %leave ]
  %in = atomicrmw add ptr %waiting, i64 1 seq_cst
  %present = load atomic i64, ptr %record seq_cst, align 8
  br label %claim
claim:
  %ticket = phi i64 [ %present, %enter ], [ %now, %news ]
  %woken = phi i1 [ false, %enter ], [ true, %news ]
  %last = phi i64 [ %likes, %enter ], [ %had, %news ]
  %offer = load atomic i64, ptr %open seq_cst, align 8
  br label %choose
choose:
  %left = phi i64 [ %offer, %claim ], [ %found, %take ]
  %any = icmp ne i64 %left, 0
  br i1 %any, label %take, label %missed
take:
  %mine = shl i64 1, %last
  %same.left = and i64 %left, %mine
  %same.open = icmp ne i64 %same.left, 0
  %lowest = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %section = select i1 %same.open, i64 %last, i64 %lowest
  %bit = shl i64 1, %section
  %rest = xor i64 %left, %bit
  %swap = cmpxchg ptr %open, i64 %left, i64 %rest seq_cst seq_cst
  %found = extractvalue {{ i64, i1 }} %swap, 0
  %taken = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %taken, label %run, label %choose
missed:
  br i1 %woken, label %gone, label %look
look:
  %had = phi i64 [ %last, %missed ], [ %section, %run ], [ %had, %again ]
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
  %final = load atomic i64, ptr %record seq_cst, align 8
  %quiet = icmp eq i64 %final, %ticket
  br i1 %quiet, label %done, label %enter
gone:
  %end = atomicrmw sub ptr %waiting, i64 1 seq_cst
  br label %done
run:
  call void @ruda_run(ptr %record, i64 %section)
  %was = atomicrmw sub ptr %running, i64 1 seq_cst
  br label %look
done:
  %result = phi i64 [ %had, %leave ], [ %last, %gone ]
  ret i64 %result
}}

define void @ruda_run(ptr %record, i64 %own) {{
start:
{places}
{loads}
  %slot = add i64 %own, {SCRATCH}
  %scratch.at = getelementptr inbounds i64, ptr %record, i64 %slot
  %scratch = load ptr, ptr %scratch.at, align 8
  {word("controls", CONTROLS)}
  br label %section
section:
  %number = phi i64 [ %own, %start ], [ %number.next, %section ]
  %count = phi i64 [ 1, %start ], [ %count.next, %section ]
  %offset = mul nuw i64 %number, {CONTROL_BYTES}
  %control = getelementptr inbounds i8, ptr %controls, i64 %offset
  call void %entry(ptr %packed, i64 %x, i64 %y, i64 %z, ptr %control, ptr %scratch)
  %up = add nuw i64 %number, 1
  %wraps = icmp eq i64 %up, %sections
  %number.next = select i1 %wraps, i64 0, i64 %up
  %count.next = add nuw i64 %count, 1
  %more = icmp ule i64 %count.next, %sections
  br i1 %more, label %section, label %done
done:
  ret void
}}

define i64 @ruda_post(
  ptr %record, ptr %entry, ptr %packed, i64 %x, i64 %y, i64 %z, i64 %total, i64 %chunk, i64 %helpers
) {{
start:
  %sections = add nuw i64 %helpers, 1
{places}
{stores}
  {word("controls", CONTROLS)}
  br label %section
section:
  %number = phi i64 [ 0, %start ], [ %number.next, %section ]
  %first = phi i64 [ 0, %start ], [ %end, %section ]
  %number.next = add nuw i64 %number, 1
  %share = mul nuw i64 %total, %number.next
  %end = udiv i64 %share, %sections
  %offset = mul nuw i64 %number, {CONTROL_BYTES}
  %control = getelementptr inbounds i8, ptr %controls, i64 %offset
{controls}
  %more = icmp ult i64 %number.next, %sections
  br i1 %more, label %section, label %offer
offer:
  {word("waiting", WAITING)}
  {word("open", OPEN)}
  {word("running", RUNNING)}
  store atomic i64 %helpers, ptr %running seq_cst, align 8
  %beyond = shl nuw i64 1, %helpers
  %below = sub nuw i64 %beyond, 1
  %bits = shl nuw i64 %below, 1
  store atomic i64 %bits, ptr %open seq_cst, align 8
  %old = atomicrmw add ptr %record, i64 1 seq_cst
  %now = load atomic i64, ptr %waiting seq_cst, align 8
  ret i64 %now
}}

define i64 @ruda_finish(ptr %record) {{
start:
  {word("open", OPEN)}
  {word("running", RUNNING)}
  %left = atomicrmw xchg ptr %open, i64 0 seq_cst
  %unclaimed = call i64 @llvm.ctpop.i64(i64 %left)
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
    for name in ("ruda_wait", "ruda_post", "ruda_run", "ruda_finish"):
        library.export_symbol(name)
    code = library.link(targets.jit(), "ruda_handoff")
    word_type, pointer = ctypes.c_int64, ctypes.c_void_p
    return Native(  # CFUNCTYPE releases the GIL, which costs more than a post takes
        wait=ctypes.CFUNCTYPE(word_type, pointer, word_type)(code["ruda_wait"]),
        post=ctypes.PYFUNCTYPE(word_type, pointer, pointer, ctypes.c_char_p, *(word_type,) * 6)(code["ruda_post"]),
        run=ctypes.CFUNCTYPE(None, pointer, word_type)(code["ruda_run"]),
        finish=ctypes.CFUNCTYPE(word_type, pointer)(code["ruda_finish"]),
        code=code,
    )
