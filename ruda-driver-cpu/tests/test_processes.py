"""What needs a process of its own: Ctrl-C, fork, exit, and kernels that must not bring the process down."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HEAD = f"""
import os, signal, sys, threading, time
import importlib.util
import numpy as np
spec = importlib.util.spec_from_file_location("bench", {str(Path(__file__).with_name("conftest.py"))!r})
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)
from ruda_driver_cpu.compiler import CpuCompiler
from ruda_driver_cpu.server import CpuServer
from ruda_driver_cpu.targets import target
cpu = bench.Bench(CpuServer(threads=2), CpuCompiler(target("cpu:host")))
X = "array @x i32 rank 1 c align 4"
"""


def run(script, timeout=60, **environment):
    """The output of a Python script, which must exit with 0 and say nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


INTERRUPT = """
kernel = bench.parse(BODY, X, "shared @sh i32 [64]")
program = cpu.load(kernel)
packed, _ = cpu.pack(kernel.params, (np.zeros(64, np.int32),))
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    cpu.server.launch(program, GRID, packed, (), 0)
    print("returned")
except KeyboardInterrupt:
    print("interrupted")
x = np.zeros(1000000, np.int32)
cpu.launch(bench.parse("store @x[global_idx_x.i32()] = i32(1)", X), 20000, x)
print(int(x.sum()))
"""

COUNT = "atomic atomic_add @x[i32(0)] (i32(1))"

ENDLESS = {
    "empty loop": "loop {\n}",
    "wait for memory": """
loop {
  load %v: i32 = @x[i32(0)]
  if ne.bool(%v, i32(0)) {
    break
  } else {
  }
}
""",
    "barrier loop": """
loop {
  store @sh[thread_idx_x.i32()] = i32(1)
  barrier
}
""",
    "long loops": f"""
for %i: i64 = i64(0), i64(1), u64(1000000000000) {{
  for %j: i32 = i32(0), i32(1), u32(100000) {{
    {COUNT}
  }}
}}
""",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_ctrl_c_ends_a_launch_and_the_pool_stays_usable(what):
    assert run(f"BODY, GRID = {ENDLESS[what]!r}, (1000, 1, 1)\n{INTERRUPT}") == "interrupted\n1000000\n"


def test_ctrl_c_ends_a_launch_of_very_many_blocks():
    """Between chunks of blocks; no loop in the kernel."""
    assert run(f"BODY, GRID = {COUNT!r}, (2**31 - 1, 1, 1)\n{INTERRUPT}") == "interrupted\n1000000\n"


def test_a_forked_child_restarts_the_pool():
    script = """
    kernel = bench.parse("store @x[global_idx_x.i32()] = i32(1)", X)
    def check():
        x = np.zeros(1000000, np.int32)
        cpu.launch(kernel, 20000, x)
        return int(x.sum())
    assert check() == 1000000
    child = os.fork()
    if child == 0:
        os._exit(0 if check() == 1000000 else 3)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), check())
    """
    assert run(script) == "0 1000000\n"


def test_exit_is_quiet_while_workers_wait_and_a_daemon_thread_launches():
    script = """
    kernel = bench.parse("store @x[global_idx_x.i32()] = i32(1)", X)
    program = cpu.load(kernel)
    packed, keep = cpu.pack(kernel.params, (np.zeros(1000000, np.int32),))
    def forever():
        while True:
            cpu.server.launch(program, (20000, 1, 1), packed, (), 0)
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.2)
    print("done")
    """
    assert run(script) == "done\n"


BAD = {
    "reads and writes far outside": """
load %a: i32 = @x[i32(2147483647)]
load %b: i32 = @x[sub.i32(global_idx_x.i32(), i32(1000000))]
store @x[mul.i32(global_idx_x.i32(), i32(123456789))] = add.i32(%a, %b)
atomic atomic_add @x[sub.i32(i32(0), global_idx_x.i32())] (i32(1))
""",
    "division by zero and the smallest integer by -1": """
load %z: i32 = @x[i32(5)]
let %q: i32 = floordiv.i32(i32(7), %z)
let %r: i32 = mod.i32(i32(-2147483648), sub.i32(%z, i32(1)))
let %s: i32 = floordiv.i32(i32(-2147483648), sub.i32(%z, i32(1)))
store @x[global_idx_x.i32()] = add.i32(%q, add.i32(%r, %s))
""",
    "undefined shared memory as index and as condition": """
load %u: i32 = @sh[thread_idx_x.i32()]
load %v: i32 = @x[%u]
if gt.bool(%u, i32(3)) {
  store @x[add.i32(%u, %v)] = i32(1)
} else {
}
barrier
store @sh[%u] = %v
""",
    "a divergent barrier in every kind of control": """
if lt.bool(thread_idx_x.i32(), i32(5)) {
  load %k: i32 = @x[thread_idx_x.i32()]
  for %i: i32 = i32(0), i32(1), cast.u32(%k) {
    barrier
  }
  barrier
} else {
  load %m: i32 = @x[i32(0)]
  if gt.bool(add.i32(%m, thread_idx_x.i32()), i32(9)) {
    barrier
  } else {
  }
}
""",
    "wrapping index arithmetic of a 2-D array": """
store @y[mul.i32(global_idx_x.i32(), i32(65537)), mul.i32(global_idx_x.i32(), i32(1073741824))] = i32(1)
""",
    "a huge shift, a cast of NaN": """
load %s: i32 = @x[i32(1)]
let %n: f32 = div.f32(f32(0x0p+0), cast.f32(sub.i32(%s, %s)))
store @x[cast.i32(%n)] = shl.i32(%s, i32(1000))
""",
}


def test_checked_kernels_never_bring_the_process_down():
    script = f"""
    import ruda.passes.pipeline as pipeline
    # What is refused where it can be proven must not crash where it cannot.
    pipeline.divergence.check = lambda kernel, target: None
    for what, body in {BAD!r}.items():
        for block in ((64, 1, 1), (1, 1, 1), (7, 3, 2)):
            kernel = bench.parse(body, X, "array @y i32 rank 2 c align 4", "shared @sh i32 [64]", block=block)
            for grid in (1, 2000):
                cpu.launch(kernel, grid, np.zeros(100, np.int32), np.zeros((10, 10), np.int32))
        print(what)
    """
    assert run(script).splitlines() == list(BAD)
