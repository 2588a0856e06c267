"""What is read of a text's PTX: its kernels, their names and parameters."""

import pytest

from ruda.contract import ArgumentLayout
from ruda.types import f32, i32
from ruda_driver_cuda.entries import Parameter, entries, readable


def test_entries_of_ptx():
    found = entries("""
    // .entry comment(.param .u32 x)
    .weak .entry _Z1kPfc(
        .param .u64 .ptr .align 1 _Z1kPfc_param_0,
        .param .u8 _Z1kPfc_param_1,
        .param .align 8 .b8 _Z1kPfc_param_2[24],
        .param .u64 .ptr .global .align 16 d,
        .param .f32 e
    )
    .maxntid 128
    { }
    .visible .entry $none { }
    """)
    assert found["$none"] == ()
    kinds = [(p.text, p.pointer, p.position, p.size) for p in found["_Z1kPfc"]]
    assert kinds == [
        (".u64", True, 0, 8),
        (".u8", False, 8, 1),
        (".b8[24]", False, 16, 24),
        (".u64", True, 40, 8),
        (".f32", False, 48, 4),
    ]
    assert found["_Z1kPfc"][1] == Parameter(".u8", "u", False, 8, 1)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5saxpyfPKfPfi", "saxpy"),
        ("_ZN4blas5mixedEbPd", "blas::mixed"),
        ("_ZN1a1b1cEv", "a::b::c"),
        ("_Z5scaleIfLi4EEvPT_S0_", "scale"),
        ("_Zodd", "_Zodd"),
    ],
)
def test_names_that_people_read(symbol, name):
    assert readable(symbol) == name


def test_the_natural_layout():
    layout = ArgumentLayout.natural([("a", f32), ("x", None), ("n", i32)])
    assert [(s.kind, s.position) for s in layout.slots] == [("scalar", 0), ("address", 8), ("scalar", 16)]
    assert layout.size == 20
    assert ArgumentLayout.natural([]).size == 0
