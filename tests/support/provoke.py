"""Programs that go wrong, as a newcomer could have written them; each raises one class of error."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import ruda
from ruda import cache, dsl, ir
from ruda.errors import DeviceFault, ForkError, ServerUnhealthy
from ruda.host import ComputeClient
from ruda.ir.verify import verify
from ruda.passes import legalize
from ruda.reference.device import ReferenceDevice, ReferenceOptions
from ruda.reference.runtime import ReferenceRuntime
from ruda.types import f32, i32
from ruda_driver_cpu import llvm

HEAD = "@ruda.kernel\ndef scale(a, n):\n"


def define(body: str, before: str = "", head: str = HEAD) -> Any:
    """``scale`` of the file ``user.py``."""
    text = before + head + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache["user.py"] = (len(text), None, text.splitlines(keepends=True), "user.py")
    space: dict[str, Any] = {"ruda": ruda, "dsl": dsl, "np": np, "__name__": "user"}
    exec(compile(text, "user.py", "exec"), space)
    return space["scale"]


def run(body: str, n: Any = 3, before: str = "", head: str = HEAD, client: str = "reference") -> Any:
    """What ``scale`` makes of 4 zeros with 4 threads, out-of-range accesses reported."""
    a = ruda.client(client).zeros(4, "f32")
    define(body, before, head).validate[1, 4](a, n)
    return a.numpy()


def _function_with_a_large_array() -> None:
    pos = ir.Pos("user.py", 2)
    table = ir.LocalArray("table", f32, (20_000,))
    body = ir.Block((ir.DeclareArray(table, pos=pos), ir.Return(pos=pos)))
    function = ir.Function("smooth", (), (), body, pos)
    kernel = ir.Kernel("scale", (), (1, 1, 1), i32, (), ir.Block(), (function,), pos=pos)
    flat = replace(kernel, flat=True, bounds="unchecked")
    llvm.emit(flat, target="cpu:x86-64-v3", triple="x86_64-unknown-linux-gnu", hardware_fma=True, vectors=(16, 32))


def _kernel_without_f64() -> None:
    client = ruda.client("reference")
    kernel = define("x = dsl.f64(a[0])\na[0] = x * n")
    text = kernel.ir(client.zeros(4, "f32"), 3)
    target = replace(client.target, name="wgpu:default", dtypes=frozenset({"bool", "i32", "u32", "f32"}))
    legalize.lower(ir.text.parse(text), target)


def _illegal_kernel() -> None:
    a = ir.Array("a", f32, 1)
    store = ir.Store(a, (ir.Const(i32, 0),), (ir.Const(i32, 1),), pos=ir.Pos("user.py", 3))
    verify(ir.Kernel("scale", (a,), (1, 1, 1), i32, (), ir.Block((store,)), pos=ir.Pos("user.py", 2)))


def _too_much_memory() -> None:
    ruda.client("reference").empty(1 << 60, "f32")


def _with_setting(name: str, value: str) -> None:
    """Launch, and ask for the default client, under a variable."""
    with mock.patch.dict(os.environ, {name: value}):
        define("a[0] = n")[1, 1](_a(), 1)
        ruda.client()


def _forked() -> None:
    """Use a client of a device that does not survive a fork in the child; the parent raises what the child saw."""
    target = replace(ReferenceRuntime.target(ReferenceDevice(0)), features=frozenset())
    options = ReferenceOptions()
    server = ReferenceRuntime.open(ReferenceDevice(0), options)
    client = ComputeClient(ReferenceDevice(0), target, ReferenceRuntime.compiler(target), server, options)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            client.zeros(3, "f32")
        except ForkError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        seen = file.read()
    os.waitpid(child, 0)
    client.close()
    raise ForkError(seen)


def _lost_device() -> None:
    """Wait for a GPU whose driver reports an illegal address; of the driver there is no more than that."""
    from ruda_driver_cuda import driver  # the only program here that needs this distribution
    from ruda_driver_cuda.context import Context

    status = IntEnum("CUresult", {"CUDA_SUCCESS": 0, "CUDA_ERROR_ILLEGAL_ADDRESS": 700})
    cu = SimpleNamespace(
        cuDeviceGet=lambda index: (status.CUDA_SUCCESS, index),
        cuDevicePrimaryCtxRetain=lambda device: (status.CUDA_SUCCESS, 1),
        cuuint64_t=int,
        cuGetProcAddress=lambda name, version, flags: (status.CUDA_SUCCESS, 1, 0),
        cuGetErrorString=lambda error: (status.CUDA_SUCCESS, b"an illegal memory access was encountered"),
    )
    with mock.patch.object(driver, "load", return_value=cu):
        context = Context(0)
    context.suspects = lambda: ("scale", "shift")

    def cuStreamSynchronize(stream: int) -> tuple[Any]:  # noqa: N802 - the driver's name
        return (status.CUDA_ERROR_ILLEGAL_ADDRESS,)

    context.call(cuStreamSynchronize, 0)


def _index_that_disagrees() -> None:
    """Launch where the cache's index was made by a ruda with a bug."""
    other = SimpleNamespace(dump=lambda: b"other facts")
    verify = mock.patch.dict(os.environ, {"RUDA_CACHE_VERIFY": "1"})
    with verify, mock.patch.object(cache, "recall", return_value=other):
        define("a[0] = n")[1, 1](_a(), 1)


def _a(**facts: Any) -> Any:
    return ruda.client("reference").zeros(facts.get("shape", 4), facts.get("dtype", "f32"))


PROGRAMS: dict[str, Callable[[], Any]] = {
    "syntax": lambda: run("total = 0\ntry:\n    total += a[0]\nexcept IndexError:\n    pass"),
    "syntax in a call": lambda: run("a[0] = sum([a[1], a[2]])"),
    "syntax of a barrier": lambda: run("if dsl.thread_idx.x < 2:\n    dsl.barrier()"),
    "syntax of recursion": lambda: run(
        "a[0] = down(n)", before="@dsl.func\ndef down(n):\n    return down(n - 1) if n > 0 else 0\n\n"
    ),
    "type": lambda: run("for i in range(n):\n    a[i / 2] = 1"),
    "type of a store": lambda: run("counts = dsl.local(4, dsl.i32)\ncounts[0] = a[0] * 0.5"),
    "type of two operands": lambda: run("x = dsl.u32(n) + dsl.i32(n)"),
    "type of a variable": lambda: run("best = dsl.i32(0)\nif n > 1:\n    best = a[1]"),
    "type in a function": lambda: run("a[0] = twice(n, 2)", before="@dsl.func\ndef twice(x):\n    return x + x\n\n"),
    "type of an array": lambda: run("a[0] = a + 1"),
    "type of a length": lambda: run("a[0] = len(n)"),
    "type of a part": lambda: run("if n > 1:\n    z = ((1, 2), n)\nelse:\n    z = (3, n)\na[0] = z[1]"),
    "type of a number in a part": lambda: run("if n > 1:\n    z = (1, n)\nelse:\n    z = (1, a[0])\na[0] = z[1]"),
    "type of a part of a result": lambda: run(
        "a[0] = pair(n)[1]",
        before="@dsl.func\ndef pair(n):\n    if n > 1:\n        return 1, 2\n    return 1, (2, 3)\n\n",
    ),
    "type of text": lambda: run("a[0] = 'zero'"),
    "name": lambda: run("i = dsl.globl_idx.x\na[i] = n"),
    "name of an axis": lambda: run("a[0] = dsl.thread_idx.w"),
    "name of an item": lambda: run("a[0] = dsl.grid(2).x"),
    "name of numba": lambda: run("i = cuda.threadIdx.x\na[i] = n"),
    "name that is unset": lambda: run("for i in range(n):\n    total += a[i]\na[0] = total"),
    "value": lambda: run("x = dsl.u8(n) + 300"),
    "value of an index": lambda: run("a[-1] = 0"),
    "value of a shape": lambda: run("s = dsl.shared((4, 0), dsl.f32)"),
    "compilation": _function_with_a_large_array,
    "unsupported": _kernel_without_f64,
    "validation": _illegal_kernel,
    "launch": lambda: define("a[0] = n")[4],
    "launch of floats": lambda: define("a[0] = n")[10 / 4, 4],
    "argument": lambda: run("a[0] = n[0]", np.zeros(3)),
    "argument that is too much": lambda: define("a[0] = n")[1, 1](_a(), 1, 2),
    "argument of another dtype": lambda: define(
        "a[0] = n", head="@ruda.kernel\ndef scale(a: dsl.Array[dsl.f64], n):\n"
    )[1, 1](_a(), 1),
    "argument that is missing": lambda: define("a[0] = n")[1, 1](_a()),
    "argument that does not fit": lambda: define("a[0] = n", head="@ruda.kernel\ndef scale(a, n: dsl.u8):\n")[1, 1](
        _a(), 256
    ),
    "argument without a grid": lambda: define("a[0] = n")(_a(), 3),
    "resources of a block": lambda: define("a[0] = n")[1, 5000](_a(), 3),
    "resources of shared memory": lambda: define("s = dsl.shared((512, 512), dsl.f64)\ns[0, 0] = 1")[1, 1](_a(), 3),
    "array": lambda: _a().copy_(np.zeros(5, np.float32)),
    "array that is indexed": lambda: _a()[[0, 1]],
    "dtype": lambda: ruda.client("reference").array(np.zeros(3, np.complex64)),
    "dtype by name": lambda: ruda.client("reference").zeros(3, "int128"),
    "dtype by a code of NumPy": lambda: ruda.client("reference").zeros(3, "f8"),
    "interop": lambda: ruda.client("reference").from_dlpack(object()),
    "memory": _too_much_memory,
    "setting": lambda: _with_setting("RUDA_BOUNDS", "none"),
    "setting of the device": lambda: _with_setting("RUDA_DEVICE", "gpu:x"),
    "fork": _forked,
    "device that is lost": _lost_device,
    "cache": _index_that_disagrees,
    "driver": lambda: ruda.client("hip"),
    "driver that is misspelt": lambda: ruda.client("cdua"),
    "device": lambda: ruda.client("reference:7"),
    "out of bounds": lambda: run("a[dsl.global_idx.x + 1] = n"),
    "assertion": lambda: run("i = dsl.global_idx.x\nassert i < 2, f'thread {i} of {n}'"),
    "divergence": lambda: run("if a[dsl.global_idx.x] < dsl.global_idx.x % 2:\n    dsl.barrier()\n    a[0] = 1"),
}


def text(error: BaseException) -> str:
    """What Python prints of an error, without the traceback, and of a group what is in it."""
    lines = [str(error), *getattr(error, "__notes__", ())]
    if isinstance(error, ServerUnhealthy):
        lines += [f"| {type(inner).__name__}: {inner}" for inner in error.exceptions if isinstance(inner, DeviceFault)]
    text = "\n".join(lines).replace(str(cache.folder()), "CACHE").replace(os.sep, "/")
    # What differs between machines, or grows while a process runs.
    for varying in (r"(?<=holds )\d+", r"\d+(?= reserved)", r"(?<=block )\d+(?=, device)", r"(?<=total )\d+"):
        text = re.sub(varying, "...", text)
    return re.sub(r"(?<=CACHE/)[0-9a-f]+", "...", text)
