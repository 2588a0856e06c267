"""Names of other frameworks, answered with ruda's spelling."""

from __future__ import annotations

_THREAD = "a kernel is what one thread does; i = dsl.global_idx.x is its element"
_LOAD = "index the array: a[i] inside `if i < n:`"
_LOOP = "a loop here runs in every thread; use kernel.forall(shape) and i, j = dsl.grid(2)"

#: Framework to the modules that give its names, and the names that such a module usually has.
_ROOTS = {
    "cuda": ("numba.cuda",),
    "tl": ("triton.language",),
    "triton": ("triton",),
    "wp": ("warp",),
    "ti": ("taichi", "quadrants"),
    "jit": ("cupyx.jit",),
    "cp": ("cupy",),
}
_ALIASES = {"warp": "wp", "taichi": "ti", "qd": "ti", "cupy": "cp"}

_HABITS = {
    "cuda.threadIdx": "dsl.thread_idx",
    "cuda.blockIdx": "dsl.block_idx",
    "cuda.blockDim": "dsl.block_dim",
    "cuda.gridDim": "dsl.grid_dim",
    "cuda.grid": "dsl.grid(n)",
    "cuda.gridsize": "dsl.grid_size(n)",
    "cuda.syncthreads": "dsl.barrier()",
    "cuda.shared.array": "dsl.shared(shape, dtype)",
    "cuda.local.array": "dsl.local(shape, dtype)",
    "cuda.const.array_like": "a captured tuple",
    "cuda.atomic": "dsl.atomic",
    "cuda.atomic.add": "dsl.atomic.add(array, index, value)",
    "cuda.atomic.sub": "dsl.atomic.sub(array, index, value)",
    "cuda.atomic.max": "dsl.atomic.max(array, index, value)",
    "cuda.atomic.min": "dsl.atomic.min(array, index, value)",
    "cuda.atomic.exch": "dsl.atomic.exchange(array, index, value)",
    "cuda.atomic.cas": "dsl.atomic.compare_exchange(array, index, expected, new)",
    "cuda.atomic.compare_and_swap": "dsl.atomic.compare_exchange(array, 0, expected, new)",
    "cuda.fma": "dsl.fma(a, b, c)",
    "cuda.popc": "dsl.popcount(x)",
    "cuda.clz": "dsl.clz(x)",
    "cuda.ffs": "dsl.find_first_set(x)",
    "cuda.brev": "dsl.reverse_bits(x)",
    "cuda.selp": "x if condition else y",
    "cuda.cg.this_grid": "launch the kernel once a step: launches run in order",
    "cuda.to_device": "client.array(x) on the host",
    "tl.program_id": "dsl.block_idx.x; " + _THREAD,
    "tl.num_programs": "dsl.grid_dim.x",
    "tl.arange": "dsl.thread_idx.x; " + _THREAD,
    "tl.load": _LOAD,
    "tl.store": "index the array: a[i] = x inside `if i < n:`",
    "tl.constexpr": "dsl.Const[int]",
    "tl.cdiv": "dsl.cdiv(a, b)",
    "tl.where": "x if condition else y",
    "tl.zeros": "0.0, or dsl.local(shape, dtype)",
    "tl.atomic_add": "dsl.atomic.add(array, index, value)",
    "tl.atomic_cas": "dsl.atomic.compare_exchange(array, index, expected, new)",
    "tl.static_range": "dsl.unroll(range(n))",
    "tl.float32": "dsl.f32",
    "triton.cdiv": "dsl.cdiv(a, b)",
    "wp.tid": "dsl.global_idx.x, or i, j = dsl.grid(2)",
    "wp.array": "dsl.Array[dsl.f32]",
    "wp.atomic_add": "dsl.atomic.add(array, index, value)",
    "wp.launch": "kernel.forall(n)(...) on the host",
    "wp.static": "dsl.Const, or a captured constant",
    "ti.static": "dsl.unroll(range(n)) for loops, dsl.Const for values",
    "ti.ndrange": _LOOP,
    "ti.grouped": _LOOP,
    "ti.template": "dsl.Const",
    "ti.cast": "dsl.f32(x)",
    "ti.atomic_add": "dsl.atomic.add(array, index, value)",
    "ti.sync": "dsl.barrier() for a block; launches run in order anyway",
    "ti.random": "a captured or passed seed and integer arithmetic",
    "ti.Vector": "separate variables, or dsl.local(n, dtype)",
    "jit.range": "range(n), or dsl.unroll(range(n))",
    "jit.threadIdx": "dsl.thread_idx",
    "jit.blockIdx": "dsl.block_idx",
    "jit.blockDim": "dsl.block_dim",
    "jit.gridDim": "dsl.grid_dim",
    "jit.grid": "dsl.grid(n)",
    "jit.gridsize": "dsl.grid_size(n)",
    "jit.syncthreads": "dsl.barrier()",
    "jit.shared_memory": "dsl.shared(shape, dtype)",
    "jit.atomic_add": "dsl.atomic.add(array, index, value)",
    "jit.atomic_cas": "dsl.atomic.compare_exchange(array, index, expected, new)",
}

#: Names that frameworks or C put into the kernel's own namespace.
_BARE = {
    "threadIdx": "dsl.thread_idx",
    "blockIdx": "dsl.block_idx",
    "blockDim": "dsl.block_dim",
    "gridDim": "dsl.grid_dim",
    "warpSize": "no fixed number: lanes differ between devices",
    "syncthreads": "dsl.barrier()",
    "__syncthreads": "dsl.barrier()",
    "atomicAdd": "dsl.atomic.add(array, index, value)",
    "atomicSub": "dsl.atomic.sub(array, index, value)",
    "atomicMin": "dsl.atomic.min(array, index, value)",
    "atomicMax": "dsl.atomic.max(array, index, value)",
    "atomicExch": "dsl.atomic.exchange(array, index, value)",
    "atomicCAS": "dsl.atomic.compare_exchange(array, index, expected, new)",
    "get_global_id": "dsl.global_idx.x",
    "get_local_id": "dsl.thread_idx.x",
    "get_group_id": "dsl.block_idx.x",
    "program_id": "dsl.block_idx.x",
    "prange": _LOOP,
}
_BARE.update(
    {
        f"{long}{bits}": f"dsl.{short}{bits}(x)"
        for long, short in (("float", "f"), ("int", "i"), ("uint", "u"))
        for bits in (8, 16, 32, 64)
        if (long, bits) != ("float", 8)
    }
)


def of_module(module: str) -> str | None:
    """The framework whose names a module (``"numba.cuda"``) gives, or None."""
    for framework, modules in _ROOTS.items():
        if any(module == m or module.startswith(m + ".") for m in modules):
            return framework
    return None


def of_root(name: str) -> str | None:
    """The framework that a name which is not defined (``cuda``, ``wp``) must mean, or None."""
    return name if name in _ROOTS else _ALIASES.get(name)


def dotted(framework: str, attributes: tuple[str, ...]) -> str:
    """What to write instead of ``framework.attributes``; the rest of a name is kept (``threadIdx.x``)."""
    for count in range(len(attributes), 0, -1):
        found = _HABITS.get(".".join((framework, *attributes[:count])))
        if found is not None:
            rest = "".join(f".{name}" for name in attributes[count:])
            return f"write {found}{rest}" if found.startswith("dsl.") else found
    return f"names of {_ROOTS[framework][0]} mean nothing in a ruda kernel; its names are under dsl"


def bare(name: str) -> str | None:
    """What to write instead of a bare name, or None."""
    found = _BARE.get(name)
    return f"write {found}" if found is not None and found.startswith("dsl.") else found
