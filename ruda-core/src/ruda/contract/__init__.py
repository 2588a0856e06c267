"""What a driver implements. Docstrings use must, should and may as RFC 2119 does.

A driver provides a :class:`~ruda.runtime.Runtime` with a :class:`Device`, a
:class:`Compiler` and a :class:`Server`, and announces it with the hook of
``ruda.contract.hooks``. Everything else is core's.
"""

from ruda.contract.arguments import ArgumentLayout, Slot
from ruda.contract.compiler import CompiledKernel, Compiler, Source, SourceText
from ruda.contract.device import Device, Probe, RuntimeOptions
from ruda.contract.foreign import packed_call
from ruda.contract.server import Allocation, Binding, ExternalMemory, ExternalStreams, MemoryInfo, PinnedMemory, Server

__all__ = [
    "Allocation",
    "ArgumentLayout",
    "Binding",
    "CompiledKernel",
    "Compiler",
    "Device",
    "ExternalMemory",
    "ExternalStreams",
    "MemoryInfo",
    "PinnedMemory",
    "Probe",
    "RuntimeOptions",
    "Server",
    "Slot",
    "Source",
    "SourceText",
    "packed_call",
]
