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

template <class T> FN T lane_value(u32 mask, T x, u32 lane) {
  const T there = __shfl_sync(mask, x, lane);
  return lane < 32u && (mask >> lane & 1u) ? there : x;
}
FN bool stays(u32& mask, bool more) { mask = __ballot_sync(mask, more); return more; }
FN i32 scan_add_i32(u32 mask, i32 x, u32 lane) {
  if ((mask & (mask + 1u)) == 0u) {
    for (u32 d = 1u; d < 32u; d <<= 1) {
      const i32 below = __shfl_up_sync(mask, x, d);
      if (lane >= d) x = i32(u32(below) + u32(x));
    }
    return x;
  }
  i32 total = __shfl_sync(mask, x, __ffs(mask) - 1);
  for (u32 left = mask & (mask - 1u); left != 0u; left &= left - 1u) {
    const u32 from = u32(__ffs(left) - 1);
    const i32 other = __shfl_sync(mask, x, from);
    if (from <= lane) total = i32(u32(total) + u32(other));
  }
  return total;
}
FN i32 before_i32(u32 mask, i32 x, i32 identity, u32 lane) {
  const u32 below = mask & ((1u << lane) - 1u);
  const i32 there = __shfl_sync(mask, x, below != 0u ? 31 - __clz(below) : int(lane));
  return below != 0u ? there : identity;
}

struct Args {
  i32* x_;
  i64 x_e0;
  i64 x_s0;
  i64* out_;
  i64 out_e0;
  i64 out_s0;
};
extern "C" __global__ void __launch_bounds__(48) ruda_subgroups(const __grid_constant__ Args args) {
  i32* const x_ = args.x_;
  i64* const out_ = args.out_;
  __builtin_assume(threadIdx.x < 48u);
  const u32 lane = (threadIdx.x) % 32u;
  const u32 lanes = (threadIdx.x) / 32u == 1u ? 0xffffu : 0xffffffffu;
#line 43 "golden_kernels.py"
  const i32 i_ = i32(u32(blockIdx.x) * 48u + threadIdx.x);
  i32 x_at_ = 0;
  if (u32(i_) < u32(args.x_e0)) x_at_ = x_[i_];
#line 44 "golden_kernels.py"
  const i32 add_ = i32(__reduce_add_sync(lanes, u32(x_at_)));
#line 44 "golden_kernels.py"
  i32 total_ = add_;
  i32 x_at_1_ = 0;
  if (u32(i_) < u32(args.x_e0)) x_at_1_ = x_[i_];
#line 45 "golden_kernels.py"
  const bool taken1 = x_at_1_ > 2;
  const u32 mask2 = __ballot_sync(lanes, taken1);
  if (taken1) {
#line 46 "golden_kernels.py"
    const u32 distance3 = 1u;
    const i32 shuffle_down_ = lane_value(mask2, total_, distance3 < 32u ? lane + distance3 : 32u);
#line 46 "golden_kernels.py"
    total_ = i32(u32(total_) + u32(shuffle_down_));
  }
  else {
#line 48 "golden_kernels.py"
    i32 x_at_2_ = 0;
    if (u32(i_) < u32(args.x_e0)) x_at_2_ = x_[i_];
#line 48 "golden_kernels.py"
    {
      const u32 n4 = (0 < x_at_2_) ? u32(x_at_2_) : 0u;
      u32 mask5 = (lanes & ~mask2);
      for (u32 round6 = 0; stays(mask5, round6 < n4); ++round6) {
        const i32 k_ = i32(round6);
#line 49 "golden_kernels.py"
        const bool leaves7 = total_ > 100;
        mask5 = __ballot_sync(mask5, !leaves7);
        if (leaves7) break;
#line 51 "golden_kernels.py"
        const i32 exclusive_add_ = before_i32(mask5, scan_add_i32(mask5, k_, lane), 0, lane);
#line 51 "golden_kernels.py"
        total_ = i32(u32(total_) + u32(exclusive_add_));
      }
    }
  }
#line 52 "golden_kernels.py"
  if (u32(i_) < u32(args.out_e0)) out_[i_] = i64(total_);
}
