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
  u32* out_;
  i64 out_e0;
  i64 out_s0;
};
extern "C" __global__ void __launch_bounds__(100) ruda_large_shared(const __grid_constant__ Args args) {
  u32* const out_ = args.out_;
  alignas(16) extern __shared__ u8 shared[];
  u32* const words_ = reinterpret_cast<u32*>(shared + 0);
  u8* const bytes_ = reinterpret_cast<u8*>(shared + 400);
  __builtin_assume(threadIdx.x < 100u);
#line 86 "golden_kernels.py"
  const i32 t_ = i32(threadIdx.x);
  if (u32(t_) < 50001u) bytes_[t_] = u8(t_);
#line 87 "golden_kernels.py"
  if (u32(t_) < 100u) words_[t_] = u32(t_);
  __syncthreads();
  u32 words_at_ = 0u;
  if (u32(99u - u32(t_)) < 100u) words_at_ = words_[i32(99u - u32(t_))];
#line 89 "golden_kernels.py"
  u8 bytes__at_ = u8(0);
  if (u32(50000u - u32(t_)) < 50001u) bytes__at_ = bytes_[i32(50000u - u32(t_))];
#line 89 "golden_kernels.py"
  if (u32(t_) < u32(args.out_e0)) out_[t_] = words_at_ + u32(bytes__at_);
}
