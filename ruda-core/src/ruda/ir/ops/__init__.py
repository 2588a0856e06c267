"""The op table, a module a section; importing this package fills ``OPS``."""

from ruda.ir.ops import arithmetic, atomic, bits, compare, convert, floats, functions, subgroup, topology
from ruda.ir.ops.atomic import ATOMICS, AtomicOp
from ruda.ir.ops.subgroup import SUBGROUPS, SubgroupOp
from ruda.ir.ops.table import EXACT, OPS, Op

SECTIONS = tuple(
    m.__name__.rpartition(".")[2]
    for m in (arithmetic, bits, compare, floats, functions, convert, topology, atomic, subgroup)
)

__all__ = ["ATOMICS", "EXACT", "OPS", "SECTIONS", "SUBGROUPS", "AtomicOp", "Op", "SubgroupOp"]
