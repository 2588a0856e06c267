"""Reports become statements on the ring: what is in it afterwards, and what stays untouched."""

import struct

import numpy as np
import pytest

from ruda import ir
from ruda.errors import ValidationError
from ruda.ir import text, walk
from ruda.ir.verify import verify
from ruda.passes import bounds, diagnostics, pipeline
from ruda.passes.diagnostics import HEADER, Site, Table
from ruda.reference.runtime import TARGET
from ruda.types import bool_, f32, f64, i8, i32, i64, u8, u32

SAY = """\
let %i: i32 = global_idx_x.i32()
print "i = {}\\n" (%i) !0:3:0-4
if lt.bool(%i, i32(2)) {
assert "no" () !0:4:0-4
} else {
}"""


def ring(words):
    made = np.full(words, 0xA5A5A5A5, np.uint32)
    made[:HEADER] = HEADER, 0, 0, 0
    return made


def records(words, *sizes):
    """Consecutive records of these sizes after the header, as lists."""
    at, found = HEADER, []
    for size in sizes:
        found.append(words[at : at + size].tolist())
        at += size
    return found


def test_a_kernel_that_says_nothing_stays_as_it_is(kernel):
    k = kernel("load %v: i32 = @x[i32(0)]", "array @x i32 rank 1 c align 4", bounds="checked")
    assert diagnostics.lower(k, accesses=False) == (k, None)
    assert diagnostics.lower(k, accesses=False)[0] is k
    for mode in ("checked", "unchecked"):
        silent = kernel("store @x[i32(9)] = i32(1)", "array @x i32 rank 1 c align 4", bounds=mode)
        lowered = pipeline.lower(silent, TARGET)
        assert lowered.diagnostics is None
        assert [p.name for p in lowered.kernel.params] == ["x"]


@pytest.mark.parametrize("lowered", [False, True])
def test_the_records_of_a_launch(kernel, run, lowered):
    """Launch, site, block, thread, values; in the front end's IR as in the lowered one."""
    k = kernel(SAY, block="3 1 1", bounds="checked")
    done = pipeline.lower(k, TARGET) if lowered else pipeline.reported(k)
    assert [p.name for p in done.kernel.params] == ["$diagnostics", "$launch"]
    assert not any(isinstance(s, ir.Report) for s in walk(done.kernel.body))
    assert done.diagnostics == Table(
        "k",
        (3, 1, 1),
        i32,
        (Site("print", "user.py:3", "i = {}\n", (i32,)), Site("assert", "user.py:4", "no", ())),
    )
    (words,), _ = run(done.kernel, 2, ring(100), 77)
    prints = records(words, *[7] * 6)
    assert sorted(prints, key=lambda r: r[-1]) == [[77, 0, b, 0, 0, t, 3 * b + t] for b in range(2) for t in range(3)]
    assert sorted(records(words[6 * 7 :], 6, 6)) == [[77, 1, 0, 0, 0, 0], [77, 1, 0, 0, 0, 1]]
    assert words[:HEADER].tolist() == [HEADER + 6 * 7 + 2 * 6, 0, 0, 0]


def test_records_that_do_not_fit_are_counted(kernel, run):
    """The end is marked where the first of them would have been, and the head goes no further than it must."""
    k = pipeline.reported(kernel(SAY.split("\nif")[0], block="1 1 1")).kernel
    (words,), _ = run(k, 1, ring(HEADER + 7 + 3), 1)
    assert words[:HEADER].tolist() == [HEADER + 7, 0, 0, 0]
    (words,), _ = run(k, 5, ring(HEADER + 2 * 7 + 3), 1)
    assert words[1] == 3
    assert records(words, 7, 7) == [[1, 0, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0, 1]]
    assert words[HEADER + 14] == 0, "the end"
    assert HEADER + 14 < words[0] <= HEADER + 5 * 7
    (words,), _ = run(k, 2, ring(HEADER + 7), 1)
    assert records(words, 7) == [[1, 0, 0, 0, 0, 0, 0]]
    assert words.size == HEADER + 7 and words[1] == 1


def test_words_of_values(kernel, run):
    """64 bits take two words, the low one first; the others one, their bits in its low end."""
    body = 'print "{}{}{}{}{}" (i8(-2), i64(-3), f32(0x1.8p+0), f64(-0x1.8p+0), bool(true))'
    done = pipeline.reported(kernel(body, block="1 1 1", index="i64"))
    assert done.diagnostics.sites[0].types == (i8, i64, f32, f64, bool_)
    (words,), _ = run(done.kernel, 1, ring(64), 5)
    (record,) = records(words, 1 + 1 + 6 + 1 + 7)
    assert record[:9] == [5, 0, 0, 0, 0, 0, 0, 0, 0]
    assert record[9] & 0xFF == 0xFE
    assert struct.pack("<6I", *record[10:]) == struct.pack("<qfdI", -3, 1.5, -1.5, 1)


ARRAYS = ("array @a i32 rank 2 c align 4", "shared @s f32 [8]")


def test_the_first_access_outside(kernel, run):
    """Once a launch; the access itself stays guarded. Indices come first, then the lengths that are not constant."""
    body = "store @a[i32(-1), global_idx_x.i32()] = i32(1) !0:7:0-4\nstore @s[u8(9)] = f32(0x0p+0) !0:8:0-4"
    k = kernel(body, *ARRAYS, block="4 1 1", bounds="validate")
    done = pipeline.lower(k, TARGET)
    assert done.diagnostics.sites == (
        Site("bounds", "user.py:7", "argument a", (i32, i32, i32, i32), (None, None)),
        Site("bounds", "user.py:8", "shared array s", (u8,), (8,)),
    )
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    (after, words), faults = run(done.kernel, 3, a, ring(64), 9)
    assert (after == a).all() and not faults
    assert words[:HEADER].tolist() == [HEADER + 10, 0, 9, 0]
    assert records(words, 10)[0] == [9, 0, 0, 0, 0, 0, 0xFFFFFFFF, 0, 2, 3]
    again = ring(64)
    again[2] = 9
    (_, words), _ = run(done.kernel, 3, a, again, 9)
    assert words[0] == HEADER, "this launch has its record"


def test_accesses_that_cannot_leave_cost_nothing(kernel):
    k = kernel("store @s[u32(7)] = f32(0x0p+0)\nload %v: f32 = @s[i32(3)]", *ARRAYS[1:], bounds="validate")
    lowered, table = diagnostics.lower(bounds.lower(k), accesses=True)
    assert table is None
    assert not any(isinstance(s, ir.If) for s in walk(lowered.body))


def test_pure_functions_stay_pure(kernel):
    """They cannot reach the ring: their own arrays are checked and nothing is recorded."""
    function = (
        "function f(%i: i32) -> (i32) {\nlocal @l i32 [4]\nload %v: i32 = @l[%i]\nreturn (%v)\n}",
        "array @x i32 rank 1 c align 4",
    )
    k = kernel("call (%r: i32) = f(i32(9))\nstore @x[i32(0)] = %r", *function, bounds="validate")
    lowered, table = diagnostics.lower(bounds.lower(k), accesses=True)
    assert lowered.functions[0].body.statements[1].guard is not None
    assert [site.template for site in table.sites] == ["argument x"]


def test_equal_sites_are_one(kernel):
    """A loop that is written out says the same in each round."""
    k = kernel("\n".join(['print "x" () !0:3:0-4'] * 5 + ['print "x" () !0:4:0-4']))
    assert len(diagnostics.lower(k, accesses=False)[1].sites) == 2


def test_a_table_survives_its_text():
    table = Table(
        "k é",
        (4, 2, 1),
        i64,
        (Site("print", "a b.py:3", 'x = "{:>5}"\n', (f32,)), Site("bounds", "u:1", "argument a", (i8, u32), (None, 3))),
    )
    assert Table.parse(table.dump()) == table
    assert table.dump() == Table.parse(table.dump()).dump()


@pytest.mark.parametrize(
    ("report", "rule"),
    [
        ('print "{}" ()', "0 values for the 1 fields"),
        ('print "{x}" (i32(1))', "has a name"),
        ('print "{:{}}" (i32(1))', "fields of its own"),
        ('assert "}" ()', "no format string"),
        ('print "{}" (%missing)', "a value defined above"),
    ],
)
def test_illegal_reports(kernel, report, rule):
    with pytest.raises(ValidationError, match=rule):
        kernel(report)


def test_a_function_reports_nothing(kernel):
    function = ('function f() -> () {\nprint "x" ()\nreturn ()\n}',)
    with pytest.raises(ValidationError, match="a function prints and asserts nothing"):
        kernel("call () = f()", *function)


def test_reports_round_trip(kernel):
    k = kernel('print "a\\"{:>3}{{}}\\n é" (i32(1)) !0:3:0-4\nassert "x" () !0:4:0-4')
    assert text.parse(text.dump(k)) == k
    verify(k)
