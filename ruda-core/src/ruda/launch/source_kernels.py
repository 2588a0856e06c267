"""``ruda.source_kernel``: kernels that are written in a language of a driver's own."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ruda.contract import SourceText
from ruda.errors import ArgumentError, LaunchError, TooManyResources
from ruda.frontend import ArrayAnnotation, ScalarSpec, Spec
from ruda.host import Array, ComputeClient, scalars
from ruda.ir import Pos
from ruda.launch.arguments import Arguments, signature
from ruda.launch.bound import Config, Dims, Launch
from ruda.launch.launchable import Launchable
from ruda.launch.source_params import parameters
from ruda.launch.source_programs import HandWritten, Programs, described, layout_of, with_shared
from ruda.launch.specialise import Program
from ruda.types import ScalarType, as_element


class SourceKernel(Launchable):
    """A kernel whose text is in a driver's own language; made by :func:`source_kernel`.

    ``kernel[grid, block](*args)`` launches it, as :class:`~ruda.Kernel`: a third item or ``with stream:`` gives the
    stream, arguments may be keywords, arrays of other libraries are taken where they lie. Nothing checks what the text
    does with its pointers.

    Raises (from a launch):
        ArgumentError: an argument that the kernel does not take, or an array with gaps.
        LaunchError: the device's driver does not take the language; names those that it takes.
        TooManyResources: over a limit of the device.
        ValidationError: the text is refused; with the compiler's words, and the lines of the text.
    """

    def __init__(self, programs: Programs, family: dict[int, SourceKernel]) -> None:
        kernel = programs.kernel
        super().__init__(kernel, or_else="", memory="is given by .options(shared_bytes=n)")
        self.__name__ = kernel.name
        self._programs = programs
        self._family = family  # one kernel for each size of shared memory
        family[kernel.text.shared_bytes] = self

    def options(self, *, shared_bytes: int) -> SourceKernel:
        """The same kernel with ``shared_bytes`` of shared memory that the text leaves to the launch."""
        if type(shared_bytes) is not int or shared_bytes < 0:
            raise LaunchError(f"shared_bytes is {shared_bytes!r}; it is a number of bytes, such as 4096")
        found = self._family.get(shared_bytes)
        return found or SourceKernel(Programs(with_shared(self._programs.kernel, shared_bytes)), self._family)

    def compile(self, target: str) -> bytes:
        """The code for ``target``, ``"cuda:sm_90"``, which need not be here, or ``"cuda"``, a driver's first device.

        Raises:
            DriverNotFound, DeviceNotFound: no such target.
            LaunchError, ValidationError: as a launch.
        """
        from ruda import registry  # not at import: launches do not need it

        kernel, compiler = self._programs.kernel, registry.compiler(target)
        facts = kernel.facts(compiler.target, compiler, (1, 1, 1))
        return kernel.binary(compiler.target, compiler, facts)

    def variable(self, client: ComputeClient, name: str, dtype: Any) -> Array:
        """A variable of the text, on the device of ``client``, as an array of one axis, to read and write.

        It is the same one for all kernels of the same text and options. Launches do not order themselves by it: write
        it on the stream that launches the kernel, or wait in between.

        Args:
            client: where.
            name: as the text has it: ``"weights"``, ``"ns::weights"``; CUDA C++ has ``__device__`` and ``__constant__``
                variables.
            dtype: of its elements, of which it has as many as fill its bytes.

        Raises:
            ArgumentError: no variable of that name, or its bytes are not those of whole elements.
            LaunchError, ValidationError: as a launch.
        """
        return self._programs.variable(client, name, as_element(dtype))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ArgumentError(
            f"a kernel is launched on a grid of blocks: write {self._name}[grid, block](...); it is "
            f"{signature(self._programs.kernel)}"
        )

    def __repr__(self) -> str:
        return f"<{described(self._programs.kernel)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._programs.kernel,)

    def _launch(self, config: Config) -> Launch:
        return SourceLaunch(self._programs, config)


class SourceLaunch(Launch):
    """A launch of a hand-written kernel."""

    def __init__(self, programs: Programs, config: Config) -> None:
        super().__init__(programs.kernel, config)
        self._programs = programs

    def _arguments(self, values: Sequence[Any]) -> Arguments:
        arguments = super()._arguments(values)
        for name, array in arguments.arrays.items():
            if array.layout != "c":
                raise ArgumentError(
                    f"{self._signature.name}: argument {name!r} has shape {array.shape} and strides {array.strides}, "
                    f"and the text gets no more than its address; pass {name}.copy(), which has no gaps"
                )
        return arguments

    def _encode(self, spec: Spec, value: Any) -> Any:
        """A vector or struct as the bytes that it has in memory."""
        if isinstance(spec, ScalarSpec) and not isinstance(spec.type, ScalarType):
            return scalars.element(spec.type, value)
        return super()._encode(spec, value)

    def _program(self, arguments: Arguments, client: ComputeClient, dims: Dims) -> Program:
        return self._programs.get(client, dims.block)

    def _dims(self, client: ComputeClient) -> Dims:
        dims = super()._dims(client)
        if dims.folded:  # which the text knows nothing of
            most = client.target.limits.max_grid[0]
            raise TooManyResources("grid x", self._config.grid[0], most, "let each thread do more")
        return dims


def source_kernel(
    text: str | Path,
    name: str,
    params: str | Mapping[str, Any],
    *,
    language: str,
    written: Iterable[str] | None = None,
    options: Iterable[str] = (),
    headers: Mapping[str, str | Path] | None = None,
) -> SourceKernel:
    """Make a kernel of a text in a driver's own language, for instance CUDA C++.

    An array is one pointer to its first element, and lies in C order without gaps; pass its length or extents as
    numbers where the text needs them. Types must be those of the text: ``f32`` is C's ``float``, ``i32`` ``int``,
    ``i64`` ``long long``. It is compiled once for a device and kept in the cache on disk.

    Args:
        text: the text, or the file that has it.
        name: the kernel in it, as its language names it: ``"saxpy"``, ``"blas::axpy<float, 4>"``.
        params: its parameters in order: ``"a: f32, x: f32[:], m: f32[:, :], y: f32[...], n: i32"``, with a colon for
            each axis, ``...`` for any number of them; or a mapping from names to such types, or to those of ``dsl``:
            ``{"p": Particle, "v": dsl.Vec[dsl.f32, 4]}`` takes a struct, of ``@dsl.struct`` or a NumPy dtype, and a
            vector, by value.
        language: ``"cuda-c++"`` or ``"ptx"`` on ``cuda``; a driver's page has its languages.
        written: the parameters whose arrays the kernel writes; default all. Only those may not be read-only, and work
            on other streams that reads the rest need not wait.
        options: for the language's compiler, as it spells them, ``("--use_fast_math", "-DN=4")``.
        headers: texts, or files that have them, by the names that ``text`` includes them by.

    Raises:
        ArgumentError: ``params`` or ``written`` is not of this form. What is wrong in ``text`` shows at a launch, or at
            :meth:`SourceKernel.compile`.
        OSError: a file cannot be read.
    """
    for what, value in (("options", options), ("written", written)):
        if isinstance(value, str):
            raise ArgumentError(f"{name}: {what}={value!r} is one string; write {what}=({value!r},)")
    if isinstance(text, str) and os.path.isfile(text):  # noqa: PTH113 - a Path raises where it is too long for a name
        raise ArgumentError(f"{name}: {text!r} is the name of a file; write Path({text!r})")
    folder = str(text.resolve().parent) if isinstance(text, Path) else ""
    contents = _read(text)
    pos = Pos(str(text), 1) if isinstance(text, Path) else _place(contents, sys._getframe(1))
    declared = parameters(name, params, pos)
    given = SourceText(
        name=name,
        text=contents,
        language=language,
        layout=layout_of(declared),
        options=tuple(options),
        headers={name: _read(header) for name, header in (headers or {}).items()},
        shared_bytes=0,
        pos=pos,
        folder=folder,
    )
    arrays = [p.name for p in declared if isinstance(p.annotation, ArrayAnnotation)]
    writes = tuple(arrays if written is None else written)
    for parameter in writes:
        if parameter not in arrays:
            has = ", ".join(arrays) or "none"
            raise ArgumentError(f"{name}: written has {parameter!r}; the parameters that are arrays are {has}")
    return SourceKernel(Programs(HandWritten(declared, given, writes)), {})


def _read(text: str | Path) -> str:
    """A text, or that of a file, without the mark that some editors put before it."""
    return text.read_text(encoding="utf-8-sig") if isinstance(text, Path) else text


def _place(text: str, frame: FrameType) -> Pos:
    """Where ``text`` begins in the Python file that makes the kernel, if it stands there as it is."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    contents = "".join(linecache.getlines(file, frame.f_globals))
    at = contents.find(text) if text.strip() else -1
    if at < 0:
        return Pos(f"<text of {file}:{line}>", 1)
    return Pos(file, contents.count("\n", 0, at) + 1)


def _unpickled(kernel: HandWritten) -> SourceKernel:
    return SourceKernel(Programs(kernel), {})
