"""Names of other frameworks, answered with ruda's spelling."""

from __future__ import annotations

_THREAD = "a kernel is what one thread does; i = dsl.global_idx.x is its element"
_LOAD = "index the array: a[i] inside `if i < n:`"
_LOOP = "a loop here runs in every thread; use kernel.forall(shape) and i, j = dsl.grid(2)"
_ADD = "dsl.atomic.add(array, index, value)"
_CAS = "dsl.atomic.compare_exchange(array, index, expected, new)"
_STEP = "launch the kernel once a step: launches run in order"
_TO_DEVICE = "client.array(x) on the host"
_SYNC = "client.sync() on the host; reading a result waits by itself"

_SYNCWARP = "leave it out: subgroup operations wait by themselves, and memory is handed over by dsl.barrier()"

#: Framework to the modules that give its names, and the names that such a module usually has.
_ROOTS = {
    "cuda": ("numba.cuda",),
    "numba": ("numba",),
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
    "cuda.const.array_like": "dsl.constant(array) on the host",
    "cuda.atomic": "dsl.atomic",
    "cuda.atomic.add": _ADD,
    "cuda.atomic.sub": "dsl.atomic.sub(array, index, value)",
    "cuda.atomic.max": "dsl.atomic.max(array, index, value)",
    "cuda.atomic.min": "dsl.atomic.min(array, index, value)",
    "cuda.atomic.exch": "dsl.atomic.exchange(array, index, value)",
    "cuda.atomic.cas": _CAS,
    "cuda.atomic.compare_and_swap": "dsl.atomic.compare_exchange(array, 0, expected, new)",
    "cuda.fma": "dsl.fma(a, b, c)",
    "cuda.popc": "dsl.popcount(x)",
    "cuda.clz": "dsl.clz(x)",
    "cuda.ffs": "dsl.find_first_set(x)",
    "cuda.brev": "dsl.reverse_bits(x)",
    "cuda.selp": "x if condition else y",
    "cuda.warpsize": "dsl.subgroup_size",
    "cuda.laneid": "dsl.lane_idx",
    "cuda.syncwarp": _SYNCWARP,
    "cuda.shfl_sync": "dsl.subgroup.shuffle(x, lane)",
    "cuda.shfl_up_sync": "dsl.subgroup.shuffle_up(x, delta)",
    "cuda.shfl_down_sync": "dsl.subgroup.shuffle_down(x, delta)",
    "cuda.shfl_xor_sync": "dsl.subgroup.shuffle_xor(x, mask)",
    "cuda.all_sync": "dsl.subgroup.all(x)",
    "cuda.any_sync": "dsl.subgroup.any(x)",
    "cuda.ballot_sync": "dsl.subgroup.ballot(x)",
    "cuda.activemask": "dsl.subgroup.ballot(True)",
    "cuda.threadfence": 'dsl.fence("device")',
    "cuda.threadfence_block": 'dsl.fence("block")',
    "cuda.cg.this_grid": _STEP,
    "cuda.to_device": _TO_DEVICE,
    "cuda.device_array": "client.empty(shape, dtype) on the host",
    "cuda.synchronize": _SYNC,
    "cuda.stream": "client.stream() on the host",
    "cuda.event": "client.event() on the host",
    "cuda.jit": "@ruda.kernel, or @dsl.func for a function that kernels call",
    "cuda.reduce": "x.sum(), x.min() or x.max() on the host, or dsl.block.sum in a kernel",
    "cuda.libdevice": "the functions under dsl and math",
    "tl.program_id": "dsl.block_idx.x; " + _THREAD,
    "tl.num_programs": "dsl.grid_dim.x",
    "tl.arange": "dsl.thread_idx.x; " + _THREAD,
    "tl.load": _LOAD,
    "tl.store": "index the array: a[i] = x inside `if i < n:`",
    "tl.constexpr": "dsl.Const[int]",
    "tl.dot": "loops over tiles in dsl.shared",
    "tl.sum": "dsl.block.sum(x), or a loop",
    "tl.max": "dsl.block.max(x), or a loop",
    "tl.min": "dsl.block.min(x), or a loop",
    "tl.exp": "dsl.exp(x)",
    "tl.sqrt": "dsl.sqrt(x)",
    "tl.rand": "dsl.random",
    "tl.debug_barrier": "dsl.barrier()",
    "triton.jit": "@ruda.kernel, or @dsl.func for a function that kernels call",
    "tl.cdiv": "dsl.cdiv(a, b)",
    "tl.where": "x if condition else y",
    "tl.zeros": "0.0, or dsl.local(shape, dtype)",
    "tl.atomic_add": _ADD,
    "tl.atomic_cas": _CAS,
    "tl.static_range": "dsl.unroll(range(n))",
    "tl.float32": "dsl.f32",
    "triton.cdiv": "dsl.cdiv(a, b)",
    "wp.tid": "dsl.global_idx.x, or i, j = dsl.grid(2)",
    "wp.array": "dsl.Array[dsl.f32]",
    "wp.atomic_add": _ADD,
    "wp.launch": "kernel.forall(n)(...) on the host",
    "wp.static": "dsl.Const, or a captured constant",
    "wp.kernel": "@ruda.kernel",
    "wp.func": "@dsl.func",
    "wp.vec2": "dsl.Vec[dsl.f32, 2]",
    "wp.vec3": "dsl.Vec[dsl.f32, 3]",
    "wp.vec4": "dsl.Vec[dsl.f32, 4]",
    "wp.float32": "dsl.f32",
    "wp.int32": "dsl.i32",
    "wp.sqrt": "dsl.sqrt(x)",
    "wp.dot": "dsl.dot(a, b)",
    "wp.length": "dsl.length(v)",
    "wp.rand_init": "dsl.random",
    "wp.randf": "dsl.random",
    "ti.static": "dsl.unroll(range(n)) for loops, dsl.Const for values",
    "ti.ndrange": _LOOP,
    "ti.grouped": _LOOP,
    "ti.template": "dsl.Const",
    "ti.cast": "dsl.f32(x)",
    "ti.atomic_add": _ADD,
    "ti.sync": "dsl.barrier() for a block; launches run in order anyway",
    "ti.random": "dsl.random",
    "ti.Vector": "dsl.Vec[dsl.f32, n](...), or dsl.local(n, dtype)",
    "ti.Matrix": "dsl.local((m, n), dtype)",
    "ti.kernel": "@ruda.kernel",
    "ti.func": "@dsl.func",
    "ti.f32": "dsl.f32",
    "ti.i32": "dsl.i32",
    "ti.sqrt": "dsl.sqrt(x)",
    "ti.field": "client.zeros(shape, dtype) on the host, passed as an argument",
    "jit.range": "range(n), or dsl.unroll(range(n))",
    "jit.rawkernel": "@ruda.kernel",
    "jit.threadIdx": "dsl.thread_idx",
    "jit.blockIdx": "dsl.block_idx",
    "jit.blockDim": "dsl.block_dim",
    "jit.gridDim": "dsl.grid_dim",
    "jit.grid": "dsl.grid(n)",
    "jit.gridsize": "dsl.grid_size(n)",
    "jit.syncthreads": "dsl.barrier()",
    "jit.shared_memory": "dsl.shared(shape, dtype)",
    "jit.warpsize": "dsl.subgroup_size",
    "jit.laneid": "dsl.lane_idx",
    "jit.syncwarp": _SYNCWARP,
    "jit.shfl_sync": "dsl.subgroup.shuffle(x, lane)",
    "jit.shfl_up_sync": "dsl.subgroup.shuffle_up(x, delta)",
    "jit.shfl_down_sync": "dsl.subgroup.shuffle_down(x, delta)",
    "jit.shfl_xor_sync": "dsl.subgroup.shuffle_xor(x, mask)",
    "jit.atomic_add": _ADD,
    "jit.atomic_cas": _CAS,
}

#: Names that frameworks or C put into the kernel's own namespace.
_BARE = {
    "threadIdx": "dsl.thread_idx",
    "blockIdx": "dsl.block_idx",
    "blockDim": "dsl.block_dim",
    "gridDim": "dsl.grid_dim",
    "warpSize": "dsl.subgroup_size",
    "warpsize": "dsl.subgroup_size",
    "laneid": "dsl.lane_idx",
    "__syncwarp": _SYNCWARP,
    "__shfl_sync": "dsl.subgroup.shuffle(x, lane)",
    "__shfl_up_sync": "dsl.subgroup.shuffle_up(x, delta)",
    "__shfl_down_sync": "dsl.subgroup.shuffle_down(x, delta)",
    "__shfl_xor_sync": "dsl.subgroup.shuffle_xor(x, mask)",
    "__all_sync": "dsl.subgroup.all(x)",
    "__any_sync": "dsl.subgroup.any(x)",
    "__ballot_sync": "dsl.subgroup.ballot(x)",
    "__activemask": "dsl.subgroup.ballot(True)",
    "__reduce_add_sync": "dsl.subgroup.add(x)",
    "__threadfence": 'dsl.fence("device")',
    "__threadfence_block": 'dsl.fence("block")',
    "get_sub_group_local_id": "dsl.lane_idx",
    "sub_group_reduce_add": "dsl.subgroup.add(x)",
    "syncthreads": "dsl.barrier()",
    "__syncthreads": "dsl.barrier()",
    "atomicAdd": _ADD,
    "atomicSub": "dsl.atomic.sub(array, index, value)",
    "atomicMin": "dsl.atomic.min(array, index, value)",
    "atomicMax": "dsl.atomic.max(array, index, value)",
    "atomicExch": "dsl.atomic.exchange(array, index, value)",
    "atomicCAS": _CAS,
    "__popc": "dsl.popcount(x)",
    "__clz": "dsl.clz(x)",
    "__ffs": "dsl.find_first_set(x)",
    "__brev": "dsl.reverse_bits(x)",
    "__mulhi": "dsl.mul_hi(a, b)",
    "__ldg": _LOAD,
    "__shared__": "dsl.shared(shape, dtype)",
    "rsqrtf": "dsl.rsqrt(x)",
    "sqrtf": "dsl.sqrt(x)",
    "expf": "dsl.exp(x)",
    "__expf": "dsl.exp(x)",
    "fmaf": "dsl.fma(a, b, c)",
    "fminf": "dsl.min(a, b)",
    "fmaxf": "dsl.max(a, b)",
    "fabsf": "dsl.abs(x)",
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


#: What is taken as ruda's own, by its dotted name: filled by ``intrinsics``.
ACCEPTED: dict[str, object] = {}


def of_object(value: object) -> tuple[str, str] | None:
    """The framework that defines a function or class, and its name there; None where none does."""
    framework = of_module(str(getattr(value, "__module__", None) or type(value).__module__))
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    return (framework, str(name)) if framework is not None and name is not None else None


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
    if framework == "numba" and attributes:
        if attributes[0] == "cuda" and len(attributes) > 1:
            return dotted("cuda", attributes[1:])
        if (found := bare(attributes[0])) is not None:
            return found
    return f"names of {_ROOTS[framework][0]} mean nothing in a ruda kernel; its names are under dsl"


def anywhere(name: str) -> str | None:
    """What to write instead of a name that some framework has (``arange``), or None."""
    return next((dotted(root, (name,)) for root in _ROOTS if f"{root}.{name}" in _HABITS), None)


def bare(name: str) -> str | None:
    """What to write instead of a bare name, or None."""
    found = _BARE.get(name)
    return f"write {found}" if found is not None and found.startswith("dsl.") else found
