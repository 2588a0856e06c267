"""What loops and branches become, at the ends of types and at compile time; and what is refused."""

import numpy as np
import pytest

from ruda import dsl, ir


def test_trip_counts_at_the_ends_of_a_type(launch):
    """The count cannot overflow, and the variable wraps at most after its last round."""

    def count(out, first: dsl.i8, last: dsl.i8, step: dsl.i8):
        n = 0
        for i in range(first, last, step):
            n += 1
            out[1] = i
        out[0] = n

    for bounds in [(-128, 127, 1), (127, -128, -1), (-128, 127, 127), (127, -128, -128), (0, 127, 100), (5, 5, 1)]:
        (out,) = launch(count, np.zeros(2, np.int32), *map(np.int8, bounds))
        steps = range(*bounds)
        assert out.tolist() == [len(steps), steps[-1] if len(steps) else 0]
    (out,) = launch(count, np.zeros(2, np.int32), *map(np.int8, (3, 9, 0)))
    assert out[0] == 0


def test_unsigned_bounds(launch):
    def down(out, n: dsl.u32):
        k = 0
        for i in range(n - 1, -1, -1):
            out[k] = i
            k += 1

    (out,) = launch(down, np.full(6, 9, np.int32), np.uint32(5))
    assert out.tolist() == [4, 3, 2, 1, 0, 9]


def test_short_circuit_keeps_effects_back(launch):
    """An atomic on the right of ``and`` runs only where the left holds; the middle of a chain runs once."""

    def kernel(hits, out):
        i = dsl.global_idx.x
        if i % 2 == 0 and dsl.atomic.add(hits, 0, 1) >= 0:
            out[i] = 1
        if i % 3 == 0 or dsl.atomic.add(hits, 1, 1) < 0:
            out[i] += 2
        if -1 < dsl.atomic.add(hits, 2, 1) < 1000:
            out[i] += 4
        out[i] += dsl.atomic.add(hits, 3, 1) * 0 if i == 5 else 8

    hits, out = launch(kernel, np.zeros(4, np.int32), np.zeros(12, np.int32), block=12)
    assert hits.tolist() == [6, 8, 12, 1]
    assert out.tolist() == [(i % 2 == 0) + 2 * (i % 3 == 0) + 4 + 8 * (i != 5) for i in range(12)]


def test_an_early_return_ends_one_thread(launch):
    def kernel(out):
        i = dsl.global_idx.x
        if i == 3:
            return
        out[i] = i

    (out,) = launch(kernel, np.full(8, -1, np.int32), block=8)
    assert out.tolist() == [0, 1, 2, -1, 4, 5, 6, 7]


def test_unrolled_loops(launch):
    """Break, continue and else of an unrolled loop, with items of several kinds."""

    def kernel(x, out):
        for k in dsl.unroll(range(12)):
            if x[k] == 5:
                break
            if x[k] < 0:
                continue
            for j in range(3):
                if j > x[k]:
                    break
                out[k] += 10
            out[k] += k
        else:
            out[12] = 1
        for dx, dy in ((0, 1), (1, 0), (-1, 2)):
            out[13] = out[13] * 10 + dx + dy
        for k in dsl.unroll(range(4)):
            if k == 2:
                break
            out[14] += 1
        for f in dsl.unroll((dsl.i8, dsl.u8)):
            out[15] = out[15] + f(200 + x[0])

    def expected(x):
        out = np.zeros(16, int)
        for k in range(12):
            if x[k] == 5:
                break
            if x[k] < 0:
                continue
            out[k] = 10 * min(3, x[k] + 1) + k
        else:
            out[12] = 1
        out[13:16] = [111, 2, np.array(200 + x[0], np.uint8).view(np.int8).astype(int) + 200 + x[0]]
        return out

    for seed in range(6):
        x = np.random.default_rng(seed).integers(-2, 5 + seed % 2, 12).astype(np.int32)
        _, out = launch(kernel, x, np.zeros(16, np.int32))
        assert out.tolist() == expected(x).tolist()


def test_branches_known_at_compile_time(kernel_of):
    """Only the branch that is taken is looked at."""
    body = "if FLAG:\n    a[0] = 1\nelse:\n    a[0] = undefined.name\nif y is None: a[1] = 2\nwhile not FLAG: a[2] = b"
    kernel = kernel_of(body, {"FLAG": True}, a="f32[1]", y=None)
    assert [type(s) for s in kernel.body] == [ir.Store, ir.Store]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("x = y\ny = 1", "y is read before any path sets it"),
        ("if a[0] > 0: y = 1\nelse: x = y", "y is read before any path sets it"),
        ("x += 1", "x is read before any path sets it"),
        ("for i in range(3, 9, 0): pass", "the step of a range is 0"),
        ("for i in a: pass", "use kernel.forall(shape)"),
        ("for i in 3: pass", "3 cannot be iterated"),
        ("for i in a[0]: pass", "write range(n)"),
        ("for i in dsl.unroll(range(len(a))): pass", "not known at compile time"),
        ("for i in dsl.unroll(range(10 ** 6)): pass", "1000000 rounds to unroll"),
        ("a, b = a[0], a[1], a[2]", "3 values for 2 names"),
        ("x, y = a", "array a cannot be unpacked"),
        ("r = range(3)", "a range cannot be kept in a name"),
        ("if a: pass", "array a is neither true nor false"),
        ("if math.isnan: pass", "isnan is a function and always true"),
        ("x = a\nx = 1\nx = 2", "x already holds array a"),
        ("t = (1, 2)\nt = (1, 2, 3)", "which cannot become a tuple of 3"),
        (
            "t = (1, (2, 3))\nt = (1, (2, a))\na[0] = t[0]",
            "t[1][1] already holds a literal int, which cannot become array a",
        ),
        (
            "for i in range(2):\n    t = (1, i)\n    a[i] = t[1]\nt = (1, a[0])\na[0] = t[1]",
            "t[1] is index on line 3 and f32 on line 5, and has one type",
        ),
        ("x = a if a[0] > 0 else a", "write an if statement"),
        ("x = 3 in a", "in is for tuples"),
        ("x = a is a", "write == to compare values"),
        ("x = range(1, 2, 3, 4)", "range takes 1 to 3 arguments"),
    ],
)
def test_refused_flow(refusal, body, part):
    assert part in refusal(body, a="f32[1]")


def test_declarations_are_in_the_innermost_block(text_of):
    """Outside of a loop only where a value passes from round to round."""
    body = """for j in range(n):
    if a[j] > 1:
        t = 1.0
    else:
        t = 2.0
    a[j] = t
    if j > 3:
        a[j] = u
    u = t"""
    assert (
        text_of(body, a="f32[1]", n="i32")
        == """declare &u: f32
for %j: i32 = i32(0), i32(1), select.u32(lt.bool(i32(0), ^n), sub.u32(cast.u32(^n), cast.u32(i32(0))), u32(0)) {
  load %a.at: f32 = @a[%j]
  declare &t: f32
  if gt.bool(%a.at, f32(0x1.0000000000000p+0)) {
    set &t = f32(0x1.0000000000000p+0)
  } else {
    set &t = f32(0x1.0000000000000p+1)
  }
  store @a[%j] = &t
  if gt.bool(%j, i32(3)) {
    store @a[%j] = &u
  }
  set &u = &t
}"""
    )
