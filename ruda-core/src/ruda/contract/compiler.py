"""Compiler: from a lowered kernel to what the server loads, in two steps so that core can cache between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from ruda import ir
from ruda.contract.abstract import Abstract
from ruda.contract.arguments import ArgumentLayout
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
class SourceText:
    """A hand-written kernel, in a language that a compiler takes.

    Attributes:
        name: the kernel, as the language names it; there may be others in ``text``.
        text: what the user wrote.
        language: one of :attr:`Compiler.languages`.
        layout: the packed block of a launch, :meth:`ArgumentLayout.natural`.
        options: for the language's compiler, as it spells them.
        headers: texts by the names that ``text`` includes them by.
        shared_bytes: shared memory that a launch gives besides what ``text`` declares, in bytes.
        pos: the place of the first line of ``text`` in a file of the user's.
        folder: where the files lie that ``text`` includes by relative names, or "".
    """

    name: str
    text: str
    language: str
    layout: ArgumentLayout
    options: tuple[str, ...]
    headers: Mapping[str, str]
    shared_bytes: int
    pos: ir.Pos
    folder: str


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

    #: The languages of hand-written kernels that :meth:`take` takes, for instance ``"ptx"``.
    languages: tuple[str, ...] = ()

    def __init__(self, target: Target) -> None:
        self.target = target

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Must change whenever :meth:`build` could give other code for the same text."""

    @abstractmethod
    def emit(self, kernel: ir.Kernel) -> Source:
        """The text of ``kernel``; must raise ``UnsupportedInstruction`` for an op it has no row for."""

    def take(self, text: SourceText) -> Source:
        """A hand-written kernel as the input of :meth:`build`, whose code it must lead to the kernel of that name.

        Everything that the code depends on must be in ``Source.text``, which is the key of the disk cache: options,
        headers that are files, what else compiles it besides what :attr:`fingerprint` tells. :meth:`build` must raise
        ``ValidationError`` with the compiler's own words and the user's lines for a text that is refused, that has no
        such kernel (it names those there are), or whose kernel has other parameters than ``layout``. Raises
        ``ValidationError`` for options that cannot be.
        """
        raise NotImplementedError(f"{type(self).__name__} takes no {text.language}")

    @abstractmethod
    def build(self, source: Source) -> bytes:
        """Code from text; raises ``CompilationError``. May be called from several threads."""

    def stage(self, name: str, source: Source) -> str:
        """``source`` in the form ``name``, one of :attr:`stages`; raises as :meth:`build`."""
        raise NotImplementedError(f"{type(self).__name__} has no stage {name}")

    def registers(self, binary: bytes) -> int | None:
        """Registers that a thread of ``binary`` takes, or None where the device has none to count."""
        return None
