"""Barriers that provably not all threads reach are refused, at the user's line; others are not."""

import pytest

from ruda.errors import KernelSyntaxError
from ruda.passes.divergence import check
from ruda.reference.runtime import TARGET

TID = "thread_idx_x.i32()"
DECLARED = ("scalar ^n i32",)


def branch(cond, then, orelse="", pos=""):
    return f"if {cond} {pos} {{\n{then}\n}} else {{\n{orelse}\n}}\n"


def loop(body, count="u32(4)"):
    return f"for %k: i32 = i32(0), i32(1), {count} {{\n{body}\n}}"


BARRIER = "barrier !0:9:4-17"
FIRST = f"lt.bool({TID}, i32(16))"
UNKNOWN = f"lt.bool({TID}, ^n)"
DIVERGENT = {
    "under a condition of the thread's index": branch(FIRST, BARRIER),
    "in the other branch": branch(FIRST, "", BARRIER),
    "through a value": f"let %t: i32 = {TID}\n" + branch("eq.bool(%t, i32(3))", BARRIER),
    "through a local": f"declare &t: i32\nset &t = {TID}\n" + branch("eq.bool(&t, i32(3))", BARRIER),
    "through a flag": "declare &go: bool = bool(false)\n"
    + branch(FIRST, "set &go = bool(true)")
    + branch("&go", BARRIER),
    "in a loop": loop(branch(FIRST, BARRIER)),
    "in a loop of unknown length": loop(branch(FIRST, BARRIER), "cast.u32(^n)"),
    "in a loop whose length differs": loop(BARRIER, f"cast.u32({TID})"),
    "under an unknown uniform condition": branch("lt.bool(^n, i32(3))", branch(FIRST, BARRIER)),
    "after some left the loop": loop(branch(f"eq.bool({TID}, i32(5))", "break") + "\n" + BARRIER),
    "after some went to the next round": loop(branch(FIRST, "continue") + "\n" + BARRIER),
    "after a uniform break": loop(branch("lt.bool(^n, i32(3))", "break") + "\n" + branch(FIRST, BARRIER)),
    "after a uniform return": branch("lt.bool(^n, i32(3))", "return ()") + "\n" + branch(FIRST, BARRIER),
    "after a uniform return otherwise": branch("lt.bool(^n, i32(3))", "", "return ()") + "\n" + branch(FIRST, BARRIER),
    "beside threads that returned": branch(f"lt.bool({TID}, i32(8))", "return ()") + "\n" + branch(FIRST, BARRIER),
}
FINE = {
    "under a uniform condition": branch("lt.bool(^n, i32(3))", BARRIER),
    "under a condition of both": branch(UNKNOWN, BARRIER),
    "under a condition that all fulfil": branch(f"lt.bool({TID}, i32(64))", BARRIER),
    "under a condition that none fulfils": branch(f"lt.bool({TID}, i32(0))", BARRIER),
    "after threads returned": branch(FIRST, "return ()") + "\n" + BARRIER,
    "where the others returned": branch(FIRST, "return ()") + "\n" + branch(f"ge.bool({TID}, i32(16))", BARRIER),
    "where the others may have returned": branch(UNKNOWN, "return ()") + "\n" + branch(FIRST, BARRIER),
    "after a branch": branch(FIRST, "let %t: i32 = ^n") + "\n" + BARRIER,
    "after a divergent loop": loop(branch(FIRST, "break")) + "\n" + BARRIER,
    "after an unknown break": loop(branch(UNKNOWN, "break") + "\n" + branch(FIRST, BARRIER)),
    "where the rounds decide": loop(
        branch("eq.bool(%k, ^n)", branch(f"le.bool({TID}, mul.i32(%k, i32(32)))", BARRIER))
    ),
    "where a local changes by rounds": "declare &w: i32 = i32(0)\n"
    + loop(branch(f"le.bool({TID}, &w)", BARRIER) + "\nset &w = ^n"),
    "where a branch decides": "declare &w: i32 = i32(0)\n"
    + branch("eq.bool(^n, i32(1))", "set &w = i32(99)")
    + branch(f"lt.bool({TID}, &w)", BARRIER),
    "where returns in rounds are unknown": loop(branch(f"eq.bool({TID}, %k)", "return ()"))
    + "\n"
    + branch(f"ge.bool({TID}, i32(4))", BARRIER),
}


@pytest.mark.parametrize("body", DIVERGENT.values(), ids=DIVERGENT)
def test_refused(kernel, body):
    with pytest.raises(KernelSyntaxError, match="of the block's 64 threads reach this barrier"):
        check(kernel(body, *DECLARED), TARGET)


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_not_refused(kernel, body):
    check(kernel(body, *DECLARED), TARGET)


def test_the_error_names_both_lines(kernel):
    """The barrier's place, the condition's line, the number of threads, and what to do."""
    body = branch("lt.bool(thread_idx_y.i32(), i32(1))", BARRIER, pos="!0:8:3-11")
    with pytest.raises(KernelSyntaxError) as caught:
        check(kernel(body, block="8 3 2"), TARGET)
    error = caught.value
    assert (error.file, error.line, error.column, error.kernel) == ("user.py", 9, 4, "k")
    assert "only 16 of the block's 48 threads" in error.message
    assert "line 8" in error.message
    assert "move the barrier out of the branch" in error.hint


def test_other_axes(kernel):
    """x is the fastest axis: of a block of one row, all threads have y = 0."""
    body = branch("lt.bool(thread_idx_y.i32(), i32(1))", BARRIER)
    check(kernel(body, block="8 1 2"), TARGET)
    with pytest.raises(KernelSyntaxError):
        check(kernel(branch("lt.bool(thread_idx_z.i32(), i32(1))", BARRIER), block="8 1 2"), TARGET)
