"""Launching kernels: kernels in Python and in drivers' own languages, specialisation, the generated launcher."""

from ruda.launch.inspection import Compiled, KernelLimits
from ruda.launch.kernels import Kernel, kernel
from ruda.launch.source_kernels import SourceKernel, source_kernel

__all__ = ["Compiled", "Kernel", "KernelLimits", "SourceKernel", "kernel", "source_kernel"]
