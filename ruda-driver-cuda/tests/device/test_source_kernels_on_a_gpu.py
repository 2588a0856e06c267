"""Hand-written kernels on a GPU: CUDA C++ and PTX, arrays of odd sizes, streams, shared memory, other libraries."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import ArgumentError, CompilationError, TooManyResources, ValidationError
from ruda_driver_cuda import assembler

GUIDE = Path(__file__).parents[3] / "docs/guide/source-kernels.md"
SIZES = (1, 31, 257, 1000, 65_537, 1_000_003)

CPP = r"""
__device__ int counter;
__constant__ float weights[4] = {0.5f, 0.25f, 0.125f, 4.0f};

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

template <typename T, int N> __global__ void scale(T *x, T a, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a * T(N);
}

namespace tests {
__global__ void mixed(
    bool b, signed char c, short s, double d, unsigned char u, float f, unsigned long long k, double *out
) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        double all[7] = {double(b), double(c), double(s), d, double(u), double(f), double(k)};
        for (int i = 0; i < 7; ++i) out[i] = all[i];
    }
}
}

extern "C" __global__ void weigh(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * weights[i % 4];
}

extern "C" __global__ void count(int by) { atomicAdd(&counter, by); }
extern "C" __global__ void counted(int *out) { *out = counter; }

// The sum of each row of a matrix, by a tree in memory whose size the launch gives.
extern "C" __global__ void rows(const float *m, float *sums, int width) {
    extern __shared__ float tile[];
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += m[blockIdx.x * (size_t)width + i];
    tile[threadIdx.x] = sum;
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) tile[threadIdx.x] += tile[threadIdx.x + step];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = tile[0];
}

extern "C" __global__ void last(int *out, int n) {
    extern __shared__ int large[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) large[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) *out = large[n - 1];
}

extern "C" __global__ void blocks(int *out) {
    if (threadIdx.x == 0) out[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = blockDim.x * blockDim.y;
}
"""

PTX = """
.version 7.0
.target sm_70
.address_size 64

.visible .entry axpb(.param .u64 x, .param .f32 a, .param .f32 b, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f1, [a];
    ld.param.f32 %f2, [b];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f3, [%rd2];
    fma.rn.f32 %f3, %f3, %f1, %f2;
    st.global.f32 [%rd2], %f3;
    ret;
}
"""


@ruda.kernel
def fill(x: dsl.Array[dsl.f32], value: dsl.f32):
    x[dsl.global_idx.x] = value


def cpp(name, params, text=CPP, **more):
    return ruda.source_kernel(text, name, params, language="cuda-c++", **more)


saxpy = cpp("saxpy", "a: f32, x: f32[...], y: f32[...], n: i32", written=("y",))


@pytest.fixture
def ptx(client):
    try:
        assembler.version()
    except CompilationError as error:
        pytest.skip(f"absent: nvjitlink: {error}")
    return lambda name, params, text=PTX: ruda.source_kernel(text, name, params, language="ptx")


@pytest.mark.parametrize("n", SIZES)
def test_saxpy_of_odd_sizes(client, n):
    """Whole numbers, so that contraction does not show; what lies behind the array stays as it was."""
    x = np.arange(n, dtype=np.float32) % 1000
    y = np.arange(n, dtype=np.float32)[::-1] % 77
    room = client.full(n + 64, -1, "f32")
    room[:n].copy_(client.array(y))
    dx = client.array(x)
    for block in (32, 96, 1024):
        saxpy[-(-n // block) + 1, block](3.0, dx, room[:n], n)
    found = room.numpy()
    np.testing.assert_array_equal(found[:n], y + 9 * x)
    np.testing.assert_array_equal(found[n:], -1)


def test_a_grid_of_three_axes(client):
    out = client.full((4, 3, 5), -1, "i32")
    cpp("blocks", "out: i32[:, :, :]")[(5, 3, 4), (33, 7)](out)
    np.testing.assert_array_equal(out.numpy(), 231)


def test_instances_of_a_template(client):
    for dtype, lanes in (("f32", 3), ("f64", 3), ("i32", 5)):
        name = f"scale<{ {'f32': 'float', 'f64': 'double', 'i32': 'int'}[dtype] }, {lanes}>"
        k = cpp(name, f"x: {dtype}[...], a: {dtype}, n: i64")
        x = np.arange(91 * 11, dtype=np.dtype(dtype.replace("f32", "f4").replace("f64", "f8").replace("i32", "i4")))
        array = client.array(x.reshape(91, 11))
        k[9, 128](array, 2, array.size)
        np.testing.assert_array_equal(array.numpy(), x.reshape(91, 11) * (2 * lanes))


def test_scalars_of_all_sizes_are_where_the_kernel_looks(client):
    k = cpp("tests::mixed", "b: bool, c: i8, s: i16, d: f64, u: u8, f: f32, k: u64, out: f64[:]")
    out = client.zeros(7, "f64")
    for values in ((True, -5, -300, 1e300, 200, 0.5, 1 << 52), (False, 127, 32767, -0.25, 0, -1.5, 3)):
        k[2, 32](*values, out)
        assert out.numpy().tolist() == list(map(float, values))


def test_numbers_of_two_bytes(client):
    text = """
    extern "C" __global__ void k(unsigned short bits, unsigned short more, unsigned short *out) {
        out[0] = bits, out[1] = more;
    }
    """
    out = client.zeros(2, "u16")
    cpp("k", "a: u16, b: u16, out: u16[:]", text)[1, 1](7, 65_535, out)
    assert out.numpy().tolist() == [7, 65_535]
    half = text.replace("unsigned short bits", "half_ bits").replace("*out) {\n", "*out) {\n bits.x += 0;\n")
    half = "struct __align__(2) half_ { unsigned short x; };\n" + half.replace("out[0] = bits", "out[0] = bits.x")
    cpp("k", "a: f16, b: u16, out: u16[:]", half)[1, 1](1.5, 3, out)
    assert out.numpy().tolist() == [np.float16(1.5).view(np.uint16), 3]
    cpp("k", "a: bf16, b: u16, out: u16[:]", half)[1, 1](1.5, 3, out)
    assert out.numpy().tolist() == [0x3FC0, 3]


def test_several_kernels_share_the_variables_of_their_text(client):
    """And so do all blocks: the code is loaded once."""
    count, counted = cpp("count", "by: i32"), cpp("counted", "out: i32[:]")
    out, before = client.zeros(1, "i32"), client.zeros(1, "i32")
    counted[1, 1](before)
    with client:
        count[3, 64](2)
        count[5, 32](1)
    counted[1, 1](out)
    assert out.numpy()[0] - before.numpy()[0] == 3 * 64 * 2 + 5 * 32
    counted[1, 32](out)
    assert out.numpy()[0] - before.numpy()[0] == 3 * 64 * 2 + 5 * 32


VALUES = r"""
struct Particle { unsigned char kind; float3 place; double mass; short tags[3]; };

extern "C" __global__ void move(unsigned char first, Particle p, float4 v, float2 w, char4 c, Particle *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p.place.x += v.x + v.w;
    p.place.z += w.y;
    p.tags[2] += c.z + first;
    p.mass *= i;
    if (i < n) out[i] = p;
}
"""
PARTICLE = np.dtype([("kind", "u1"), ("place", "f4", 3), ("mass", "f8"), ("tags", "i2", 3)], align=True)


def test_structs_and_vectors_by_value(client):
    params = {
        "first": "u8",
        "p": PARTICLE,
        "v": dsl.Vec[dsl.f32, 4],
        "w": dsl.Vec[dsl.f32, 2],
        "c": dsl.Vec[dsl.i8, 4],
        "out": dsl.Array[PARTICLE],
        "n": "i32",
    }
    move, n = cpp("move", params, VALUES), 67
    out = client.zeros(n + 3, PARTICLE)
    for kind in (7, 200):  # the second is packed by the launcher alone
        p = np.array((kind, (1, 2, 3), 0.5, (10, 20, 30)), PARTICLE)[()]
        move[2, 64](3, p, (0.25, 9, 9, 0.5), np.array([9, 100], np.float32), [9, 9, -4, 9], out, n)
        found = out.numpy()
        assert set(found["kind"][:n]) == {kind} and not found["kind"][n:].any()
        np.testing.assert_array_equal(found["place"][:n], np.tile(np.float32([1.75, 2, 103]), (n, 1)))
        np.testing.assert_array_equal(found["mass"][:n], 0.5 * np.arange(n))
        np.testing.assert_array_equal(found["tags"][:n], np.tile([10, 20, 29], (n, 1)))


def test_variables_are_read_and_written(client):
    """Of a text of their own; they stay when the array that stands for them has gone."""
    text = CPP + 'namespace tests { __device__ double start = 5; }\nextern "C" __global__ void own() {}\n'
    weigh = cpp("weigh", "x: f32[:], y: f32[:], n: i32", text)
    x, y = np.arange(1001, dtype=np.float32), client.full(1001, -1, "f32")
    weights = weigh.variable(client, "weights", "f32")
    assert weights.numpy().tolist() == [0.5, 0.25, 0.125, 4]
    weights.copy_(np.array([1, -2, 3, 0], np.float32))
    assert weights.numpy().tolist() == [1, -2, 3, 0]
    del weights
    weigh[4, 256](client.array(x), y, 1001)
    np.testing.assert_array_equal(y.numpy(), x * np.resize(np.float32([1, -2, 3, 0]), 1001))
    count = cpp("count", "by: i32", text)
    counter = count.variable(client, "counter", "i32")
    counter.copy_(np.array([100], np.int32))
    with client:
        count[3, 64](2)
    assert counter.numpy().tolist() == [100 + 3 * 64 * 2]
    assert weigh.variable(client, "tests::start", "f64").numpy().tolist() == [5]
    with pytest.raises(ArgumentError, match="its text has no variable 'weight'"):
        weigh.variable(client, "weight", "f32")
    with pytest.raises(ArgumentError, match="weights has 16 bytes, and a Vec"):
        weigh.variable(client, "weights", dsl.Vec[dsl.f32, 3])


def test_constant_memory(client):
    x = np.arange(1001, dtype=np.float32)
    y = client.full(1001, -1, "f32")
    cpp("weigh", "x: f32[:], y: f32[:], n: i32")[4, 256](client.array(x), y, 1001)
    np.testing.assert_array_equal(y.numpy(), x * np.resize(np.float32([0.5, 0.25, 0.125, 4]), 1001))


@pytest.mark.parametrize("width", [1, 63, 1021])
def test_shared_memory_that_the_launch_gives(client, width):
    rows = cpp("rows", "m: f32[:, :], sums: f32[:], width: i32", written=("sums",))
    m = np.random.default_rng(width).integers(-50, 50, (67, width)).astype(np.float32)
    for block in (32, 256):
        sums = client.full(67, np.nan, "f32")
        rows.options(shared_bytes=4 * block)[67, block](client.array(m), sums, width)
        np.testing.assert_array_equal(sums.numpy(), m.sum(axis=1))


def test_shared_memory_up_to_the_device_s_limit(client):
    """Sizes in any order: a smaller one does not take from a larger one what the driver allows it."""
    last, out = cpp("last", "out: i32[:], n: i32"), client.zeros(1, "i32")
    limit = client.target.limits.shared_memory
    for nbytes in (limit, 1 << 10, limit, 60 << 10):
        last.options(shared_bytes=nbytes)[1, 256](out, nbytes // 4)
        assert out.numpy()[0] == nbytes // 4 - 1
    with pytest.raises(TooManyResources, match=f"shared memory per block: {limit + 4} requested"):
        last.options(shared_bytes=limit + 4)[1, 256](out, 1)
    text = CPP.replace(
        "extern __shared__ int large[];",
        "extern __shared__ int large[]; __shared__ volatile int own[64]; own[threadIdx.x % 64] = n;",
    )
    both = cpp("last", "out: i32[:], n: i32", text)
    with pytest.raises(TooManyResources, match="are the kernel's own, and a launch gives"):
        both.options(shared_bytes=limit - 4)[1, 256](out, 1)
    both.options(shared_bytes=4096)[1, 256](out, 1024)
    assert out.numpy()[0] == 1023


@pytest.mark.parametrize("n", SIZES)
def test_ptx_text(client, ptx, n):
    x = np.arange(n, dtype=np.float32)
    array = client.array(x)
    k = ptx("axpb", "x: f32[:], a: f32, b: f32, n: u32")
    k[-(-n // 192), 192](array, 2.0, 5.0, n)
    k[-(-n // 192), 192](array, b=-1.0, a=0.5, n=n)
    np.testing.assert_array_equal(array.numpy(), (2 * x + 5) * np.float32(0.5) - 1)


def test_ptx_that_nvrtc_made(client, ptx):
    from ruda_driver_cuda import nvrtc
    from ruda_driver_cuda.compiler import architecture
    from ruda_driver_cuda.target import capability_of

    sm = architecture(capability_of(client.target.name))
    made = nvrtc.compile(CPP, [f"--gpu-architecture={sm}"], "made.cu").ptx
    x, y = client.array(np.arange(333, dtype=np.float32)), client.zeros(333, "f32")
    ptx("saxpy", "a: f32, x: f32[:], y: f32[:], n: i32", made)[3, 128](4.0, x, y, 333)
    np.testing.assert_array_equal(y.numpy(), 4 * np.arange(333))


def test_wrong_text_and_then_good_text(client, ptx):
    x, y = client.full(100, 2, "f32"), client.zeros(100, "f32")
    params = "a: f32, x: f32[:], y: f32[:], n: i32"
    with pytest.raises(ValidationError, match='identifier "z" is undefined'):
        cpp("saxpy", params, CPP.replace("a * x[i]", "a * z[i]"))[1, 128](1.0, x, y, 100)
    with pytest.raises(ValidationError, match="there is no such kernel in its text"):
        cpp("saxpi", params)[1, 128](1.0, x, y, 100)
    with pytest.raises(ValidationError, match="params declares n as i64"):
        cpp("saxpy", params.replace("i32", "i64"))[1, 128](1.0, x, y, 100)
    with pytest.raises(ValidationError, match="nvJitLink refuses its text"):
        ptx("axpb", "x: f32[:], a: f32, b: f32, n: u32", PTX.replace("%f3, %f1", "%f3, %g1"))[1, 128](x, 1, 1, 100)
    with pytest.raises(ArgumentError, match=r"pass x\.copy\(\)"):
        saxpy[1, 128](1.0, x[::2], y, 50)
    with pytest.raises(TooManyResources, match="block x: 2048 requested, the device allows 1024"):
        saxpy[1, 2048](1.0, x, y, 100)
    saxpy[1, 128](3.0, x, y, 100)
    np.testing.assert_array_equal(y.numpy(), 6)


def test_order_with_python_kernels_on_streams(client):
    """Many launches that depend on each other, on streams by turns, and no wait on the host."""
    n = 1 << 20
    x, y = client.zeros(n, "f32"), client.zeros(n, "f32")
    streams = [client.stream() for _ in range(3)]
    for k, stream in zip(range(60), itertools.cycle(streams), strict=False):
        fill.forall(n, stream)(x, float(k))
        saxpy[n // 256, 256, streams[(k + 1) % 3]](1.0, x, y, n)
    np.testing.assert_array_equal(y.numpy(), sum(range(60)))


def test_the_parameters_of_a_launch_are_its_own(client):
    """The next launch does not change what one before it, which still waits, was given."""
    n = 1 << 16
    k = cpp("scale<float, 1>", "x: f32[:], a: f32, n: i64")
    arrays = [client.full(n, 1, "f32") for _ in range(200)]
    for number, array in enumerate(arrays):
        k[n // 256, 256](array, float(number), n)
    for number, array in enumerate(arrays):
        assert array[::997].numpy().tolist() == [number] * len(range(0, n, 997))


def test_tensors_of_torch(client):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    for shape in ((1,), (3, 7, 11), (1023, 33)):
        x = torch.arange(np.prod(shape), device="cuda", dtype=torch.float32).reshape(shape)
        y = torch.ones_like(x)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y += 1
            saxpy[-(-x.numel() // 64), 64](2.0, x, y, x.numel())
            y *= 3
            found = y.cpu()
        assert torch.equal(found, (2 + 2 * x.cpu()) * 3)
    matrix = torch.ones(4, 6, device="cuda")
    with pytest.raises(ArgumentError, match=r"pass y\.copy\(\)"):
        saxpy[1, 32](1.0, matrix, matrix.T, 24)


def test_empty_arrays(client):
    empty = client.empty(0, "f32")
    saxpy[1, 32](1.0, empty, empty, 0)
    saxpy[0, 32](1.0, empty, empty, 0)
    client.sync()


def test_the_guide_s_programs(client):
    """Those that a device is needed for, in the order of the page, and what they print."""
    if not GUIDE.exists():
        pytest.skip("absent: the guide, from which these tests were copied away")
    printed, names = [], {"print": lambda *values: printed.append(" ".join(map(str, values)))}
    blocks = re.findall(r"^```(?:python|py)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    wanted = [line for block in blocks for line in re.findall(r"^print\(.*?\)  # (.*)$", block, re.MULTILINE)]
    assert len(wanted) == 4
    for block in blocks:
        if "write_bytes" not in block:
            exec(compile(block, "guide.py", "exec"), names)
    assert printed[0].startswith("<cuda-c++ kernel saxpy(a, x, y, n) of ")
    assert printed[1:] == wanted[1:]
