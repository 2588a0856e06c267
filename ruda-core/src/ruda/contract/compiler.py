"""Compiler: from a lowered kernel to what the server loads, in two steps so that core can cache between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from ruda import ir
from ruda.contract.abstract import Abstract
from ruda.target import Dim3, Target


@dataclass(frozen=True)
class Source:
    """Emitted text of one kernel.

    Attributes:
        text: the whole input of :meth:`Compiler.build`.
        entry: name of the entry point in ``text``.
        metadata: small facts that the server needs at a launch, kept in the disk entry. ``"diagnostics"`` is core's:
            the table (``passes.diagnostics``) of what the kernel tells the host.
    """

    text: str
    entry: str
    metadata: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class CompiledKernel:
    """Code that a server can load.

    Attributes:
        name: the kernel's Python name, for messages.
        source: what it was built from.
        binary: object code, or the text's bytes where the device takes text.
        block_dim: block dimensions (x, y, z) that the code was made for.
        shared_bytes: shared memory a block, in bytes.
    """

    name: str
    source: Source
    binary: bytes
    block_dim: Dim3
    shared_bytes: int


class Compiler(Abstract):
    """Makes code for one target. A compiler must not need a device.

    It must raise ``CompilationError`` or a subclass that names the kernel, the
    user's file:line and the target, and must never fall back to another
    compiler, precision or device. ``emit`` must be deterministic: the digest
    of its text is the key of the disk cache.
    """

    #: False for a compiler that takes the front end's IR before any pass.
    lowered: bool = True

    #: Names of further forms of a kernel that :meth:`stage` gives, for people to read, for instance ``"asm"``.
    stages: tuple[str, ...] = ()

    def __init__(self, target: Target) -> None:
        self.target = target

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Must change whenever :meth:`build` could give other code for the same text."""

    @abstractmethod
    def emit(self, kernel: ir.Kernel) -> Source:
        """The text of ``kernel``; must raise ``UnsupportedInstruction`` for an op it has no row for."""

    @abstractmethod
    def build(self, source: Source) -> bytes:
        """Code from text; raises ``CompilationError``. May be called from several threads."""

    def stage(self, name: str, source: Source) -> str:
        """``source`` in the form ``name``, one of :attr:`stages`; raises as :meth:`build`."""
        raise NotImplementedError(f"{type(self).__name__} has no stage {name}")

    def registers(self, binary: bytes) -> int | None:
        """Registers that a thread of ``binary`` takes, or None where the device has none to count."""
        return None
