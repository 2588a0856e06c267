"""Launching kernels: ``@ruda.kernel``, specialisation, the compile cache and the generated launcher."""

from ruda.launch.inspection import Compiled, KernelLimits
from ruda.launch.kernels import Kernel, kernel

__all__ = ["Compiled", "Kernel", "KernelLimits", "kernel"]
