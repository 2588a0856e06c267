"""The cases on the GPU, a file each."""

from gpu_cases.case import Case, Run
from gpu_cases.copy import Copy
from gpu_cases.cumsum import CumSum
from gpu_cases.histogram import Histogram
from gpu_cases.saxpy import Saxpy
from gpu_cases.softmax import Softmax
from gpu_cases.sum import Sum
from gpu_cases.transpose import Transpose

CASES: tuple[type[Case], ...] = (Copy, Saxpy, Transpose, Softmax, Sum, Histogram, CumSum)

__all__ = ["CASES", "Case", "Run"]
