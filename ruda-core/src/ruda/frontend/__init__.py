"""The typed front end: a Python function becomes an ``ir.Kernel``.

``KernelSource.of(function)`` reads the text once, where the kernel is defined;
``build`` makes one specialisation. Building types and emits in the same pass:
a handler for each Python construct turns AST into IR and knows the types of
its operands. Types of variables are a fixpoint over such passes
(``variables``); what is known at compile time is computed by Python.
"""

from ruda.frontend.annotations import (
    Annotation,
    ArrayAnnotation,
    BundleAnnotation,
    ConstAnnotation,
    NumberAnnotation,
    ScalarAnnotation,
)
from ruda.frontend.build import ArraySpec, BundleSpec, ConstSpec, ScalarSpec, Spec, build
from ruda.frontend.device import DeviceFunction, func
from ruda.frontend.source import KernelSource, Parameter, identity_of, inputs_of

__all__ = [
    "Annotation",
    "ArrayAnnotation",
    "ArraySpec",
    "BundleAnnotation",
    "BundleSpec",
    "ConstAnnotation",
    "ConstSpec",
    "DeviceFunction",
    "KernelSource",
    "NumberAnnotation",
    "Parameter",
    "ScalarAnnotation",
    "ScalarSpec",
    "Spec",
    "build",
    "func",
    "identity_of",
    "inputs_of",
]
