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

struct Args {
  f32* a_;
  i64 a_e0;
  i64 a_e1;
  i64 a_s0;
  i64 a_s1;
  f32* out_;
  i64 out_e0;
  i64 out_e1;
  i64 out_s0;
  i64 out_s1;
};
extern "C" __global__ void __launch_bounds__(256) ruda_transpose(const __grid_constant__ Args args) {
  f32* const a_ = args.a_;
  f32* const out_ = args.out_;
  alignas(16) __shared__ f32 tile_[272];
  __builtin_assume(threadIdx.x < 16u);
  __builtin_assume(threadIdx.y < 16u);
#line 25 "golden_kernels.py"
  const i32 tx_ = i32(threadIdx.x);
#line 25 "golden_kernels.py"
  const i32 ty_ = i32(threadIdx.y);
  const i32 x_ = i32(u32(u32(blockIdx.x) * 16u) + u32(tx_));
#line 26 "golden_kernels.py"
  const i32 y_ = i32(u32(u32(blockIdx.y) * 16u) + u32(ty_));
  f32 a_at_ = 0x0p+0f;
  if (bool((u32(y_) < u32(args.a_e0)) & (u32(x_) < u32(args.a_e1)))) a_at_ = a_[i32(u32(u32(y_) * u32(args.a_e1)) + u32(x_))];
#line 27 "golden_kernels.py"
  if (bool((u32(ty_) < 16u) & (u32(tx_) < 17u))) tile_[i32(u32(u32(ty_) * 17u) + u32(tx_))] = a_at_;
  __syncthreads();
  f32 tile_at_ = 0x0p+0f;
  if (bool((u32(tx_) < 16u) & (u32(ty_) < 17u))) tile_at_ = tile_[i32(u32(u32(tx_) * 17u) + u32(ty_))];
#line 29 "golden_kernels.py"
  if (bool((u32(u32(u32(blockIdx.x) * 16u) + u32(ty_)) < u32(args.out_e0)) & (u32(u32(u32(blockIdx.y) * 16u) + u32(tx_)) < u32(args.out_e1)))) out_[i32(u32(u32(u32(u32(blockIdx.x) * 16u) + u32(ty_)) * u32(args.out_e1)) + u32(u32(u32(blockIdx.y) * 16u) + u32(tx_)))] = tile_at_;
}
