"""How a dtype may be written: ruda's names count bits, and come before NumPy's codes, which count bytes."""

import ml_dtypes
import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import DtypeError
from ruda.types import SCALARS, as_type

SAME = {
    "i8": ["int8", np.int8, np.dtype("i1"), "i1"],
    "u8": ["uint8", np.uint8, np.dtype("u1")],
    "i16": ["int16", "i2", "<i2", ">i2"],
    "i32": ["int32", np.int32, int, "i4"],
    "i64": ["int64", np.int64, np.dtype("i8"), "<i8"],
    "u64": ["uint64", np.dtype("u8"), ">u8"],
    "f16": ["float16", np.float16, "f2", "half"],
    "bf16": ["bfloat16", ml_dtypes.bfloat16],
    "f32": ["float32", np.float32, float, "f4", np.float32(0).dtype],
    "f64": ["float64", np.float64, np.dtype("f8"), "<f8", "double"],
    "f8e4m3": ["float8_e4m3fn", ml_dtypes.float8_e4m3fn],
    "f8e5m2": ["float8_e5m2", ml_dtypes.float8_e5m2],
    "bool": ["bool", bool, np.bool_],
}


@pytest.mark.parametrize("name", SAME)
def test_ways_to_write_a_dtype(name):
    for spec in (name, getattr(dsl, name), *SAME[name]):
        assert as_type(spec).name == name


def test_every_type_has_its_name():
    assert [as_type(t.name) for t in SCALARS] == list(SCALARS)
    assert {t.name for t in SCALARS} - SAME.keys() == {"u16", "u32"}


def test_none_is_no_dtype():
    with pytest.raises(DtypeError, match="None is not a dtype; ruda has bool, i8"):
        as_type(None)


def test_a_number_counts_bits():
    """Where ruda has the name, it is ruda's, on the host as in kernels."""
    client = ruda.client("reference")
    assert [client.zeros(3, dtype).dtype for dtype in ("i8", "u8", "f16")] == [np.int8, np.uint8, np.float16]

    @ruda.kernel
    def sizes(out):
        x = dsl.local(1, "i8")
        x[0] = 300 + dsl.thread_idx.x
        out[0] = x[0]

    out = client.zeros(1, "i64")
    sizes[1, 1](out)
    assert out.item() == 300 - 256


def test_a_code_that_could_mean_either_is_refused():
    with pytest.raises(DtypeError, match="write 'f64', or 'f8e4m3' or 'f8e5m2'"):
        ruda.client("reference").zeros(3, "f8")


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (
            dsl.Array[dsl.f32, 3],
            r"field x is .*, an array without a shape; a fixed array is dsl.Array\[dsl.f32, \(3,\)\]",
        ),
        (dsl.Array, r"field x is dsl.Array, an array without a shape; .* is an argument of its own"),
        (dsl.Array[dsl.f32, (2, 0)], "each axis of a fixed array is at least 1"),
        ("nowhere", "name 'nowhere' is not defined; its annotations name types of the module"),
        (list, "<class 'list'> is not a dtype|ruda has no dtype object"),
        (None, "struct S has no fields"),
    ],
)
def test_structs_that_are_refused(annotation, message):
    fields = {} if annotation is None else {"x": annotation}
    with pytest.raises(DtypeError, match=message):
        dsl.struct(type("S", (), {"__annotations__": fields}))
