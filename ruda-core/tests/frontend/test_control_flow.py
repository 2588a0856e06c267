"""Control flow is Python's: each function runs as Python and as a kernel of one thread, on the same arrays."""

import numpy as np
import pytest

SIZE = 23


def for_with_step(x, out):
    k = 0
    for i in range(20, 2, -3):
        out[k] = i
        k += 1
    for i in range(x[0], x[1], x[2]):
        out[k] = i
        k += 1
    out[22] = k


def run_time_steps(x, out):
    n = 0
    for step in range(-3, 4):
        if step != 0:
            for i in range(x[3], x[4], step):
                n = (n * 3 + i) % 1009
            for i in range(x[4], x[3], step):
                n = (n * 5 - i) % 1013
    out[0] = n


def loop_variable_after(x, out):
    i = 99
    for i in range(x[0]):
        pass
    out[0] = i
    for j in range(3):
        j *= 10
        out[1 + j // 10] = j
    for i in range(0):
        pass
    out[5] = i


def changed_inside(x, out):
    n = 0
    for i in range(5):
        i += 7
        n += i
    out[0] = n
    out[1] = i


def reused_name(x, out):
    for i in range(3):
        out[i] = i
    i = 10
    while i > 0:
        i -= 3
        out[3] += i
    out[4] = i


def break_and_continue(x, out):
    n = 0
    for i in range(10):
        if i == x[0]:
            continue
        if i > 6:
            break
        for j in range(i):
            if j == 3:
                break
            if (i + j) % 2:
                continue
            n += i * j
        out[i] = n
    else:
        out[20] = 1
    while True:
        n -= 5
        if n % 2:
            continue
        if n < 0:
            break
    out[21] = n


def loops_with_else(x, out):
    for limit in range(4):
        for i in range(3):
            if i == limit:
                break
        else:
            out[limit] = 100
        k = 0
        while k < 3:
            if k == limit:
                break
            k += 1
        else:
            out[limit + 5] = 50 + k
    for i in range(0):
        pass
    else:
        out[15] = 7
    while x[0] > 1000:
        x[0] += 1
    else:
        out[16] = 8


def conditions(x, out):
    n = 23
    for i in range(25):
        if i < n and x[i] > 3 or i == 24:
            out[i % 23] = i
        if not (i < n and x[i] % 2 == 0) and i < 20:
            out[i] += 100
    out[0] = x[1] if x[0] > 0 else x[2] if x[1] > 0 else x[3]
    out[1] = (x[0] or 7) + (x[1] and 9)


def chained(x, out):
    for i in range(20):
        out[i] = 0 < x[i] <= x[i + 1] < 9
        if 2 < i != x[i] >= 0 == 0:
            out[i] += 2


def middle_once(x, out):
    """The middle of a chain is loaded once: the count of evaluations is in the value."""
    k = 3
    if x[0] < x[k] < x[1]:
        k = 4
    out[0] = k
    a, b, c = x[0], x[1], x[2]
    out[1] = 1 if a < b < c or c < b < a else 2


def swaps(x, out):
    a, b, c = x[0], x[1], x[2]
    a, b = b, a
    out[0], out[1] = a, b
    for i in range(4):
        a, b, c = c, a, b + i
    out[2], out[3], out[4] = a, b, c
    i = 5
    i, out[i] = 6, i
    out[i], i = i, 7
    (a, b), c = (c, a), b
    p = (a, b + c)
    a = 0
    out[8], out[9] = p
    out[10] = a
    d = e = x[3]
    d += 1
    out[11], out[12] = d, e


def snapshots(x, out):
    i = x[0]
    j = i
    i += 1
    k = (i, j)
    i = 50
    out[0], out[1], out[2] = i, j, k[0] * 100 + k[1]
    t = 0
    for n in range(3):
        t, out[3 + n] = n, t


def augmented(x, out):
    out[3] = 5
    out[3] += 2
    out[3] *= 3
    out[3] -= 1
    out[3] //= 3
    out[3] <<= 4
    out[3] ^= 21
    out[3] %= 50
    n = 0
    out[n + 1] += x[n] + 1
    n += 1
    out[n] |= 64


def early_return(x, out):
    for i in range(10):
        for j in range(10):
            out[i] = j
            if i * j == 12:
                return
    out[20] = 1


def carried(x, out):
    seen = 0
    last = 0
    for i in range(12):
        if i > 4:
            seen += last
        if x[i] > 2:
            last = x[i]
        else:
            part = last + i
            out[i] = part
    out[22] = seen


def docstring_and_nothing(x, out):
    """A docstring."""
    pass
    ...
    out[0] = 1
    "a constant expression"
    out[0] + 1
    return None


def unset_on_some_path(x, out):
    total = 0
    for i in range(5):
        if i == 3:
            late = 40
        if i > 3:
            total += late
    out[0] = total


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__code__", None) and f.__module__ == __name__]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_as_python_does(launch, function, seed):
    random = np.random.default_rng(seed)
    x = random.integers(-3, 10, 25)
    x[2] = [2, -1, 3][seed]
    want = np.full(SIZE, -7)
    here = x.copy()
    function(here, want)
    got_x, got = launch(function, x, np.full(SIZE, -7))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(got_x, here)
