"""``@ruda.kernel``, and the Kernel that it makes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, get_args, overload

from ruda.config import BoundsMode
from ruda.errors import ArgumentError, LaunchError
from ruda.frontend import KernelSource
from ruda.host import Stream
from ruda.host.stream import entered
from ruda.ir import text
from ruda.launch.arguments import complete, signature
from ruda.launch.bound import Config, Options, PythonLaunch, nothing
from ruda.launch.codegen import Run
from ruda.launch.compilation import Compilation
from ruda.launch.debug import Debug
from ruda.launch.grid import as_dims, as_extents
from ruda.launch.inspection import Compiled, KernelLimits
from ruda.launch.launchable import Launchable, keep
from ruda.launch.specialise import Specialisations

#: So many kernels that pickles brought are kept.
_KEPT = 256


class Kernel(Launchable):
    """A kernel; made by ``@ruda.kernel``.

    ``kernel[grid, block](*args)`` launches it: grid and block are ints or
    tuples (x, y, z), and x is the fastest axis. A third item is the stream.
    ``kernel.forall(n)(*args)`` runs exactly ``n`` threads, or those of a shape.
    Inside ``with stream:`` both mean that stream where none is named.
    A launch returns at once; reading a result waits for it.

    Raises (from a launch):
        ArgumentError: an argument that the kernel does not take.
        TooManyResources: over a limit of the device.
        KernelError: the kernel cannot be compiled for these arguments.
        CompilationError: the device's compiler could not make code.
    """

    __name__: str
    __wrapped__: Callable[..., None]

    def __init__(
        self,
        function: Callable[..., None],
        specialisations: Specialisations,
        options: Options,
        family: dict[Options, Kernel],
    ) -> None:
        source = specialisations.source
        super().__init__(source, or_else=f", or {source.name}.forall(n)", memory="is taken from dsl.shared")
        functools.update_wrapper(self, function)
        self._source = source
        self._options = options
        self._family = family  # one kernel for each set of options
        self._specialisations = specialisations
        self._forall: dict[Any, Run] = {}
        family[options] = self

    def forall(self, shape: Any, stream: Stream | None = None) -> Run:
        """The launcher for one thread an element of ``shape``, an int or a tuple; block and grid are chosen.

        ``forall((h, w))`` gives w to x: ``x, y = dsl.grid(2)``, then ``a[y, x]``.
        """
        if stream is None and (streams := entered.get()):
            stream = streams[-1]
        if stream is not None:
            return self._on_stream(stream, ("forall", shape), lambda: Config(extents=as_extents(shape), stream=stream))
        try:
            return self._forall[shape]
        except (KeyError, TypeError):
            return keep(self._forall, shape, self._launcher(Config(extents=as_extents(shape))))

    def options(
        self, *, bounds: BoundsMode | None = None, fastmath: bool | None = None, subgroup_size: int | None = None
    ) -> Kernel:
        """The same kernel with other options; None keeps the present one.

        ``subgroup_size`` is in lanes; a launch on a device whose ``target.subgroup_sizes`` lack it is refused.
        """
        now = self._options
        if subgroup_size is not None and (type(subgroup_size) is not int or subgroup_size < 1):
            raise LaunchError(f"subgroup_size is {subgroup_size!r}; it is a number of lanes, such as 32")
        options = Options(
            _checked(bounds) or now.bounds,
            now.fastmath if fastmath is None else fastmath,
            subgroup_size or now.subgroup_size,
        )
        return self._with(options)

    def _with(self, options: Options) -> Kernel:
        return self._family.get(options) or Kernel(self.__wrapped__, self._specialisations, options, self._family)

    @functools.cached_property
    def unchecked(self) -> Kernel:
        """The kernel without bounds checks: an access outside an array is undefined."""
        return self.options(bounds="unchecked")

    @functools.cached_property
    def validate(self) -> Kernel:
        """The kernel with the first access outside an array recorded, and raised where the host looks next."""
        return self.options(bounds="validate")

    @functools.cached_property
    def debug(self) -> Debug:
        """The kernel on the reference driver, with copies of the arguments: ``kernel.debug[grid, block](*args)``.

        ``breakpoint()`` in the kernel stops there; see :class:`ruda.launch.debug.Debug`.
        """
        return Debug(self)

    def ir(self, /, *args: Any, **kwargs: Any) -> str:
        """The front end's IR of the kernel for the arguments of a launch, as text; nothing is launched.

        This and the next three take what a launch takes, keywords and defaults included, and ``block``, the threads
        a block (default 256), unless a parameter has that name.
        """
        return text.dump(self._compilation(args, kwargs).front)

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """What the driver's compiler gets of the kernel for these arguments; see :meth:`ir`."""
        return self._compilation(args, kwargs).facts.source.text

    def compile(self, /, *args: Any, **kwargs: Any) -> Compiled:
        """The kernel compiled for these arguments; see :meth:`ir`. Its code is kept in the cache on disk."""
        return Compiled.of(self._compilation(args, kwargs))

    def limits(self, /, *args: Any, **kwargs: Any) -> KernelLimits:
        """Registers, shared memory and threads a block of the kernel compiled for these arguments; see :meth:`ir`."""
        return self.compile(*args, **kwargs).limits

    def __reduce__(self) -> tuple[Any, ...]:
        """By source and options, with the captured values as they are now."""
        return _unpickled, (self._source, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        spelling = f"write {self.__name__}[grid, block](...) or {self.__name__}.forall(n)(...)"
        if len(args) == 3 and all(isinstance(a, tuple) for a in args):
            spelling = f"write {self.__name__}[grid, block](args), with the arguments one by one"
        raise ArgumentError(f"a kernel is launched on a grid of blocks: {spelling}; it is {signature(self._source)}")

    def __repr__(self) -> str:
        return f"<kernel {signature(self._source)} of {self._source.file}:{self._source.line}>"

    # --- inside ---

    def _compilation(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compilation:
        takes_block = any(p.name == "block" for p in self._source.params)
        block = 256 if takes_block else kwargs.pop("block", 256)
        launch = self._launch(Config(block=as_dims("block", block)))
        found: list[Compilation] = []

        def look(more: Sequence[Any], unknown: Mapping[str, Any], *values: Any) -> Run:
            client, variant = launch.variant(complete(self._source, values, more, unknown))
            found.append(Compilation(self._source, variant, client.target, client.compiler))
            return nothing

        bound, _ = self._maker({}, look)  # it takes arguments as any launch does
        bound(*args, **kwargs)
        return found[0]

    def _launch(self, config: Config) -> PythonLaunch:
        return PythonLaunch(self._source, self._specialisations, self._options, config)


@overload
def kernel(function: Callable[..., None], /) -> Kernel: ...


@overload
def kernel(*, bounds: BoundsMode | None = None, fastmath: bool = False) -> Callable[[Callable[..., None]], Kernel]: ...


def kernel(
    function: Callable[..., None] | None = None, /, *, bounds: BoundsMode | None = None, fastmath: bool = False
) -> Kernel | Callable[[Callable[..., None]], Kernel]:
    """Make a function a kernel: ``@kernel``, or ``@kernel(fastmath=True)``.

    Args:
        function: what each thread does.
        bounds: ``"checked"`` (an access outside an array reads zero or is dropped), ``"validate"`` (it is also
            reported) or ``"unchecked"``; None is the setting of the process, ``"checked"`` if it has none.
        fastmath: allow contraction, reassociation and approximate functions.

    Raises:
        KernelError: the function has what kernels do not have, where that shows before the first launch.
    """
    options = Options(_checked(bounds), fastmath)

    def decorate(function: Callable[..., None]) -> Kernel:
        return Kernel(function, Specialisations(KernelSource.of(function)), options, {})

    return decorate if function is None else decorate(function)


def _unpickled(source: KernelSource, options: Options) -> Kernel:
    """The kernel of a pickle: the same object's family each time it arrives, so that it is compiled once."""
    inputs = source.inputs()
    first = _arrived.get(inputs) if inputs is not None else None
    if first is None:
        first = Kernel(source.function, Specialisations(source), options, {})
        if inputs is not None:
            if len(_arrived) >= _KEPT:
                _arrived.clear()
            _arrived[inputs] = first
    return first._with(options)


#: Kernels that pickles brought, by what they are.
_arrived: dict[str, Kernel] = {}


def _checked(bounds: BoundsMode | None) -> BoundsMode | None:
    if bounds is not None and bounds not in get_args(BoundsMode):
        raise LaunchError(f"bounds is {bounds!r}; legal values: {', '.join(get_args(BoundsMode))}")
    return bounds
