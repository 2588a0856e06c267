"""A hand-written kernel on its way to programs on devices, each made once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruda import cache
from ruda.cache.history import Compile
from ruda.config import settings
from ruda.contract import ArgumentLayout, Compiler, SourceText
from ruda.errors import ArgumentError, LaunchError, TooManyResources
from ruda.frontend import ArrayAnnotation, Parameter, ScalarAnnotation
from ruda.host import Array, ComputeClient
from ruda.host.memory import Ids, Memory, later
from ruda.host.pool import Block
from ruda.host.stream import current_stream
from ruda.launch.arguments import signature
from ruda.launch.compilation import Facts, key_of
from ruda.launch.dump import folder_of, write
from ruda.launch.once import Once
from ruda.launch.specialise import Program
from ruda.target import Dim3, Target
from ruda.types import ElementType


@dataclass(frozen=True, eq=False)
class HandWritten:
    """What a user says of a hand-written kernel.

    Attributes:
        params: its parameters, annotated.
        text: what a compiler takes of it.
        written: the parameters whose arrays it writes.
    """

    params: tuple[Parameter, ...]
    text: SourceText
    written: tuple[str, ...]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.text.name

    def facts(self, target: Target, compiler: Compiler, block: Dim3) -> Facts:
        """What loading and launching need besides the code.

        Raises:
            LaunchError: the compiler does not take the language.
            TooManyResources: more shared memory or arrays than the target allows.
            ValidationError: options that cannot be.
        """
        self._check(target, compiler)
        text, source = self.text, compiler.take(self.text)
        key = key_of(target, compiler, source)
        return Facts(self.name, source, block, text.shared_bytes, text.layout, self.written, key)

    def binary(self, target: Target, compiler: Compiler, facts: Facts) -> bytes:
        """The code, from the cache or built."""

        def build() -> bytes:
            start = time.perf_counter()
            code = compiler.build(facts.source)
            seconds = time.perf_counter() - start
            place = self.text.pos
            parts = self._parts(target, compiler, facts)
            Compile(self.name, place.file, place.line, target.driver, parts, seconds).record()
            return code

        return cache.fetch(target.driver, self.name, facts.key, build)

    def _check(self, target: Target, compiler: Compiler) -> None:
        text, limits = self.text, target.limits
        if text.language not in compiler.languages:
            takes = " and ".join(compiler.languages) or "no hand-written kernels"
            raise LaunchError(f"{self.name} ({text.pos}) is written in {text.language}; {target} takes {takes}")
        if text.shared_bytes > limits.shared_memory:
            what = f"kernel {self.name} ({text.pos}): bytes of shared memory per block"
            raise TooManyResources(what, text.shared_bytes, limits.shared_memory, "use smaller blocks or tiles")
        arrays = sum(isinstance(p.annotation, ArrayAnnotation) for p in self.params)
        if limits.bindings is not None and arrays > limits.bindings:
            raise TooManyResources(f"kernel {self.name}: array arguments", arrays, limits.bindings, "pass fewer arrays")

    def _parts(self, target: Target, compiler: Compiler, facts: Facts) -> Mapping[str, str]:
        """What makes its code what it is, by names for people."""
        text = self.text
        return {
            "the text": hashlib.sha256(text.text.encode()).hexdigest(),
            "the source with its headers": hashlib.sha256(facts.source.text.encode()).hexdigest(),
            "the options": " ".join(text.options),
            "the parameters": ", ".join(f"{p.name}: {p.annotation}" for p in self.params),
            "target": f"{target} {target.fingerprint}",
            "compiler": compiler.fingerprint,
        }


@dataclass(frozen=True, eq=False)
class Programs:
    """The programs of one hand-written kernel, made when they are first asked for; from any thread."""

    kernel: HandWritten
    _made: Once[Program] = field(default_factory=Once)

    def get(self, client: ComputeClient, block: Dim3) -> Program:
        """The program for blocks of this size; raises as :meth:`HandWritten.facts` and ``Compiler.build``."""
        return self._made.get((client, block), lambda: self._loaded(client, block))

    def variable(self, client: ComputeClient, name: str, elem: ElementType) -> Array:
        """A variable of the text as an array, which keeps the program; see :meth:`ruda.SourceKernel.variable`."""
        program = self.get(client, (1, 1, 1))
        found = client.server.variable(program.handle, name)
        count, rest = divmod(found.nbytes, elem.size)
        if rest:
            raise ArgumentError(f"{self.kernel.name}: {name} has {found.nbytes} bytes, and a {elem} has {elem.size}")

        def release(_: Block, ids: Ids, kept: Program = program) -> None:
            for id in client.living(ids):
                client.server.synchronize(id)  # before the code may go

        stream, block = current_stream(client) or client.stream0, Block(found, 0, found.nbytes, shared=False)
        return Array(client, Memory(block, stream, later(client.deferred, release)), elem, (count,), (elem.size,))

    def _loaded(self, client: ComputeClient, block: Dim3) -> Program:
        kernel, target, compiler = self.kernel, client.target, client.compiler
        facts = kernel.facts(target, compiler, block)
        folder = settings().dump
        place = folder and folder_of(folder, kernel.name, target, facts.source.text)
        if place:
            write(place / "source.txt", facts.source.text.encode())
        binary = kernel.binary(target, compiler, facts)
        if place:
            write(place / "code.bin", binary)
        return Program(client, facts, client.load(facts.compiled(binary)))


def layout_of(params: tuple[Parameter, ...]) -> ArgumentLayout:
    """The packed block of a launch of a hand-written kernel with these parameters."""
    return ArgumentLayout.natural((p.name, _value(p.annotation)) for p in params)


def with_shared(kernel: HandWritten, shared_bytes: int) -> HandWritten:
    """The kernel with so many bytes of shared memory given by each launch."""
    return replace(kernel, text=replace(kernel.text, shared_bytes=shared_bytes))


def described(kernel: HandWritten) -> str:
    """The kernel in a line, for people."""
    return f"{kernel.text.language} kernel {signature(kernel)} of {kernel.text.pos}"


def _value(annotation: Any) -> ElementType | None:
    return annotation.type if isinstance(annotation, ScalarAnnotation) else None
