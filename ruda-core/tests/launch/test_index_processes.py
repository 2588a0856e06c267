"""Processes that share the cache's second index."""

import os
import subprocess
import sys

WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from ruda import cache, registry
from ruda.launch import compilation
compilation.software = lambda package: package
import closures
client = registry.client("reference")
found = []
for kernel in closures.KERNELS:
    out = client.zeros(1, "f32")
    kernel[1, 1](out)
    found.append(out.item())
figures = cache.stats()["reference"]
print(found, figures.compiled, figures.disk_hits, figures.index_hits)
"""
CLOSURES = """
import ruda
from ruda import dsl
SCALE = {scale}

@dsl.func
def triple(x):
    return x * 3 {more}

@dsl.func
def half(x):
    return x / 2

def factory(value, op, table):
    @ruda.kernel
    def kernel(out):
        out[0] = op(value) * SCALE + table[1]
    return kernel

KERNELS = [factory(*a) for a in [(4, triple, (0, 1)), (8, triple, (0, 1)), (8, half, (0, 1)), (8, half, (0, 2))]]
"""


def process(tmp_path, seed="random", scale=1, more=""):
    (tmp_path / "closures.py").write_text(CLOSURES.format(scale=scale, more=more))
    env = os.environ | {"PYTHONHASHSEED": seed}
    command = [sys.executable, "-W", "error", "-B", "-c", WORKER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_closures_of_one_factory_from_a_warm_cache(tmp_path):
    """Values, functions and tuples of the cells; globals and helpers that were edited in between."""
    assert process(tmp_path, "0") == "[13.0, 25.0, 5.0, 6.0] 4 0 0"
    assert process(tmp_path, "1") == "[13.0, 25.0, 5.0, 6.0] 0 4 4"
    assert process(tmp_path, scale=2) == "[25.0, 49.0, 9.0, 10.0] 3 1 0", "25.0 was there"
    assert process(tmp_path, more="+ 1") == "[14.0, 26.0, 5.0, 6.0] 2 2 2"
    assert process(tmp_path) == "[13.0, 25.0, 5.0, 6.0] 0 4 4"


STORM = """
import sys
from ruda import cache, registry
from ruda.launch import compilation
compilation.software = lambda package: package
import linecache, ruda
client = registry.client("reference")
seed = int(sys.argv[1])
for round in range(6):
    for i in range(8):
        n = (i + seed) % 8
        text = f"def k(out):\\n    out[0] = {n} * 3\\n"
        name = f"<kernel {n}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        space = {}
        exec(compile(text, name, "exec"), space)
        out = client.zeros(1, "i32")
        ruda.kernel(space["k"])[1, 1](out)
        assert out.item() == n * 3, (n, out.item())
    if seed == 0:
        cache.clear()
"""


def test_processes_on_one_cold_cache():
    """Right results in all of them, also while one clears the cache and two are killed."""
    workers = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", STORM, str(seed)], stderr=subprocess.PIPE, text=True)
        for seed in range(6)
    ]
    for worker in workers[4:]:
        try:
            worker.wait(1.5)
        except subprocess.TimeoutExpired:
            worker.kill()
    for worker in workers[:4]:
        assert worker.communicate(timeout=120)[1] == "" and worker.returncode == 0
    for worker in workers[4:]:
        worker.communicate()
