"""What users of other frameworks write by habit: each row is accepted, or answered with ruda's spelling.

The rows are those of the table of habits, by where they come from.
"""

import linecache
import math
import re
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import KernelError, RudaError


def module(name, **names):
    """A framework's module, which need not be installed; ``names`` are things that it defines."""
    made = ModuleType(name)
    for key, value in names.items():
        value.__module__ = name
        value.__name__ = key
        setattr(made, key, value)
    return made


def thing():
    """A function or class of a framework."""

    class Thing:
        def __call__(self, *args, **kwargs):
            raise AssertionError("a kernel's text is not run")

    return Thing()


NAMES = {
    "cuda": module("numba.cuda", jit=thing()),
    "numba": module("numba", float32=thing()),
    "tl": module("triton.language", constexpr=thing()),
    "triton": module("triton"),
    "ti": module("taichi", template=thing()),
    "wp": module("warp", tid=thing()),
    "jit": module("cupyx.jit"),
    "float32": module("numba.core.types", float32=thing()).float32,
    "field": ruda.client("reference").zeros(4, "f32"),
    "RANDOM": np.random.default_rng().random,
    "HOST": np.arange(4, dtype=np.float32),
    "SELF": SimpleNamespace(scale=3, field=ruda.client("reference").zeros(4, "f32")),
    "SQUARE": lambda x: x * x,
    "__name__": "habits",
}


def kernel(body, parameters="a, n", before=""):
    """A kernel with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"{before}@kernel\ndef k({parameters}):\n{lines}"
    file = f"<habit {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"kernel": ruda.kernel, "dsl": dsl, "math": math, "np": np, **NAMES}
    exec(compile(text, file, "exec"), space)
    return space["k"]


def run(body, parameters="a, n", before="", n=3):
    """What a kernel of 8 threads makes of an f32 array of 16 zeros."""
    a = ruda.client("reference").zeros(16, "f32")
    kernel(body, parameters, before)[2, 4](a, n)
    return a.numpy().tolist()


ROWS = [float(x) for x in range(8)] + [0.0] * 8

ACCEPTED = [
    ("numba", "i = cuda.grid(1)\na[i] = i", ROWS),
    ("numba", "x, y = cuda.grid(2)\na[x] = x + y", ROWS),
    ("numba", "a[cuda.grid(1)] = cuda.gridsize(1)", [8.0] * 8 + [0.0] * 8),
    ("numba", "i = numba_cuda.grid(1)\na[i] = i", ROWS),
    ("Taichi", "r = 1\nif n > 1:\n    r = 1.5\na[0] = r", [1.5] + [0.0] * 15),
    ("Taichi", "a[0] = find(a, n)", [2.0] + [0.0] * 15),
    ("Warp", "s = float(0.0)\nc = int(0)\nfor k in range(n):\n    s += 0.5\n    c += 1\na[0] = s * c",
     [4.5] + [0.0] * 15),
    ("Warp", "for k in range(2):\n    a[k] = k\nk = 5\nwhile k > 3:\n    a[k] = k\n    k -= 1",
     [0, 1, 0, 0, 4, 5] + [0.0] * 10),
    ("Triton", "for k in range(10):\n    if k == n:\n        break\n    a[k] = LIMIT\nelse:\n    return",
     [7.0] * 3 + [0.0] * 13),
    ("CUDA C", "s = dsl.shared((4, 4), dsl.f32)\ns[1][n] = 2\ndsl.barrier()\na[0] = s[1][3]", [2.0] + [0.0] * 15),
    ("all", "a[0]\n...\n'words'\na[0] = 1", [1.0] + [0.0] * 15),
    ("Taichi", "a[dsl.global_idx.x] += SELF.scale", [3.0] * 8 + [0.0] * 8),
]  # fmt: skip

NAMES["LIMIT"] = 7
NAMES["numba_cuda"] = NAMES["cuda"]

FIND = """
@dsl.func
def find(a, n):
    for k in range(n):
        if k == n - 1:
            return k
    return -1

"""


@pytest.mark.parametrize(("origin", "body", "want"), ACCEPTED, ids=[f"{o}: {b}" for o, b, _ in ACCEPTED])
def test_accepted(origin, body, want):
    assert run(body, before=FIND) == want


@pytest.mark.parametrize(
    "parameters", ["a, n: float", "a, n: int", "a: dsl.Array[float], n", "a: dsl.Array['float32', 1], n: 'int' = 3"]
)
def test_accepted_annotations(parameters):
    """Warp's ``x: float``: int, float and bool mean what no annotation means."""
    assert run("a[0] = n", parameters) == [3.0] + [0.0] * 15


ANSWERED = [
    ("numba", "a[0] = cuda.threadIdx.x", "write dsl.thread_idx.x"),
    ("numba", "cuda.syncthreads()", "write dsl.barrier()"),
    ("numba", "s = cuda.shared.array(32, dsl.f32)", "write dsl.shared(shape, dtype)"),
    ("numba", "s = cuda.shared.array(0, dsl.f32)", "write dsl.shared(shape, dtype)"),
    ("numba", "s = cuda.local.array(8, dsl.f32)", "write dsl.local(shape, dtype)"),
    ("numba", "t = cuda.const.array_like(HOST)", "write dsl.constant(array) on the host"),
    ("numba", "cuda.atomic.add(a, 0, 1.0)", "write dsl.atomic.add(array, index, value)"),
    ("numba", "a[0] = float32(n)", "write dsl.f32(x)"),
    ("numba", "a[0] = numba.float32(n)", "write dsl.f32(x)"),
    ("numba", "a[0] = numba.cuda.threadIdx.x", "write dsl.thread_idx.x"),
    ("numba", "for i in numba.prange(n):\n    a[i] = 1", "use kernel.forall(shape)"),
    ("numba", "a[0] = HOST[0]", "or freeze a table: HOST = dsl.constant(HOST)"),
    ("numba", "a[0] = field[0]", "field is an array, which a kernel cannot capture"),
    ("numba", "a[0] = a[-1]", "write len(a) - 1 for the last"),
    ("numba", "t = np.zeros(4)", "arrays are made on the host, or with dsl.local(shape, dtype)"),
    ("numba", "t = [k for k in range(4)]", "write a loop that stores into dsl.local(shape, dtype)"),
    ("numba", "try:\n    a[0] = 1\nexcept Exception:\n    pass", "test for the bad case with if"),
    ("numba", "with a:\n    pass", "call the function without with"),
    ("numba", "raise ValueError('n')", "store an error code into an array"),
    ("numba", "a[0] = down(n)", "write a loop, with a dsl.local array as the stack"),
    ("numba", "cuda.to_device(a)", "client.array(x) on the host"),
    ("numba", "cuda.synchronize()", "client.sync() on the host"),
    ("numba", "cuda.reduce(a)", "dsl.block.sum"),
    ("numba", "cuda.cg.this_grid().sync()", "launch the kernel once a step"),
    ("CuPy", "for k in jit.range(n, unroll=4):\n    pass", "dsl.unroll(range(n))"),
    ("CuPy", "jit.atomic_add(a, 0, 1.0)", "write dsl.atomic.add(array, index, value)"),
    ("CuPy", "a[jit.grid(1)] = 1", "write dsl.grid(n)"),
    ("Taichi", "for x in a:\n    a[0] += x", "a loop here runs in every thread; for one thread an element use"),
    ("Taichi", "for i, j in ti.ndrange(3, 4):\n    pass", "a loop here runs in every thread; use kernel.forall(shape)"),
    ("Taichi", "for k in ti.static(range(3)):\n    pass", "write dsl.unroll(range(n))"),
    ("Taichi", "x = ti.template()", "write dsl.Const"),
    ("Taichi", "a[0] = SELF.field[0]", "pass it as an argument"),
    ("Taichi", "return a[0]", "store it into an array: out[0] = ..."),
    ("Taichi", "a[None] = 1", "a[()]"),
    ("Taichi", "v = [0.0, 0.0]", "dsl.Vec[dsl.f32, 2](...)"),
    ("Taichi", "b = a @ a", "write the loops"),
    ("Taichi", "a[0] = ti.random()", "write dsl.random"),
    ("Warp", "i = wp.tid()\na[i] = 1", "write dsl.global_idx.x, or i, j = dsl.grid(2)"),
    ("Warp", "wp.launch(k, dim=3, inputs=(a,))", "kernel.forall(n)(...) on the host"),
    ("Triton", "pid = tl.program_id(0)", "write dsl.block_idx.x"),
    ("Triton", "offs = tl.arange(0, 64)", "a kernel is what one thread does"),
    ("Triton", "x = tl.load(a + n, mask=n < 3)", "index the array: a[i] inside `if i < n:`"),
    ("Triton", "a += n * 4", "index it: a[i]; there are no pointers"),
    ("CUDA C", "__syncthreads()", "write dsl.barrier()"),
    ("CUDA C", "atomicAdd(a, 1.0)", "write dsl.atomic.add(array, index, value)"),
    ("CUDA C", "if warpSize == 32:\n    a[0] = 1", "write dsl.subgroup_size"),
    ("CUDA C", "x = __shfl_down_sync(0xffffffff, n, 1)", "write dsl.subgroup.shuffle_down(x, delta)"),
    ("CUDA C", "i = threadIdx.x", "write dsl.thread_idx"),
    ("all", "i = dsl.threadIdx.x", "write dsl.thread_idx"),
    ("all", "i = dsl.tread_idx.x", "did you mean thread_idx?"),
    ("all", "for i in range(1.5):\n    pass", "write // for a whole quotient, or int(...)"),
    ("all", "for i in range(n / 2):\n    pass", "write // for a whole quotient, or int(...)"),
    ("all", "a[n / 2] = 1", "write // for a whole quotient, or int(...)"),
    ("all", "for i in n:\n    pass", "write range(n)"),
    ("all", "i = n\n++i", "write i += 1"),
    ("all", "i = n\n--i", "write i -= 1"),
    ("all", "a[0] == 1", "write a[0] = 1 to assign"),
    ("all", "dsl.barrier", "write dsl.barrier()"),
    ("all", "a[0] = sum(a)", "write a loop: for i in range(len(a))"),
    ("all", "for i, x in enumerate(a):\n    pass", "write a loop: for i in range(len(a))"),
    ("all", "a.fill(0)", "write a loop, or fill the array on the host"),
    ("all", "a[0] = dsl.float32(1)", "write dsl.f32(x)"),
    ("all", "a[0] = math.sqr(2)", "did you mean sqrt?"),
    ("all", "a[0] = hepler(n)", "did you mean helper?"),
    ("all", "a[0] = helper(n)", "decorate helper with @dsl.func"),
    ("all", "a[0] = dsl.thread_idx + 1", "name an axis: dsl.thread_idx.x"),
    ("all", "a[0] = dsl.block_dim.w", "name an axis: dsl.block_dim.x, .y or .z"),
    ("all", "a[0] = dsl.thread_idx[0]", "name an axis: dsl.thread_idx.x, .y or .z"),
    ("all", "a[0] = dsl.lane_idx.x", "leave it out: it is a number"),
    ("all", "a[0] = n.x", "numbers have dtype"),
    ("all", "a[0] = len(3)", "it takes an array, a tuple, a vector or a string"),
    ("all", "a[0] = dsl.load(a, 0, n).x", "use a literal, a captured constant or a dsl.Const parameter"),
    ("all", "a[0] = dsl.block.broadcast(n, 5000)", "the block has threads 0 to"),
    ("all", "a[0] = dsl.random.integers(1, n, 5, 5)", "there are none; high is not one of them"),
    ("all", "if n in range(10):\n    a[0] = 1", "compare low <= x < high"),
    ("all", "a[0] = SQUARE(n)", "write it as a def with a name, and decorate that with @dsl.func"),
    ("all", "a[0] = f32(n)", "write dsl.f32"),
    ("all", "barrier()", "write dsl.barrier"),
    ("all", "i = tid()", "write dsl.global_idx.x"),
    ("all", "a[0] = lenn(a)", "did you mean len?"),
    ("all", "a[0] = a[-3]", "write len(a) - 3"),
    ("all", "k[1, 1](a, n)", "move the code into a function decorated with @dsl.func"),
    ("Triton", "offs = dsl.arange(0, 64)", "a kernel is what one thread does"),
    ("Warp", "i = dsl.tid()", "write dsl.global_idx.x"),
    ("CUDA C", "dsl.atomic.add(a[n], 1.0)", "dsl.atomic.add(a, n, 1.0)"),
    ("CUDA C", "dsl.atomic.compare_exchange(a[n + 1], n)", "dsl.atomic.compare_exchange(a, n + 1, n)"),
    ("CUDA C", "i = dsl.block_idx.x()", "it is a value: leave out the ()"),
    ("all", "a[0] = dsl.thread_idx.y + nothing(n)", "a function gives None where it returns nothing"),
    ("all", "a[0] = either(n)", "return values of one kind, and tuples of one length"),
    ("all", "a[0] = Pair(1, n=2.5).n", "write dsl.i32(2.5)"),
    ("all", "a[0] = Pair(1, 2)", "take a field, such as x.x"),
    ("all", "s = dsl.shared(dsl.f32, 4)", "the shape comes first: dsl.shared(shape, dtype)"),
    ("all", "h, w = a.shape", "name each of them"),
    ("all", "a[0] = math.gamma(3.0)", "do not have this one of math"),
    ("all", "a[0] = np.random.rand()", "write dsl.random.uniform(seed, i)"),
    ("all", "a[0] = RANDOM(1)", "write dsl.random.uniform(seed, i)"),
    ("all", "b = None\nb[0] = 1", "pass an array, or test for it first: if x is not None"),
    ("all", "b = (1, 2)\nb[0] = 1", "use dsl.local(shape, dtype) for values that change"),
    ("all", "n[0] = 1", "pass an array to write to"),
    ("all", "a[0] = a(1)", "index it: a[i]"),
    ("all", "a[dsl.thread_idx] = 1", "name an axis: dsl.thread_idx.x"),
    ("all", "a[0] = min(a)", "write a loop, or a.min() on the host"),
    ("all", "a[0] = max()", "max(x, y)"),
    ("all", "a[0] = sum(x for x in a)", "write a loop"),
    ("all", "a[0] = 1j", "keep real and imaginary parts in two values"),
    ("all", "a[0] = n.bit_count()", "write dsl.popcount(x)"),
    ("all", "a[0] = n.astype(dsl.f32)", "call the dtype: dsl.i32(x)"),
    ("all", "a[0] = a[1].astype(dsl.i32)", "call the dtype: dsl.i32(x)"),
    ("all", "a[0] = a[1].item()", "leave it out: it is a number"),
    ("all", "dsl.sqrt(n, n)", "dsl.sqrt(x)"),
    ("all", "a[0], a[1] = a", "assign elements one by one"),
    ("all", "x = lambda: 0", "decorate it with @dsl.func"),
]  # fmt: skip

BEFORE = """
@dsl.func
def down(n):
    return down(n - 1) if n > 0 else 0

def helper(n):
    return n

@dsl.func
def nothing(n):
    n += 1

@dsl.func
def either(n):
    if n > 3:
        return 1.0
    return 1, 2

@dsl.struct
class Pair:
    x: dsl.f32
    n: dsl.i32

"""


@pytest.mark.parametrize(("origin", "body", "hint"), ANSWERED, ids=[f"{o}: {b}" for o, b, _ in ANSWERED])
def test_answered(origin, body, hint):
    """With the user's line under a caret, and what to write; and the next kernel is none the worse."""
    with pytest.raises(KernelError) as caught:
        run(body, before=BEFORE)
    report = str(caught.value)
    assert hint in report, report
    assert re.search(r'File "<habit \d+>", line \d+, column \d+, in kernel k\n    .+\n    *\^', report), report
    assert "\n  Instead: " in report, report
    assert run("a[0] = n") == [3.0] + [0.0] * 15


def test_an_atomic_on_a_field_of_an_element():
    """The arguments as they must be: the field of the array, and the index as a tuple."""
    cells = ruda.client("reference").array(np.zeros((2, 3), [("n", "i4"), ("sums", "f4", (2,))]))
    with pytest.raises(KernelError, match=re.escape("Instead: dsl.atomic.add(a.n, (n, n + 1), 2)")):
        kernel("dsl.atomic.add(a[n, n + 1].n, 2)")[1, 1](cells, 1)
    kernel("dsl.atomic.add(a.n, (n, n + 1), 2)")[1, 1](cells, 1)
    assert cells.numpy()["n"].tolist() == [[0, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize(
    ("parameters", "hint"),
    [
        ("self, a", "define it outside of the class, and pass what it needs of self as arguments"),
        ("a, n: tl.constexpr", "write dsl.Const[int]"),
        ("a: ti.template, n", "write dsl.Const"),
        ("a: np.ndarray, n", "write dsl.Array[dsl.f32, rank]"),
        ("a, *rest", "name each parameter"),
    ],
)
def test_answered_parameters(parameters, hint):
    with pytest.raises(KernelError) as caught:
        kernel("pass", parameters)
    assert hint in str(caught.value)


@ruda.kernel
def add(x, y, scale=2.0):
    i = dsl.global_idx.x
    if i < len(y):
        y[i] += x[i] * scale


CLIENT = ruda.client("reference")
X, Y = CLIENT.zeros(3, "f32"), CLIENT.zeros(3, "f32")

LAUNCHES = [
    ("numba", lambda: add[(1,), (4,)](X, Y), None),
    ("numba", lambda: add[1, 4](X, Y), None),
    ("numba", lambda: add[1, 4, CLIENT.stream()](X, Y), None),
    ("numba", lambda: add[1, 4, None, 0](X, Y), "the size of shared memory is taken from dsl.shared"),
    ("numba", lambda: add.forall(3)(X, Y), None),
    ("numba", lambda: add[1, 4](np.zeros(3, np.float32), Y), "argument 'x': a NumPy array; pass client.array(x)"),
    ("numba", lambda: Y.copy_to_host(), "write a.numpy()"),
    ("CuPy", lambda: Y.get(), "write a.numpy()"),
    ("CuPy", lambda: add((1,), (4,), (X, Y)), "write add[grid, block](args)"),
    ("CuPy", lambda: add[1, 4](X, Y, 2**40), None),
    ("CuPy", lambda: add[1, 4](X, Y, 1e300), "1e+300 is too large for f32"),
    ("Warp", lambda: add.forall((3,))(X, Y), None),
    ("Triton", lambda: add[lambda meta: (1,)](X, Y), "a grid is numbers, such as dsl.cdiv(n, block)"),
    ("all", lambda: add(X, Y), "write add[grid, block](...) or add.forall(n)(...); it is add(x, y, scale=2.0)"),
    ("all", lambda: add[1](X, Y), "write add[grid, block]"),
    ("all", lambda: add[1, 4](X), "argument 'y' is missing: add(x, y, scale=2.0)"),
    ("all", lambda: add[1, 4](X, Y, 1, 2), "add takes 3 arguments, 4 were passed: add(x, y, scale=2.0)"),
    ("all", lambda: add[1, 4](X, Y, scael=1), "did you mean 'scale'?: add(x, y, scale=2.0)"),
    ("all", lambda: add[3 / 2, 4](X, Y), "write // instead of /"),
]


@pytest.mark.parametrize(("origin", "launch", "hint"), LAUNCHES)
def test_launches(origin, launch, hint):
    if hint is None:
        launch()
    else:
        with pytest.raises((RudaError, AttributeError)) as caught:
            launch()
        assert hint in str(caught.value)
    before = Y.numpy()
    add.forall(3)(X, Y)
    np.testing.assert_array_equal(Y.numpy(), before)


HOST = [
    (lambda: ruda.jit, "write @ruda.kernel"),
    (lambda: ruda.to_device, "write client.array(x)"),
    (lambda: ruda.kernal, "did you mean kernel?"),
    (lambda: CLIENT.to_device, "write client.array(x)"),
    (lambda: CLIENT.asarray, "write client.array(x)"),
    (lambda: CLIENT.synchronize, "write client.sync()"),
    (lambda: CLIENT.device_array, "write client.empty(shape, dtype)"),
]


@pytest.mark.parametrize(("look", "hint"), HOST)
def test_names_on_the_host(look, hint):
    with pytest.raises(AttributeError) as caught:
        look()
    assert hint in str(caught.value)
