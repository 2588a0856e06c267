"""The ring of a stream: made on first need, read where the host looks, in order, and gone afterwards."""

import struct
import subprocess
import sys

import numpy as np
import pytest

import ruda
from ruda.contract import RuntimeOptions
from ruda.errors import KernelAssertionError, OutOfBoundsError, RudaError, ServerUnhealthy, TooManyResources
from ruda.passes.diagnostics import HEADER, Site, Table
from ruda.target import Limits
from ruda.types import bf16, f32, i32, i64

TABLE = Table(
    "k",
    (2, 3, 1),
    i32,
    (
        Site("print", "u.py:3", "{}|", (f32,)),
        Site("assert", "u.py:4", "x is {}", (i64,)),
        Site("bounds", "u.py:5", "argument a", (i32, i32, i32), (None, 4)),
    ),
)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def fill(client, stream, records, table=TABLE):
    """Do what a launch would do: take part in the ring, and leave ``records`` after those that are there."""
    ring = client.ring(stream)
    with client.owning(stream, (ring.memory,)):
        packed, _ = ring.enter(table)
    address, extent, stride, number = struct.unpack("<Qqqq", packed)
    allocation = ring.memory.allocation
    assert address == allocation.address + ring.memory.offset
    assert (extent, stride) == (client.options.diagnostics_bytes // 4, 1)
    words = allocation.handle[ring.memory.offset :][: 4 * extent].view(np.uint32)
    for record in records:
        words[words[0] : words[0] + 1 + len(record)] = [number, *record]
        words[0] += 1 + len(record)
    return ring


def test_prints_are_in_order(client, capsys):
    """By launch, then block z y x, then thread; one thread's as they came."""
    fill(client, client.stream0, [[0, 1, 0, 0, 0, bits(0.1)], [0, 0, 1, 0, 0, bits(2)], [0, 0, 0, 0, 5, bits(3)]])
    fill(client, client.stream0, [[0, 0, 0, 0, 5, bits(4)], [0, 0, 0, 0, 5, bits(-5)], [0, 0, 0, 0, 1, bits(6)]])
    client.sync()
    assert capsys.readouterr().out == "3.0|0.1|2.0|6.0|4.0|-5.0|"
    client.sync()
    assert capsys.readouterr().out == ""


def test_faults_are_one_a_place(client):
    low, high = 0xFFFFFFFE, 0xFFFFFFFF
    fill(
        client,
        client.stream0,
        [
            [1, 0, 0, 0, 4, 7, 0],
            [1, 0, 0, 0, 3, low, high],
            [2, 1, 2, 3, 5, 0, 4, 9],
            [1, 1, 0, 0, 0, 0, 0],
        ],
    )
    with pytest.raises(ServerUnhealthy) as caught:
        client.sync()
    second, first = caught.value.exceptions
    assert isinstance(first, KernelAssertionError) and isinstance(second, OutOfBoundsError)
    assert str(first) == (
        "u.py:4: in kernel k: assertion failed: x is -2; block (0, 0, 0), thread (1, 1, 0), and 2 more times"
    )
    assert str(second) == (
        "u.py:5: in kernel k: argument a: index 4 of [0, 4] is outside axis 1 of length 4; "
        "block (1, 2, 3), thread (1, 2, 0)"
    )


def test_a_ring_exists_while_it_is_needed(client):
    before = client.memory_usage().bytes_in_use
    assert client.rings == {}
    ring = fill(client, client.stream0, [])
    assert client.ring(client.stream0) is ring
    assert client.memory_usage().bytes_in_use == before + client.options.diagnostics_bytes
    client.sync()
    assert client.rings == {} and not ring.open
    del ring
    assert client.memory_usage().bytes_in_use == before
    client.server.calls.clear()
    client.sync()
    assert [call[0] for call in client.server.calls] == ["synchronize"], "nothing is read where nothing was said"


def test_each_stream_has_its_own(client, capsys):
    one, two = client.stream(), client.stream()
    fill(client, one, [[0, 0, 0, 0, 0, bits(1)]])
    fill(client, two, [[0, 0, 0, 0, 0, bits(2)]])
    two.synchronize()
    assert capsys.readouterr().out == "2.0|"
    one.record().synchronize()
    assert capsys.readouterr().out == "1.0|"


def test_reading_an_array_reads_the_ring(client, capsys):
    array = client.zeros(3, "f32")
    fill(client, client.stream0, [[0, 0, 0, 0, 0, bits(1)]])
    array.numpy()
    assert capsys.readouterr().out == "1.0|"


def test_a_flush_reads_what_is_finished(client, capsys):
    fill(client, client.stream0, [[0, 0, 0, 0, 0, bits(1)]])
    client.server.finished = False
    client.flush()
    client.stream0.flush()
    assert capsys.readouterr().out == ""
    client.server.finished = True
    client.stream0.flush()
    assert capsys.readouterr().out == "1.0|"
    fill(client, client.stream0, [[0, 0, 0, 0, 0, bits(2)]])
    client.flush()
    assert capsys.readouterr().out == "2.0|"


def test_lost_records_are_a_warning(make_client, capsys):
    client = make_client(options=RuntimeOptions(diagnostics_bytes=4 * (HEADER + 6)))
    ring = fill(client, client.stream0, [])
    words = ring.memory.allocation.handle[ring.memory.offset :].view(np.uint32)
    words[HEADER : HEADER + 7] = [1, 0, 0, 0, 0, 0, 0][:6] + [9]
    words[HEADER] = 0  # the end: nothing fitted
    words[:2] = HEADER + 70, 10
    with pytest.warns(RuntimeWarning) as caught:
        client.sync()
    assert str(caught[0].message) == (
        "fake:0: 10 records of print, assert or bounds checks were lost; 40 bytes hold no more: wait for the stream "
        "more often, or open the device with RuntimeOptions(diagnostics_bytes=...)"
    )
    assert capsys.readouterr().out == ""


def test_closing_prints_and_raises_nothing(client, capsys):
    fill(client, client.stream0, [[0, 0, 0, 0, 0, bits(1)], [1, 0, 0, 0, 0, 1, 0]])
    client.close()
    assert capsys.readouterr().out == "1.0|"
    with pytest.raises(RudaError, match="was closed"):
        client.ring(client.stream0)


def test_short_floats(client, capsys):
    """A float is as short as its own type needs, except in a format."""
    table = Table("k", (1, 1, 1), i32, (Site("print", "u:1", "{} {!r} {:.3f}|", (bf16, bf16, bf16)),))
    fill(client, client.stream0, [[0, 0, 0, 0, 0, *[0x3DCD] * 3]], table)
    client.sync()
    assert capsys.readouterr().out == "0.100098 0.100098 0.100|"


@ruda.kernel
def says(n):
    print("n is", n)


@ruda.kernel
def speaks(a):
    print(a[0])


def test_the_ring_counts_as_a_binding(make_client):
    """A device with as many bindings as the kernel has arrays has none left."""
    limits = Limits((9, 9, 9), (64, 1, 1), 64, 4096, bindings=1)
    client = make_client(limits=limits, arguments="bindings")
    with pytest.raises(TooManyResources, match="array arguments: 2 requested, the device allows 1"):
        speaks[1, 1](client.zeros(3, "f32"))


def test_the_ring_is_the_last_binding(make_client):
    client = make_client(limits=Limits((9, 9, 9), (64, 1, 1), 64, 4096, bindings=2), arguments="bindings")
    client.server.executes = False  # the reference takes addresses
    array = client.zeros(3, "f32")
    speaks[1, 1](array)
    (_, _, _, packed, bindings, _), ring = client.server.named("launch")[-1], client.ring(client.stream0)
    assert [b.allocation for b in bindings] == [array.memory.allocation, ring.memory.allocation]
    assert bindings[1].offset + struct.unpack("<Q", packed[24:32])[0] * 4 == ring.memory.offset
    assert struct.unpack("<Q", packed[-8:]) == (1,)


def test_a_launch_that_loses_its_ring_takes_another(monkeypatch, capsys):
    """Somebody reads the ring between the look-up and the launch."""
    client = ruda.client("reference")
    real, seen = client.ring, []

    def ring(stream):
        seen.append(real(stream))
        if len(seen) == 1:
            client.sync()
        return seen[-1]

    monkeypatch.setattr(client, "ring", ring)
    with client:
        says[1, 1](4)
    client.sync()
    assert len(seen) == 2 and seen[0] is not seen[1]
    assert capsys.readouterr().out == "n is 4\n"


WARM = """
import ruda

@ruda.kernel
def kernel(n):
    print("%s", n)

client = ruda.client("%s")
with client:
    kernel[1, 1](5)
client.sync()
stats = ruda.cache.stats()[client.target.driver]
assert stats.compiled == %d, stats
"""


@pytest.mark.parametrize("driver", ["reference", "cpu"])
def test_what_nobody_waited_for_is_printed_at_the_end(driver, tmp_path):
    script = tmp_path / "script.py"
    script.write_text((WARM % ("last", driver, 1)).replace("client.sync()\n", ""))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("last 5\n", "")


@pytest.mark.parametrize("driver", ["reference", "cpu"])
def test_a_warm_process_knows_the_sites(driver, tmp_path):
    """They come with the compiled kernel; a kernel that differs in its words alone is another."""
    script = tmp_path / "script.py"
    for word, compiled in (("one", 1), ("one", 0), ("two", 1), ("one", 0)):
        script.write_text(WARM % (word, driver, compiled))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == (f"{word} 5\n", "")
