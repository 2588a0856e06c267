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
  alignas(8) f32 a_;
  f32* x_;
  i64 x_e0;
  i64 x_s0;
  f32* y_;
  i64 y_e0;
  i64 y_s0;
};
extern "C" __global__ void __launch_bounds__(256) ruda_saxpy(const __grid_constant__ Args args) {
  f32* const x_ = args.x_;
  f32* const y_ = args.y_;
  __builtin_assume(threadIdx.x < 256u);
#line 11 "golden_kernels.py"
  const i32 i_ = i32(u32(blockIdx.x) * 256u + threadIdx.x);
  f32 x_at_ = 0x0p+0f;
  if (u32(i_) < u32(args.x_e0)) x_at_ = x_[i_];
#line 12 "golden_kernels.py"
  f32 y_at_ = 0x0p+0f;
  if (u32(i_) < u32(args.y_e0)) y_at_ = y_[i_];
#line 12 "golden_kernels.py"
  if (u32(i_) < u32(args.y_e0)) y_[i_] = (args.a_ * x_at_) + y_at_;
}
