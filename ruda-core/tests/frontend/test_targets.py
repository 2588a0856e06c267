"""Assignments to parts of vectors and structs: what is refused, where the caret is, and what to write."""

import numpy as np
import pytest

from ruda import dsl

Pair = dsl.Vec[dsl.i32, 2]


@dsl.struct
class Body:
    count: dsl.i32
    at: Pair
    grid: dsl.Array[dsl.i32, (2, 2)]


NAMES = {"Body": Body, "Pair": Pair}


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (
            "p = Body()\np.count = 1.5 + x",
            ["field count of Body is i32", "1.5 + x\n              ^^^^^^^", "dsl.i32(1.5 + x)"],
        ),
        ("p = Body()\np.at = n", ["field at of Body takes a Vec[i32, 2]", "p.at = n\n           ^", "Pair"]),
        ("v = Pair(n)\nv[0] = x", ["an item of a Vec[i32, 2] is i32, the value is f32", "dsl.i32(x)"]),
        ("v = Pair(n)\nv.xx = v", ["xx names a lane twice", "v.xx = v\n    ^^^^\n"]),
        ("s = dsl.shared(4, Pair)\ns[0].xx = s[1]", ["xx names a lane twice"]),
        (
            "s = dsl.shared(4, Pair)\ns[0].xy = n",
            ["xy of a Vec[i32, 2] takes a Vec[i32, 2]", "s[0].xy = n\n              ^"],
        ),
        ("s = dsl.shared(4, Pair)\ns[0, 1] = s[1]", ["array s has rank 1, 2 indices are given"]),
        ("v = Pair(n)\nw = v.xxxxxxxxxxxxxxxxx", ["a Vec[i32, 2] has no xxxxxxxxxxxxxxxxx"]),
        ("p = Body()\np.grid[0] = 5", ["field grid of Body has shape (2, 2)", "write a tuple of 2 items"]),
        ("p = Body()\np.grid[2][0] = 5", ["index 2 of 2 items"]),
        ("Pair(n).x = 1", ["kernels cannot assign to Call"]),
        ("s = dsl.shared(4, Body)\ns[0] = 1", ["a view of s of Body takes a Body, the value is 1"]),
        ("s = dsl.shared(4, Body)\nx = s + 1", ["array s of Body is not a number"]),
    ],
)
def test_refused(refusal, body, want):
    message = refusal(body, names=NAMES, n="i32", x="f32")
    for part in want:
        part = part.replace("Pair", "dsl.Vec[dsl.i32, 2](n)")
        assert part in message


def test_functions_of_vectors_are_methods_of_elements_too(launch):
    def kernel(a, out):
        v = dsl.shared(2, dsl.Vec[dsl.f32, 2])
        v[0] = dsl.Vec[dsl.f32, 2](a[0], a[1])
        out[0] = v[0].length()
        out[1] = v[0].dot(v[0].yx)

    _, out = launch(kernel, np.array([3, 4], np.float32), np.zeros(2, np.float32), block=1)
    assert out.tolist() == [5, 24]
