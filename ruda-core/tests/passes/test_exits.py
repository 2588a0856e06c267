"""Return, Break and Continue around barriers: the shape of the result, and its meaning on the reference."""

import numpy as np
import pytest

from ruda import ir
from ruda.ir import text
from ruda.ir.verify import verify
from ruda.passes import exits
from ruda.types import bool_

DECLARED = ("array @out i32 rank 1 c align 4", "scalar ^n i32", "shared @s i32 [8]")


def lowered(kernel):
    result = exits.lower(kernel)
    verify(result)
    return result


def body(kernel):
    """The lines of a kernel's body, without positions."""
    lines = text.dump(kernel).splitlines()
    return [line.strip() for line in lines[lines.index("body {") + 1 : -1]]


def lines(block):
    return [line.strip() for line in block.strip().splitlines()]


def test_a_kernel_without_barriers_is_untouched(kernel):
    k = kernel("if lt.bool(^n, i32(3)) {\nreturn ()\n} else {\n}\nloop {\nbreak\n}", *DECLARED)
    assert exits.lower(k) is k


def test_an_early_return_guards_the_rest(kernel):
    """The flag is declared where it is first needed; a later Return nests another guard."""
    k = kernel(
        """
        let %i: i32 = global_idx_x.i32()
        if lt.bool(%i, ^n) {
          return ()
        } else {
        }
        barrier
        if lt.bool(^n, i32(3)) {
          return ()
        } else {
        }
        store @out[i32(0)] = ^n
        """,
        *DECLARED,
    )
    assert body(lowered(k)) == lines(
        """
        let %i: i32 = global_idx_x.i32()
        declare &$returned: bool = bool(false)
        if lt.bool(%i, ^n) {
          set &$returned = bool(true)
        } else {
        }
        if not.bool(&$returned) {
          barrier
          if lt.bool(^n, i32(3)) {
            set &$returned = bool(true)
          } else {
          }
          if not.bool(&$returned) {
            store @out[i32(0)] = ^n
          } else {
          }
        } else {
        }
        """
    )


def test_a_loop_with_plain_exits_keeps_its_form(kernel):
    """A while loop with a barrier is already as it should be."""
    k = kernel(
        """
        loop {
          if lt.bool(^n, i32(3)) {
            break
          } else {
          }
          barrier
          if eq.bool(^n, i32(9)) {
            break
          } else {
          }
        }
        """,
        *DECLARED,
    )
    assert lowered(k).body == k.body


def test_exits_of_a_loop_with_a_barrier(kernel):
    """A nested Break, a Continue and a Return become flags; the loop is left from the top of its body."""
    k = kernel(
        """
        for %i: i32 = i32(0), i32(1), u32(9) {
          if lt.bool(%i, ^n) {
            if eq.bool(^n, i32(1)) {
              break
            } else {
              continue
            }
            store @out[i32(0)] = i32(0)
          } else {
            return ()
          }
          barrier
        }
        store @out[i32(1)] = i32(1)
        """,
        *DECLARED,
    )
    assert body(lowered(k)) == lines(
        """
        declare &$broke.0: bool = bool(false)
        declare &$returned: bool = bool(false)
        for %i: i32 = i32(0), i32(1), u32(9) {
          declare &$skipped.0: bool = bool(false)
          if lt.bool(%i, ^n) {
            if eq.bool(^n, i32(1)) {
              set &$broke.0 = bool(true)
            } else {
              set &$skipped.0 = bool(true)
            }
            if not.bool(or.bool(&$broke.0, &$skipped.0)) {
              store @out[i32(0)] = i32(0)
            } else {
            }
          } else {
            set &$returned = bool(true)
          }
          if or.bool(&$broke.0, &$returned) {
            break
          } else {
          }
          if not.bool(&$skipped.0) {
            barrier
          } else {
          }
        }
        if not.bool(&$returned) {
          store @out[i32(1)] = i32(1)
        } else {
        }
        """
    )


def test_a_return_from_loops_without_barriers(kernel):
    """It leaves each loop by a Break; the loops' own Breaks stay."""
    k = kernel(
        """
        loop {
          loop {
            if lt.bool(^n, i32(3)) {
              return ()
            } else {
            }
            break
          }
          break
        }
        barrier
        """,
        *DECLARED,
    )
    assert body(lowered(k)) == lines(
        """
        declare &$returned: bool = bool(false)
        loop {
          loop {
            if lt.bool(^n, i32(3)) {
              set &$returned = bool(true)
              break
            } else {
            }
            break
          }
          if &$returned {
            break
          } else {
          }
          break
        }
        if not.bool(&$returned) {
          barrier
        } else {
        }
        """
    )


def test_a_return_after_the_last_barrier_needs_a_flag_in_its_region_only(kernel):
    k = kernel("barrier\nif lt.bool(^n, i32(3)) {\nreturn ()\n} else {\n}\nstore @out[i32(0)] = ^n", *DECLARED)
    barrier, declare, *_ = lowered(k).body.statements
    assert isinstance(barrier, ir.Barrier)
    assert declare == ir.Declare(exits.RETURNED, ir.Const(bool_, False))


def test_positions_are_kept(kernel):
    """What a Return becomes stands at its line."""
    k = kernel("if lt.bool(^n, i32(3)) !0:3:0-9 {\nreturn () !0:4:4-10\n} else {\n}\nbarrier !0:5:0-9", *DECLARED)
    found = {type(s).__name__: s.pos.line for s in ir.walk(lowered(k).body)}
    assert (found["Assign"], found["Barrier"]) == (4, 5)


MIXED = """
    store @s[thread_idx_x.i32()] = thread_idx_x.i32()
    declare &sum: i32 = i32(0)
    for %i: i32 = i32(0), i32(1), u32(6) {
      for %j: i32 = i32(0), i32(1), u32(5) {
        if eq.bool(mul.i32(%i, %j), add.i32(thread_idx_x.i32(), ^n)) {
          return ()
        } else {
        }
        if gt.bool(%j, %i) {
          break
        } else {
        }
        set &sum = add.i32(&sum, %j)
      }
      if eq.bool(%i, i32(1)) {
        continue
      } else {
      }
      barrier
      load %near: i32 = @s[rem.i32(add.i32(thread_idx_x.i32(), %i), i32(8))]
      barrier
      set &sum = add.i32(&sum, %near)
      store @s[thread_idx_x.i32()] = &sum
      store @out[global_idx_x.i32()] = &sum
      if gt.bool(%i, ^n) {
        set &sum = mul.i32(&sum, i32(2))
        break
      } else {
      }
    }
    store @out[global_idx_x.i32()] = neg.i32(&sum)
"""


@pytest.mark.parametrize("n", range(-2, 9))
def test_barriers_in_loops_with_every_exit(kernel, run, n):
    """Returns out of an inner loop, continues and breaks by all threads: the same elements before and after."""
    k = kernel(MIXED.replace("rem.i32(", "mod.i32("), *DECLARED, block="8 1 1")
    out = np.full(16, -99, np.int32)
    (before,), faults = run(k, 2, out, n)
    assert faults == []
    (after,), _ = run(lowered(k), 2, out, n)
    np.testing.assert_array_equal(before, after)
    assert len(set(before)) > 2
