"""Every row of the op table in a kernel: constants, scalars and lanes mixed, as the table's reference says."""

import numpy as np
import pytest

from ruda.ir.ops import OPS
from ruda.types import SCALARS, bool_

CASES = [
    (op, t) for op in OPS.values() if op.reference is not None and not op.internal for t in sorted(op.accepts, key=str)
]


def operand(type, seed):
    rng = np.random.default_rng(seed)
    if type == bool_:
        return rng.integers(0, 2, 33).astype(bool)
    if type.is_float:
        return (rng.standard_normal(33) * 3).astype(type.dtype)
    return rng.integers(0, 256, 33 * type.size, np.uint8).view(type.dtype)


@pytest.mark.parametrize(("op", "type"), CASES, ids=[f"{op.name}-{t}" for op, t in CASES])
def test_lanes_and_uniform_operands_mix(bench, op, type):
    to = {"same": type, "bool": bool_}.get(op.result)
    if op.result == "any":
        to = next(t for t in SCALARS if t != bool_ and (t.bits == type.bits or type == bool_))
    types = [bool_, type, type] if op.condition else [type] * op.arity
    columns = [operand(t, seed) for seed, t in enumerate(types)]
    loads = [f"load %v{i}: {t} = @a{i}[thread_idx_x.i32()]" for i, t in enumerate(types)]
    decls = [f"array @a{i} {t} rank 1 c align 1" for i, t in enumerate(types)]
    decls += [f"scalar ^s{i} {t}" for i, t in enumerate(types)] + [f"array @out {to} rank 1 c align 1"]
    for uniform in range(op.arity + 1):
        names = [f"^s{i}" if i == uniform else f"%v{i}" for i in range(op.arity)]
        body = "\n".join([*loads, f"store @out[thread_idx_x.i32()] = {op.name}.{to}({', '.join(names)})"])
        out = np.zeros(33, to.dtype)
        bench.launch(
            bench.kernel(body, *decls, block=(33, 1, 1)), 1, *(c.copy() for c in columns), *(c[4] for c in columns), out
        )
        args = [np.full(33, c[4]) if i == uniform else c for i, c in enumerate(columns)]
        assert out.tobytes() == op.evaluate(*args, to=to).tobytes()
