
__device__ int counter;

template <typename T, int N> __global__ void __launch_bounds__(256) scale(T *x, T a) {
    x[threadIdx.x] *= a * N;  // __global__ void comment(int)
}

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
    if (i == 0) counter += 1;
}

namespace blas {
__global__ void mixed(bool b, double *y, unsigned char c, long long k, unsigned short s) { y[0] = b + c + k + s; }
}

__global__ void over(float *y) { y[0] = 1; }
__global__ void over(int *y) { y[0] = 1; }
__global__ void triple(float *x, float3 by) { x[0] = by.x; }
