"""The cases, a file each."""

from cases.black_scholes import BlackScholes
from cases.case import Case, Entry
from cases.chain import Chain
from cases.copy import Copy
from cases.histogram import Histogram
from cases.mandelbrot import Mandelbrot
from cases.matmul import MatMul
from cases.nbody import NBody
from cases.saxpy import Saxpy
from cases.softmax import Softmax
from cases.spmv import SpMV
from cases.stencil import Stencil
from cases.sum import Sum
from cases.transpose import Transpose

CASES: tuple[type[Case], ...] = (
    Saxpy,
    Copy,
    Sum,
    Histogram,
    Stencil,
    NBody,
    Softmax,
    Transpose,
    SpMV,
    BlackScholes,
    Mandelbrot,
    Chain,
    MatMul,
)

__all__ = ["CASES", "Case", "Entry"]
