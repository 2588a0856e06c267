"""Grid and block: what a launch may say, folding, and the limits by name and figure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import LaunchError, TooManyResources
from ruda.launch.grid import as_dims, as_extents, fitted, forall_grid
from ruda.target import Limits

LIMITS = Limits(max_grid=(1000, 100, 10), max_block=(512, 256, 64), max_threads=512, shared_memory=4096)


@pytest.mark.parametrize(
    ("value", "dims"),
    [(5, (5, 1, 1)), ((5,), (5, 1, 1)), ((2, 3), (2, 3, 1)), ([2, 3, 4], (2, 3, 4)), (True, (1, 1, 1))],
)
def test_dims(value, dims):
    assert as_dims("grid", value) == as_dims("block", value) == dims


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "at least"),
        ((1, -2), "at least"),
        ((), "1 to 3 ints"),
        ((1, 2, 3, 4), "1 to 3 ints"),
        (2.0, "write // instead of /"),
        ((1, 2.5), "write // instead of /"),
        ("4", "not an integer"),
        (None, "not an integer"),
    ],
)
def test_bad_dims(value, message):
    for what in ("grid", "block"):
        with pytest.raises(LaunchError, match=message) as caught:
            as_dims(what, value)
        assert what in str(caught.value)


def test_a_grid_may_be_empty_and_a_block_may_not():
    assert as_dims("grid", (3, 0)) == (3, 0, 1)
    with pytest.raises(LaunchError, match="at least 1"):
        as_dims("block", (3, 0))


@pytest.mark.parametrize(
    ("grid", "block", "resource", "requested", "maximum"),
    [
        ((1, 1, 1), (513, 1, 1), "block x", 513, 512),
        ((1, 1, 1), (1, 257, 1), "block y", 257, 256),
        ((1, 1, 1), (1, 1, 65), "block z", 65, 64),
        ((1, 1, 1), (32, 17, 1), "threads per block", 544, 512),
        ((1, 101, 1), (1, 1, 1), "grid y", 101, 100),
        ((1, 1, 11), (1, 1, 1), "grid z", 11, 10),
        ((1001, 2, 1), (1, 1, 1), "grid x", 1001, 1000),
        ((100_001, 1, 1), (1, 1, 1), "grid x", 100_001, 1000),
        ((1009, 1, 1), (1, 1, 1), "grid x", 1009, 1000),
    ],
)
def test_limits_are_named_with_figures(grid, block, resource, requested, maximum):
    with pytest.raises(TooManyResources, match=resource) as caught:
        fitted(grid, block, LIMITS, guarded=False)
    assert (caught.value.resource, caught.value.requested, caught.value.maximum) == (resource, requested, maximum)


@given(st.integers(1001, 100_000))
def test_folding(blocks):
    """A folded grid has every block, keeps the limits, and has blocks left over only where the kernel is guarded."""
    grid, folded = fitted((blocks, 1, 1), (1, 1, 1), LIMITS, guarded=True)
    assert folded and grid[0] <= 1000 and grid[1] <= 100 and blocks <= math.prod(grid) < blocks + grid[1]
    try:
        grid, folded = fitted((blocks, 1, 1), (1, 1, 1), LIMITS, guarded=False)
    except TooManyResources:
        assert not any(blocks % rows == 0 and blocks // rows <= 1000 for rows in range(1, 101))
    else:
        assert folded and math.prod(grid) == blocks and grid[0] <= 1000 and grid[1] <= 100


@given(st.lists(st.integers(1, 700), min_size=1, max_size=3).map(tuple))
def test_forall_covers_its_extents(extents):
    grid, block = forall_grid(extents, LIMITS)
    threads = [g * b for g, b in zip(grid, block)]
    assert all(t - b < n <= t for n, t, b in zip(extents, threads, block))
    assert math.prod(block) <= 512
    small = Limits(max_grid=(9, 9, 9), max_block=(7, 3, 1), max_threads=5, shared_memory=0)
    assert math.prod(forall_grid(extents, small)[1]) <= 5


def test_the_last_axis_of_a_shape_is_x():
    assert as_extents((4, 6)) == (6, 4)
    assert as_extents(7) == (7,)
    for bad in (-1, (1, 2, 3, 4), 2.5):
        with pytest.raises(LaunchError, match="forall"):
            as_extents(bad)
