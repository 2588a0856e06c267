"""Structs: C's layout on every backend, fields in memory and in variables, NumPy's structured dtypes both ways."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pytest

import ruda
from ruda import dsl
from ruda.conformance.harness import define
from ruda.conformance.plugin import require_dtypes
from ruda.host.client import ComputeClient


@dsl.struct
class Inner:
    """A struct in a struct."""

    tag: dsl.u8
    at: dsl.Vec[dsl.f32, 3]


@dsl.struct
class Body:
    """Fields of all kinds, with gaps between them."""

    alive: dsl.bool
    pos: dsl.Vec[dsl.f32, 3]
    count: dsl.i32
    inner: Inner
    grid: dsl.Array[dsl.i16, (2, 3)]
    mass: dsl.f32


BODY: np.dtype[Any] = cast(Any, Body).dtype


def _offset(dtype: np.dtype[Any], name: str) -> int:
    """Bytes from the start of an element to a field."""
    assert dtype.fields is not None
    return dtype.fields[name][1]


class _CInner(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_uint8), ("at", ctypes.c_float * 3)]


class _CBody(ctypes.Structure):
    _fields_ = [
        ("alive", ctypes.c_bool),
        ("pos", ctypes.c_float * 3),
        ("count", ctypes.c_int32),
        ("inner", _CInner),
        ("grid", (ctypes.c_int16 * 3) * 2),
        ("mass", ctypes.c_float),
    ]


def test_the_layout_is_that_of_c() -> None:
    """Offsets and size are those of the platform's C compiler, as ctypes has them."""
    assert BODY.itemsize == ctypes.sizeof(_CBody)
    for name in BODY.names or ():
        assert _offset(BODY, name) == getattr(_CBody, name).offset


def _bodies(count: int) -> npt.NDArray[Any]:
    host = np.zeros(count, BODY)
    n = np.arange(count)
    host["alive"] = n % 3 != 1
    host["pos"] = n[:, None] + np.array([0.25, 0.5, 0.75])
    host["count"] = 1000 - n
    host["inner"]["tag"] = n % 256
    host["inner"]["at"] = -n[:, None] * np.ones(3)
    host["grid"] = n[:, None, None] + np.arange(6).reshape(2, 3)
    host["mass"] = n / 8
    return host


@ruda.kernel
def _step(a: dsl.Array, out: dsl.Array, k: int) -> None:
    i = dsl.global_idx.x
    b = a[i]
    b.pos.y = 2.0 * a[i].pos.x
    b.pos.xz = b.pos.zx
    b.inner.tag += 1
    b.grid[1, k] = 7
    if b.alive:
        b.count -= 1
    else:
        b.inner.at = b.pos
    out[i] = b
    out[i].mass = a[i].mass + a[i].grid[k - 1, 2]
    out[i].grid[0][1] += 10
    out.count[i] *= 2


def test_fields_are_read_and_written(client: ComputeClient) -> None:
    """Of whole structs by value, of elements in memory, of structs in structs, of fixed arrays at a run-time place."""
    require_dtypes(client.target, "u8", "i16")
    host = _bodies(101)
    a, out = client.array(host, Body), client.empty(101, Body)
    _step.forall(101)(a, out, 1)
    want = host.copy()
    want["pos"] = np.stack([host["pos"][:, 2], 2 * host["pos"][:, 0], host["pos"][:, 0]], axis=1)
    want["inner"]["tag"] += 1
    want["grid"][:, 1, 1] = 7
    want["grid"][:, 0, 1] += 10
    want["count"] = np.where(host["alive"], host["count"] - 1, host["count"]) * 2
    want["inner"]["at"] = np.where(host["alive"][:, None], host["inner"]["at"], want["pos"])
    want["mass"] = host["mass"] + host["grid"][:, 0, 2]
    got = out.numpy()
    for name in BODY.names or ():
        np.testing.assert_array_equal(got[name], want[name], name)


PACKED = np.dtype([("tag", "i1"), ("x", "<f8"), ("n", "<i2"), ("w", "<f4", (3,))])
SWAPPED = np.dtype([("tag", "i1"), ("x", ">f8"), ("n", ">i2"), ("w", ">f4", (3,))])
LAYOUTS = {"packed": PACKED, "aligned": np.dtype(PACKED.descr, align=True), "swapped": SWAPPED}
NESTED = np.dtype([("head", "u1"), ("body", [("x", "f4"), ("n", "i8")]), ("tail", "u1")])


@pytest.mark.parametrize("dtype", LAYOUTS.values(), ids=LAYOUTS)
def test_b46_record_arrays_of_any_layout(client: ComputeClient, dtype: np.dtype[Any]) -> None:
    """Packed, aligned and byte-swapped records (B44, B46): the right field of the right record, sliced on the host."""
    require_dtypes(client.target, "f64", "i16", "i8")
    host = np.zeros(23, dtype)
    n = np.arange(23)
    host["tag"], host["x"], host["n"], host["w"] = n - 5, n / 3, n * 100, n[:, None] + np.array([1, 2, 3])
    kernel = define(
        "@kernel\ndef kernel(a, x, n, w):\n    i = dsl.global_idx.x\n"
        "    x[i] = a[i].x\n    n[i] = a['n'][i] + a[i]['tag']\n    w[i] = a[i].w[i % 3]\n"
    )
    a = client.array(host)[3:20:2]
    x, m, w = client.empty(9, "f64"), client.empty(9, "i32"), client.empty(9, "f32")
    kernel.forall(9)(a, x, m, w)
    part = host[3:20:2]
    np.testing.assert_array_equal(x.numpy(), part["x"])
    np.testing.assert_array_equal(m.numpy(), part["n"].astype(np.int32) + part["tag"])
    np.testing.assert_array_equal(w.numpy(), part["w"][np.arange(9), np.arange(9) % 3])
    back = client.array(host).numpy()
    for name in dtype.names or ():
        np.testing.assert_array_equal(back[name], host[name])


def test_fields_of_an_array_are_views_on_the_host(client: ComputeClient) -> None:
    """``a["x"]`` shares memory with ``a``, and a kernel that takes a plain array takes it."""
    require_dtypes(client.target, "i64", "u8")
    host = np.zeros(7, NESTED)
    host["body"]["n"], host["body"]["x"] = np.arange(7) * 2**33, np.arange(7)
    a = client.array(host)
    np.testing.assert_array_equal(a["body"]["n"].numpy(), host["body"]["n"])
    kernel = define("@kernel\ndef kernel(x):\n    i = dsl.global_idx.x\n    x[i] += 0.5\n")
    kernel.forall(7)(a["body"]["x"])
    np.testing.assert_array_equal(a.numpy()["body"]["x"], np.arange(7) + 0.5)
    np.testing.assert_array_equal(a.numpy()["body"]["n"], host["body"]["n"])


@dsl.struct
class Best:
    """In a struct."""

    place: dsl.i32
    score: dsl.i32


@dsl.struct
class Tally:
    """Fields that atomics change."""

    count: dsl.u32
    best: Best


@ruda.kernel
def _count(a: dsl.Array, key: dsl.Array) -> None:
    i = dsl.global_idx.x
    dsl.atomic.add(a.count, key[i], 1)
    dsl.atomic.max(a["best"].score, key[i], i)


def test_atomics_on_fields(client: ComputeClient) -> None:
    """A field of an array of structs is an array."""
    key = np.random.default_rng(3).integers(0, 5, 1003).astype(np.int32)
    a = client.zeros(5, Tally)
    _count.forall(1003)(a, client.array(key))
    np.testing.assert_array_equal(a.numpy()["count"], np.bincount(key, minlength=5))
    np.testing.assert_array_equal(a.numpy()["best"]["score"], [np.flatnonzero(key == k).max() for k in range(5)])


@ruda.kernel
def _make(p: Inner, out: dsl.Array, scale: float) -> None:
    i = dsl.global_idx.x
    q = Inner(p.tag, at=p.at * scale)
    shared = dsl.shared(4, Inner)
    shared[i] = q
    dsl.barrier()
    mine = dsl.local(2, Inner)
    mine[1] = shared[(i + 1) % 4]
    mine[1].at.z += float(i)
    out[i] = mine[1] if i != 2 else Inner(0, dsl.Vec[dsl.f32, 3](0.0))


def test_structs_by_value_and_in_shared_and_local_memory(client: ComputeClient) -> None:
    """A struct is passed, made by its name, chosen, and kept in an array of the block and of the thread."""
    require_dtypes(client.target, "u8")
    out = client.empty(4, Inner)
    _make[1, 4](Inner(9, at=(1, 2, 3)), out, 2.0)
    got = out.numpy()
    np.testing.assert_array_equal(got["tag"], [9, 9, 0, 9])
    np.testing.assert_array_equal(got["at"], [[2, 4, 6], [2, 4, 7], [0, 0, 0], [2, 4, 9]])


@dsl.struct
class Mixed:
    """B49's struct."""

    a: dsl.i8
    v: dsl.Vec[dsl.f32, 3]
    d: dsl.f64
    s: dsl.i16


@ruda.kernel
def _mixed(p: Mixed, a: dsl.Array, out: dsl.Array) -> None:
    out[0] = float(p.a) + p.v.x + p.v.y + p.v.z + dsl.f32(p.d) + float(p.s)
    out[1] = float(a[1].a) + a[1].v.x + a[1].v.y + a[1].v.z + dsl.f32(a[1].d) + float(a[1].s)


def test_b49_offsets_by_value_and_in_arrays(client: ComputeClient) -> None:
    """A vector of three lanes does not shift what follows, in arguments and in arrays."""
    require_dtypes(client.target, "f64", "i8", "i16")
    make: Any = Mixed
    assert [_offset(make.dtype, name) for name in "avds"] == [0, 4, 16, 24]
    p = make(1, v=(2, 3, 4), d=5, s=6)
    host = np.array([make(), p], make.dtype)
    out = client.empty(2, "f32")
    _mixed[1, 1](p, client.array(host, Mixed), out)
    np.testing.assert_array_equal(out.numpy(), [21, 21])


@dsl.struct
class Frame:
    """Rows of a matrix as vectors."""

    rows: dsl.Array[dsl.Vec[dsl.f32, 3], (2,)]
    count: dsl.i32


@ruda.kernel
def _turn(a: dsl.Array, p: Frame) -> None:
    i = dsl.global_idx.x
    f = a[i]
    for k in range(2):
        a[i].rows[k] = f.rows[1 - k] + p.rows[k]
        a[i].rows[1 - k][i % 3] *= 2.0
    a[i].count = len(f.rows) + p.count


def test_fixed_arrays_of_vectors(client: ComputeClient) -> None:
    """A row is a vector, in memory and by value; NumPy has one array of all axes."""
    make: Any = Frame
    host = np.zeros(4, make.dtype)
    host["rows"] = np.arange(24).reshape(4, 2, 3)
    p = make(rows=np.arange(6).reshape(2, 3), count=5)
    want = host["rows"][:, ::-1] + np.arange(6).reshape(2, 3)
    for i in range(4):
        want[i, 0, i % 3] *= 2
    assert make.dtype["rows"].shape == (2, 3)
    for given in (client.array(host, Frame), client.zeros(4, Frame)):
        given.copy_(host)
        _turn.forall(4)(given, p)
        np.testing.assert_array_equal(given.numpy()["rows"], want)
        np.testing.assert_array_equal(given.numpy()["count"], [7, 7, 7, 7])


class Edges(NamedTuple):
    """Arrays and numbers that belong together."""

    start: Any
    weight: Any
    scale: float = 1.0


@dataclass
class Graph:
    """One in another."""

    edges: Edges
    label: Any


@dsl.func
def _weigh(edges: Any, i: Any) -> Any:
    """A bundle is an argument of functions too."""
    return edges.weight[edges.start[i]] * edges.scale


@ruda.kernel
def _bundled(g: Any, out: dsl.Array, bonus: int) -> None:
    i = dsl.global_idx.x
    edges = g.edges
    out[i] = _weigh(edges, i) + float(bonus)
    g.label[i] = len(edges.start)


@dsl.func
def _last(edges: Edges) -> Any:
    """Its type is said, as a kernel's may be."""
    return edges.weight[len(edges.weight) - 1]


@ruda.kernel
def _annotated(g: Graph, out: dsl.Array) -> None:
    out[0] = g.edges.scale * float(len(g.label)) + float(_last(g.edges))


@pytest.mark.parametrize("elem", ["f32", "i32"])
def test_arrays_that_are_passed_as_one(client: ComputeClient, elem: str) -> None:
    """Named tuples and dataclasses of arrays and numbers, one in another, of several dtypes, launch after launch."""
    start = np.array([2, 0, 1], np.int32)
    weight = np.array([10, 20, 30]).astype(ruda.types.as_type(elem).dtype)
    out, label = client.zeros(3, "f32"), client.zeros(3, "i32")
    for scale in (0.5, 2.0):
        graph = Graph(Edges(client.array(start), client.array(weight), scale), label)
        _bundled.forall(3)(graph, out, 4)
        np.testing.assert_array_equal(out.numpy(), weight[start] * scale + 4)
    np.testing.assert_array_equal(label.numpy(), [3, 3, 3])
    taken = client.zeros(1, "f32")
    _annotated[1, 1](graph, taken)
    assert taken.item() == 2.0 * 3 + float(weight[2])
    for wrong, what in ((graph.edges, "a Edges"), (taken, "an array")):
        with pytest.raises(ruda.errors.ArgumentError, match=f"argument 'g': {what} where the kernel takes a Graph"):
            _annotated[1, 1](wrong, taken)
    freed = client.array(start)
    freed.free()
    with pytest.raises(ruda.errors.ArgumentError, match=r"argument 'g\.edges\.start' was freed"):
        _bundled.forall(3)(Graph(Edges(freed, client.array(weight)), label), out, 4)
