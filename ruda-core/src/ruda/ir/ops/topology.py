"""Where a thread is. Values of the index type; block dimensions are compile-time constants and need no row."""

from __future__ import annotations

from ruda.ir.ops.table import row

SECTION = "topology"

_DOCS = {
    "thread_idx": "index of the thread in its block",
    "block_idx": "index of the block in the grid",
    "grid_dim": "number of blocks",
    "global_idx": "block_idx * block_dim + thread_idx",
}

for _name, _doc in _DOCS.items():
    for _axis in "xyz":
        row(f"{_name}_{_axis}", SECTION, 0, frozenset(), None, f"{_doc}, axis {_axis}", "index")

row("lane_idx", SECTION, 0, frozenset(), None, "number of the thread in its subgroup", "index")
row("subgroup_idx", SECTION, 0, frozenset(), None, "number of the subgroup in its block", "index")
row("num_subgroups", SECTION, 0, frozenset(), None, "number of subgroups in a block", "index")
