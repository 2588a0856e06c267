"""Device functions: inlined with a scope of their own, whatever their returns look like."""

import numpy as np
import pytest

from ruda import dsl, ir
from ruda.errors import KernelSyntaxError


@dsl.func
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@dsl.func
def first_equal(a, value, start=0):
    for i in range(start, len(a)):
        if a[i] == value:
            return i
    return -1


@dsl.func
def pair(n):
    """The first p, q below n with p * q == 12."""
    for p in range(n):
        q = 0
        while q < n:
            if p * q == 12:
                return p, q
            q += 1
    return -1, -1


@dsl.func
def reduce(a, op, initial):
    total = initial
    for i in range(len(a)):
        total = op(total, a[i])
    return total


@dsl.func
def add(x, y):
    return x + y


@dsl.func
def larger(x, y):
    return x if x > y else y


@dsl.func
def fill(row, value, *, limit=100):
    """Writes to an array; returns early, nothing."""
    for i in range(len(row)):
        if i >= limit:
            return
        row[i] = value
        value += 1


@dsl.func
def swap_and_scale(x, y, by: dsl.f32 = 2.0):
    x, y = y, x
    x *= by
    return x, y


@dsl.func
def counts_up(n):
    """A variable that some path leaves unset is zero at each call."""
    if n > 2:
        k = n
    return k + n


@dsl.func
def clamp_unrolled(x):
    for limit in dsl.unroll((10, 5, 2)):
        if x > limit:
            return limit
    return x


@dsl.func
def sums(x):
    return add(add(x, 1), add(x, add(x, 2)))


def test_returns_of_all_kinds(launch):
    def kernel(a, out):
        i = dsl.global_idx.x
        out[i, 0] = sign(a[i])
        out[i, 1] = first_equal(a, a[i])
        out[i, 2] = first_equal(a, 3, start=5)
        out[i, 3], out[i, 4] = pair(i)
        out[i, 5] = reduce(a, add, 0)
        out[i, 6] = reduce(a, larger, a[i])
        out[i, 7] = clamp_unrolled(a[i])
        out[i, 8] = sums(a[i])
        for n in range(4):
            out[i, 9] = out[i, 9] * 10 + counts_up(n)

    a = np.random.default_rng(3).integers(-20, 20, 17).astype(np.int32)
    a[11] = 3
    _, out = launch(kernel, a, np.zeros((17, 10), np.int32), block=17)

    def products(n):
        return next(((p, q) for p in range(n) for q in range(n) if p * q == 12), (-1, -1))

    for i, x in enumerate(a.tolist()):
        low = 10 if x > 10 else 5 if x > 5 else 2 if x > 2 else x
        expected = [np.sign(x), a.tolist().index(x), 5 + a[5:].tolist().index(3), *products(i), a.sum(), a.max(), low]
        assert out[i].tolist() == [*expected, 3 * x + 3, 126]


def test_arrays_and_views_as_arguments(launch):
    def kernel(out):
        tile = dsl.shared((3, 4), dsl.i32)
        mine = dsl.local(4, dsl.i32)
        fill(tile[1], 5)
        fill(mine, 7, limit=2)
        fill(row=out[2], value=1)
        for j in range(4):
            out[0, j] = tile[1, j]
            out[1, j] = mine[j]

    (out,) = launch(kernel, np.zeros((3, 4), np.int32))
    assert out.tolist() == [[5, 6, 7, 8], [7, 8, 0, 0], [1, 2, 3, 4]]


def test_arguments_are_values(launch):
    """What a function does to its parameters does not show outside."""

    def kernel(out):
        x = 3.0
        y = 4
        p, q = swap_and_scale(x, y)
        out[0], out[1], out[2], out[3] = p, q, x, y
        x, y = swap_and_scale(y, x, by=0.5)
        out[4], out[5] = x, y

    (out,) = launch(kernel, np.zeros(6, np.float32))
    assert out.tolist() == [8, 3, 3, 4, 1.5, 4]


def test_literal_arguments_stay_literals(kernel_of, text_of):
    """They take the type of what they meet inside, and can be known at compile time."""
    assert text_of("a[0] = add(a[1], 0.1)", {"add": add}, a="f64[1]") == (
        "load %a.at: f64 = @a[i32(1)]\nstore @a[i32(0)] = add.f64(%a.at, f64(0x1.999999999999ap-4))"
    )
    kernel = kernel_of("a[0] = sign(7)", {"sign": sign}, a="f32[1]")
    assert [type(s) for s in kernel.body] == [ir.Store]


def test_one_result_needs_no_local(text_of):
    assert text_of("a[0] = add(a[1], n) * 2", {"add": add}, a="f32[1]", n="i32") == (
        "load %a.at: f32 = @a[i32(1)]\n"
        "store @a[i32(0)] = mul.f32(add.f32(%a.at, cast.f32(^n)), f32(0x1.0000000000000p+1))"
    )


def test_early_returns_become_branches(text_of):
    assert (
        text_of("a[0] = sign(a[1])", {"sign": sign}, a="f32[1]")
        == """load %a.at: f32 = @a[i32(1)]
declare &return: i32
if gt.bool(%a.at, f32(0x0.0p+0)) {
  set &return = i32(1)
} else {
  if lt.bool(%a.at, f32(0x0.0p+0)) {
    set &return = i32(-1)
  } else {
    set &return = i32(0)
  }
}
store @a[i32(0)] = cast.f32(&return)"""
    )


@dsl.func
def many_exits(x):
    for k in dsl.unroll(range(200)):
        if x == k * k:
            return k
    return -1


def test_many_exits_do_not_nest(launch):
    """Early returns beyond a few leave a loop instead of nesting the rest ever deeper."""

    def kernel(out):
        i = dsl.global_idx.x
        out[i] = many_exits(i)

    (out,) = launch(kernel, np.zeros(300, np.int32), block=300)
    assert out.tolist() == [int(i**0.5) if int(i**0.5) ** 2 == i else -1 for i in range(300)]


def test_shared_memory_of_a_function_is_one_array_a_call(kernel_of):
    kernel = kernel_of("for k in dsl.unroll(range(3)): f(a)\nf(a)", {"f": uses_shared}, a="f32[1]")
    assert [s.shape for s in kernel.shared] == [(8,), (8,)]


@dsl.func
def uses_shared(a):
    tile = dsl.shared(8, a.dtype)
    tile[dsl.thread_idx.x] = a[0]
    dsl.barrier()
    a[1] = tile[0]


@dsl.func
def ping(n):
    return pong(n)


@dsl.func
def pong(n):
    return ping(n - 1)


@dsl.func
def sometimes(x):
    if x > 0:
        return x


@dsl.func
def both(x):
    if x > 0:
        return x
    return


@dsl.func
def shapes(x):
    if x > 0:
        return x, 1
    return x


@dsl.func
def typed(a: dsl.Array[dsl.f32], n: dsl.Const[int], x: dsl.i32):
    return a[n] + x


NAMES = {f.__name__: f for f in (ping, sometimes, both, shapes, typed, add, fill)}


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("a[0] = ping(3)", "recursion: ping -> pong -> ping"),
        ("a[0] = sometimes(a[0])", "some way through sometimes ends without a return"),
        ("a[0] = both(a[0])", "both returns a value elsewhere and nothing here"),
        ("a[0], a[1] = shapes(a[0])", "shapes(...) is a tuple of 2 elsewhere, and f32 here"),
        ("a[0] = add(1)", "add: argument y is missing"),
        ("a[0] = add(1, 2, 3)", "add takes 2 arguments, 3 are given"),
        ("a[0] = add(1, z=2)", "add has no parameter z"),
        ("a[0] = add(1, x=2)", "add gets two values for x"),
        ("fill(a, 1, 2)", "fill takes 2 arguments, 3 are given"),
        ("a[0] = typed(b, 1, 2)", "argument a of typed is dsl.Array[dsl.f32], given is array b of f64, rank 1"),
        ("a[0] = typed(1.0, 1, 2)", "argument a of typed is dsl.Array[dsl.f32], given is 1.0"),
        ("a[0] = typed(a, n, 2)", "argument n of typed is a compile-time value, given is i32"),
        ("a[0] = typed(a, 1, a[0])", "argument x of typed is i32, the value is f32"),
        ("a[0] = a(1)", "array a cannot be called"),
        ("a[0] = plain(1)", "decorate plain with @dsl.func"),
        ("a[0] = len(a[0])", "len of f32"),
        ("a[0] = min()", "min needs two or more values"),
        ("a[0] = abs(1, 2)", "abs: too many positional arguments"),
        ("a[0] = math.sqrt()", "missing a required argument"),
        ("x = list(a)", "kernels have tuples"),
        ("x = np.zeros(3)", "dsl.local(shape, dtype)"),
    ],
)
def test_refused_calls(refusal, body, part):
    def plain(x):
        return x

    assert part in refusal(body, {**NAMES, "plain": plain}, a="f32[1]", b="f64[1]", n="i32")


def test_an_error_inside_names_the_calls(kernel_of):
    with pytest.raises(KernelSyntaxError) as caught:
        kernel_of("a[0] = ping(3)", NAMES, a="f32[1]")
    assert len(caught.value.__notes__) == 2
    assert caught.value.line == pong.source.tree.body[0].lineno
    assert caught.value.file == __file__


def test_a_device_function_on_the_host():
    with pytest.raises(TypeError, match="add is a device function"):
        add(1, 2)
    assert add.__name__ == "add"
    assert "device function" in repr(add)


def test_definition_errors_of_device_functions():
    with pytest.raises(KernelSyntaxError, match="cannot take \\*args"):

        @dsl.func
        def star(*args):
            return args
