"""What is uniform over a block, and that nothing is called so that is not."""

import numpy as np
import pytest

from ruda import ir
from ruda.passes import bounds, exits, flatten
from ruda.passes.fold import fold
from ruda.passes.rewrite import Rewriter, cast, defined, op
from ruda.passes.uniform import analyse
from ruda.types import i32, i64

DECLARED = ("array @x i32 rank 1 c align 4", "array @y i32 rank 1 c align 4", "scalar ^n i32", "shared @s i32 [8]")
FLAT = {"after exits": exits.lower, "after flatten": lambda k: flatten.lower(exits.lower(bounds.lower(k)))}


def names(kernel):
    """The values and locals of a kernel that are uniform."""
    of = analyse(kernel)
    found = set()
    for s in ir.walk(kernel.body):
        for name in [getattr(s, "value", None), getattr(s, "local", None), *getattr(s, "values", ())]:
            if name is not None and of.expr(name):
                found.add(name.name)
    return found


@pytest.mark.parametrize(
    ("expr", "uniform"),
    [
        ("i32(3)", True),
        ("^n", True),
        ("block_idx_x.i32()", True),
        ("grid_dim_z.i32()", True),
        ("extent(@y, 0)", True),
        ("thread_idx_y.i32()", False),
        ("global_idx_x.i32()", False),
        ("add.i32(^n, block_idx_y.i32())", True),
        ("mul.i32(^n, thread_idx_x.i32())", False),
    ],
)
def test_expressions(kernel, expr, uniform):
    k = kernel(f"let %v: i32 = {expr}\nlet %w: i32 = neg.i32(%v)", *DECLARED)
    assert names(k) == ({"v", "w"} if uniform else set())


def test_memory(kernel):
    """Only elements at a uniform index of arrays that the kernel does not write, under a uniform guard."""
    k = kernel(
        """
        local @mine i32 [2]
        local @other i32 [2]
        load %a: i32 = @x[^n]
        load %b: i32 = @x[thread_idx_x.i32()]
        load %c: i32 = @y[^n]
        load %d: i32 = @s[^n]
        load %e: i32 = @x[^n] where lt.bool(^n, extent(@x, 0))
        load %f: i32 = @x[^n] where lt.bool(^n, thread_idx_x.i32())
        store @mine[^n] = ^n
        store @other[^n] = thread_idx_x.i32()
        load %g: i32 = @mine[^n]
        load %h: i32 = @other[^n]
        atomic %i: i32 = atomic_load @x[^n] ()
        store @y[^n] = i32(0)
        """,
        *DECLARED,
    )
    assert names(k) == {"a", "e", "g"}


def test_a_local_follows_its_assignments(kernel):
    """One that is set to something else, or by some threads only, is not uniform, nor is what comes of it."""
    k = kernel(
        """
        declare &same: i32 = ^n
        declare &set: i32 = ^n
        declare &some: i32 = ^n
        declare &zero: i32
        set &same = add.i32(&same, i32(1))
        set &set = thread_idx_x.i32()
        if lt.bool(&same, i32(9)) {
          set &same = i32(1)
        } else {
        }
        if lt.bool(thread_idx_x.i32(), ^n) {
          set &some = i32(1)
          let %inside: i32 = &same
        } else {
        }
        let %after: i32 = &some
        """,
        *DECLARED,
    )
    assert names(k) == {"same", "zero", "inside"}


def test_loops_carry_to_their_head(kernel):
    """What the last round assigns is seen by the next; a chain of three locals needs as many rounds."""
    k = kernel(
        """
        declare &a: i32 = i32(0)
        declare &b: i32 = i32(0)
        declare &c: i32 = i32(0)
        declare &d: i32 = i32(0)
        for %i: i32 = i32(0), ^n, u32(9) {
          set &d = add.i32(&d, %i)
          set &a = &b
          set &b = &c
          set &c = thread_idx_x.i32()
        }
        """,
        *DECLARED,
    )
    assert names(k) == {"d", "i"}


@pytest.mark.parametrize("step", [lambda k: k, *FLAT.values()], ids=["as it is", *FLAT])
@pytest.mark.parametrize(
    ("cond", "leave", "uniform"),
    [
        ("lt.bool(^n, i32(3))", "break", True),
        ("lt.bool(thread_idx_x.i32(), ^n)", "break", False),
        ("lt.bool(thread_idx_x.i32(), ^n)", "return ()", True),
    ],
)
def test_leaving_a_loop(kernel, cond, leave, uniform, step):
    """Threads that leave at different rounds have different locals; threads that returned do not count."""
    k = kernel(
        f"""
        declare &l: i32 = i32(0)
        for %i: i32 = i32(0), i32(1), u32(9) {{
          set &l = add.i32(&l, i32(1))
          if {cond} {{
            {leave}
          }} else {{
          }}
          barrier
        }}
        let %after: i32 = &l
        """,
        *DECLARED,
        bounds="checked",
    )
    k = step(k)
    assert ({"l", "after", "i"} <= names(k)) == uniform
    loops = [s for s in ir.walk(k.body) if isinstance(s, ir.For)]
    assert [analyse(k).loop(s) for s in loops] == [False] or uniform


def test_a_continue_of_some_threads(kernel):
    """As it is, the loop counts as divergent; as a flag, it parts the threads for the rest of the round only."""
    k = kernel(
        """
        declare &l: i32 = i32(0)
        declare &m: i32 = i32(0)
        for %i: i32 = i32(0), i32(1), u32(9) {
          set &l = add.i32(&l, i32(1))
          if lt.bool(thread_idx_x.i32(), ^n) {
            continue
          } else {
          }
          barrier
          set &m = add.i32(&m, i32(1))
        }
        """,
        *DECLARED,
    )
    assert names(k) == set()
    assert names(exits.lower(k)) == {"l", "i"}


@pytest.mark.parametrize("step", [lambda k: k, *FLAT.values()], ids=["as it is", *FLAT])
def test_an_early_return_leaves_the_rest_uniform(kernel, step):
    """The usual guard at the head of a kernel, also where it returns out of an inner loop."""
    k = step(
        kernel(
            """
        if ge.bool(global_idx_x.i32(), ^n) {
          return ()
        } else {
        }
        declare &width: i32 = ^n
        loop {
          if le.bool(&width, i32(0)) {
            break
          } else {
          }
          for %k: i32 = i32(0), i32(1), u32(3) {
            if eq.bool(%k, thread_idx_x.i32()) {
              return ()
            } else {
            }
          }
          barrier
          set &width = shr.i32(&width, i32(1))
        }
        """,
            *DECLARED,
        )
    )
    of = analyse(k)
    assert {"width", "k"} <= names(k)
    assert not of.expr(exits.RETURNED)
    assert of.control(op("not", exits.RETURNED))
    assert all(of.loop(s) for s in ir.walk(k.body) if isinstance(s, ir.Loop | ir.For))


class Record(Rewriter):
    """Stores every uniform value and local into the thread's row of ``seen``, where it is set."""

    def __init__(self, kernel):
        self.of, self.seen, self.columns = analyse(kernel), ir.Array("seen", i64, 2), 0

    def statement(self, s):
        (s,) = super().statement(s)
        yield s
        names = (s.local,) if isinstance(s, ir.Assign) else defined(s) if isinstance(s, ir.Let | ir.Load) else ()
        for name in names:
            if name != exits.RETURNED and self.of.expr(name):
                yield self.store(cast(name, i64))

    def store(self, expr):
        self.columns += 1
        thread = op("global_idx_x", to=self.index)
        return ir.Store(self.seen, (thread, ir.Const(i32, self.columns - 1)), (expr,))

    def kernel(self, kernel):
        self.index = kernel.index
        rest = super().kernel(kernel)
        body = ir.Block((*rest.body, self.store(ir.Const(i64, 1))))
        return ir.Kernel(
            "k", (*kernel.params, self.seen), kernel.block_dim, kernel.index, kernel.shared, body, bounds=kernel.bounds
        )


@pytest.mark.parametrize("step", [fold, lambda k: exits.lower(fold(k))], ids=["before exits", "after exits"])
@pytest.mark.parametrize("seed", range(300, 340))
def test_uniform_values_are_the_same_in_all_threads(seed, step, random_kernel, random_args, run):
    """Recorded on the reference in threads that reach the kernel's end."""
    kernel = step(random_kernel(seed))
    record = Record(kernel)
    recording = record.kernel(kernel)
    blank = -(2**62)
    seen = np.full((2 * kernel.threads, record.columns), blank, np.int64)
    *_, seen = run(recording, 2, *random_args(seed), seen)[0]
    for block in seen.reshape(2, kernel.threads, -1):
        if step is fold:
            block = block[block[:, -1] == 1]
        for column in block.T:
            assert len(set(column[column != blank])) <= 1


def test_the_random_kernels_have_uniform_locals(random_kernel):
    """So that the test above can fail."""
    found = [
        analyse(k).expr(s.local)
        for k in map(random_kernel, range(300, 320))
        for s in ir.walk(k.body)
        if isinstance(s, ir.Assign)
    ]
    assert 30 < sum(found) < len(found) - 30
