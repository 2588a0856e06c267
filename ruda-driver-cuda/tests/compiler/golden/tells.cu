// nvrtc --gpu-architecture=sm_80 --std=c++17 --generate-line-info --fmad=false --prec-div=true --prec-sqrt=true --disable-warnings
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef u16 f16;
typedef u16 bf16;
typedef u8 f8e4m3;
typedef u8 f8e5m2;
#define FN static __device__ __forceinline__

FN u32 atomic_load_u32(const u32* at) { u32 r; asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(r) : "l"(at) : "memory"); return u32(r); }

struct Args {
  f32* x_;
  i64 x_e0;
  i64 x_s0;
  alignas(8) u8 flag_;
  u32* diagnostics_;
  i64 diagnostics_e0;
  i64 diagnostics_s0;
  alignas(8) u32 launch_;
};
extern "C" __global__ void __launch_bounds__(64) ruda_tells(const __grid_constant__ Args args) {
  f32* const x_ = args.x_;
  u32* const diagnostics_ = args.diagnostics_;
  __builtin_assume(threadIdx.x < 64u);
#line 100 "golden_kernels.py"
  const i32 i_ = i32(u32(blockIdx.x) * 64u + threadIdx.x);
  if (bool((args.flag_ != 0) & (i_ == 3))) {
    f32 x_at_ = 0x0p+0f;
    if (u32(i_) < u32(args.x_e0)) x_at_ = x_[i_];
#line 102 "golden_kernels.py"
    const u32 seen_0_ = atomic_load_u32(&diagnostics_[0]);
#line 102 "golden_kernels.py"
    u32 at_0_ = seen_0_;
#line 102 "golden_kernels.py"
    if (at_0_ < u32(args.diagnostics_e0)) {
#line 102 "golden_kernels.py"
      const u32 taken_0_ = atomicAdd(&diagnostics_[0], 7u);
#line 102 "golden_kernels.py"
      at_0_ = taken_0_;
    }
#line 102 "golden_kernels.py"
    if ((at_0_ + 7u) <= u32(args.diagnostics_e0)) {
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_)] = args.launch_;
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_ + 1u)] = 0u;
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_ + 2u)] = u32(blockIdx.x);
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_ + 3u)] = u32(blockIdx.y);
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_ + 4u)] = u32(blockIdx.z);
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_ + 5u)] = u32(threadIdx.x);
#line 102 "golden_kernels.py"
      diagnostics_[i32(at_0_ + 6u)] = __float_as_uint(x_at_);
    }
    else {
#line 102 "golden_kernels.py"
      if (at_0_ < u32(args.diagnostics_e0)) {
#line 102 "golden_kernels.py"
        diagnostics_[i32(at_0_)] = 0u;
      }
#line 102 "golden_kernels.py"
      atomicAdd(&diagnostics_[1], 1u);
    }
  }
}
