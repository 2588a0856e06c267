"""From kernel text to checked results: outputs are poisoned, guarded on both sides, and looked after.

A generated test is a list of :class:`Check` (an expression of the operands
``x``, ``y``, ``z`` and the condition ``p``). Checks of one operand type share
kernels, so that a slow compiler is called seldom; where a shared kernel
cannot be compiled, each check is tried alone, so that only the guilty fail.
"""

from __future__ import annotations

import itertools
import json
import linecache
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ruda
from ruda import dsl
from ruda.errors import RudaError, ServerUnhealthy
from ruda.host import Array
from ruda.host.client import ComputeClient
from ruda.types import ScalarType

A = npt.NDArray[Any]

#: Byte that outputs and guards are filled with: no sensible result has it everywhere.
POISON = 0xA5
_GUARD = 64  # elements on each side
_SECONDS = 120  # that a script may take
_numbers = itertools.count()


def define(text: str, name: str = "kernel", **names: Any) -> Any:
    """The function ``name`` of ``text``, whose source the front end can find.

    Args:
        name: which function of the text.
        text: Python source; ``kernel`` (the decorator), ``dsl``, ``math`` and ``numpy`` are in scope.
        names: further globals.
    """
    file = f"<kernel text {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"kernel": ruda.kernel, "dsl": dsl, "math": math, "numpy": np, "__name__": __name__}
    space |= names
    exec(compile(text, file, "exec"), space)
    return space[name]


def poisoned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> A:
    """A host array whose every byte is the poison."""
    size = math.prod(shape) * dtype.itemsize
    return np.full(size, POISON, np.uint8).view(dtype).reshape(shape)


class Guarded:
    """An output on the device, in the middle of a poisoned allocation."""

    def __init__(self, client: ComputeClient, shape: tuple[int, ...], type: ScalarType) -> None:
        self.shape = shape
        self._count = math.prod(shape)
        self._whole = client.array(poisoned((self._count + 2 * _GUARD,), type.dtype))
        self.array: Array = self._whole[_GUARD : _GUARD + self._count].reshape(shape)

    def numpy(self) -> A:
        """The output on the host; fails if a byte outside it has changed."""
        host = self._whole.numpy()
        for side in (host[:_GUARD], host[_GUARD + self._count :]):
            assert np.all(side.view(np.uint8) == POISON), "a kernel wrote outside its output"
        return host[_GUARD : _GUARD + self._count].reshape(self.shape)


def guarded(client: ComputeClient, shape: int | tuple[int, ...], dtype: Any) -> Guarded:
    """A guarded, poisoned output of ``shape`` and ``dtype``."""
    return Guarded(client, (shape,) if isinstance(shape, int) else shape, ruda.types.as_type(dtype))


def faults(call: Callable[[], object]) -> list[Exception]:
    """The faults that ``call``, which looks at the device, raises as a group."""
    with pytest.raises(ServerUnhealthy) as caught:
        call()
    return list(caught.value.exceptions)


def in_process(script: str, client: ComputeClient, folder: Path, status: int = 0, **variables: str) -> Any:
    """What a script prints last, as JSON, in a process of its own that exits with ``status`` and is quiet on stderr.

    Args:
        script: its text; ``sys.argv[1]`` names the client's device.
        client: what the script is to open.
        folder: the folder that it runs in.
        status: the exit status that it has to have.
        variables: further variables of its environment.
    """
    file = folder / "script.py"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file), str(client.device)],
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == status, f"the process ended with {done.returncode}: {done.stderr}"
    assert done.stderr == ""
    return json.loads(done.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Check:
    """One expression to compute for every row of the operands.

    Attributes:
        label: names the check in messages.
        expr: kernel text.
        to: the type of the result.
        want: the expected results, one a row.
    """

    label: str
    expr: str
    to: ScalarType
    want: Any


def evaluate(
    client: ComputeClient, checks: Sequence[Check], operands: Mapping[str, A], *, group: int = 12, lanes: int = 1
) -> dict[str, Any]:
    """Compute every check; label to the results, or to the exception that kept it from running.

    Args:
        client: where.
        checks: what.
        operands: name (``x``, ``y``, ``z``, ``p``) to one value a row.
        group: checks a kernel.
        lanes: above 1, each thread computes on vectors of so many rows, whose number is a multiple of it; ``p`` is
            that of the first.
    """
    results: dict[str, Any] = {}
    arrays = {name: client.array(values) for name, values in operands.items()}
    for start in range(0, len(checks), group):
        shared = checks[start : start + group]
        try:
            results.update(_run(client, shared, arrays, lanes))
        except RudaError:
            for check in shared:
                try:
                    results.update(_run(client, [check], arrays, lanes))
                except RudaError as error:
                    results[check.label] = error
    return results


def _run(client: ComputeClient, checks: Sequence[Check], operands: Mapping[str, Array], lanes: int) -> dict[str, A]:
    types = list(dict.fromkeys(check.to for check in checks))
    rows = {t: [c for c in checks if c.to == t] for t in types}
    params = [f"a_{name}" for name in operands] + [f"out_{t}" for t in types]
    lines = ["@kernel", f"def kernel({', '.join(params)}):", "    i = dsl.global_idx.x"]
    for name, array in operands.items():
        parts = ", ".join(f"a_{name}[i * {lanes} + {lane}]" for lane in range(lanes))
        whole = f"dsl.Vec[dsl.{array.elem}, {lanes}]({parts})"
        one = f"a_{name}[i * {lanes}]" if lanes > 1 else f"a_{name}[i]"
        lines.append(f"    {name} = {whole if lanes > 1 and name != 'p' else one}")
    for t in types:
        for k, check in enumerate(rows[t]):
            if lanes == 1:
                lines.append(f"    out_{t}[{k}, i] = {check.expr}")
                continue
            lines.append(f"    result = {check.expr}")
            lines += [f"    out_{t}[{k}, i * {lanes} + {lane}] = result[{lane}]" for lane in range(lanes)]
    count = next(iter(operands.values())).shape[0]
    outputs = {t: guarded(client, (len(rows[t]), count), t) for t in types}
    run = define("\n".join(lines) + "\n")
    run.forall(count // lanes)(*operands.values(), *(o.array for o in outputs.values()))
    found = {t: output.numpy() for t, output in outputs.items()}
    return {c.label: found[t][k] for t in types for k, c in enumerate(rows[t])}
