"""``@ruda.kernel``, and the Kernel that it makes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, get_args, overload

from ruda.config import BoundsMode
from ruda.errors import ArgumentError, LaunchError
from ruda.frontend import KernelSource
from ruda.host import Stream
from ruda.ir import text
from ruda.launch.arguments import complete, signature
from ruda.launch.bound import Config, Launch, Options
from ruda.launch.codegen import Run, bound_maker
from ruda.launch.grid import as_dims, as_extents
from ruda.launch.specialise import Specialisations, Variant, emitted, front

#: So many launchers are kept; a program whose grid changes all the time makes new ones.
_KEPT = 256


class Kernel:
    """A kernel; made by ``@ruda.kernel``.

    ``kernel[grid, block](*args)`` launches it: grid and block are ints or
    tuples (x, y, z), and x is the fastest axis. A third item is the stream.
    ``kernel.forall(n)(*args)`` runs exactly ``n`` threads, or those of a shape.
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
        functools.update_wrapper(self, function)
        self._source = source
        self._options = options
        self._family = family  # one kernel for each set of options
        self._specialisations = specialisations
        self._maker = bound_maker(source.name, source.params)
        self._bound: dict[Any, Run] = {}
        self._forall: dict[Any, Run] = {}
        family[options] = self

    def __getitem__(self, config: Any) -> Run:
        """The launcher for ``kernel[grid, block]`` or ``kernel[grid, block, stream]``.

        Raises:
            LaunchError: not of this form.
        """
        try:
            return self._bound[config]
        except (KeyError, TypeError):
            return self._bind(config)

    def forall(self, shape: Any, stream: Stream | None = None) -> Run:
        """The launcher for one thread an element of ``shape``, an int or a tuple; block and grid are chosen.

        ``forall((h, w))`` gives w to x: ``x, y = dsl.grid(2)``, then ``a[y, x]``.
        """
        if stream is not None:
            return self._on_stream(stream, Config(extents=as_extents(shape), stream=stream))
        try:
            return self._forall[shape]
        except (KeyError, TypeError):
            return _keep(self._forall, shape, self._launcher(Config(extents=as_extents(shape))))

    def options(self, *, bounds: BoundsMode | None = None, fastmath: bool | None = None) -> Kernel:
        """The same kernel with other options; None keeps the present one."""
        now = self._options
        options = Options(_checked(bounds) or now.bounds, now.fastmath if fastmath is None else fastmath)
        return self._family.get(options) or Kernel(self.__wrapped__, self._specialisations, options, self._family)

    @functools.cached_property
    def unchecked(self) -> Kernel:
        """The kernel without bounds checks: an access outside an array is undefined."""
        return self.options(bounds="unchecked")

    @functools.cached_property
    def validate(self) -> Kernel:
        """The kernel with the first access outside an array recorded, and raised where the host looks next."""
        return self.options(bounds="validate")

    def ir(self, *args: Any, block: Any = 256) -> str:
        """The front end's IR of the kernel for ``args``, as text; nothing is launched."""
        return text.dump(front(self._source, self._variant(args, block)))

    def source(self, *args: Any, block: Any = 256) -> str:
        """What the driver's compiler gets of the kernel for ``args``; nothing is launched."""
        variant = self._variant(args, block)
        return emitted(front(self._source, variant), variant.client).text

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        spelling = f"write {self.__name__}[grid, block](...) or {self.__name__}.forall(n)(...)"
        if len(args) == 3 and all(isinstance(a, tuple) for a in args):
            spelling = f"write {self.__name__}[grid, block](args), with the arguments one by one"
        raise ArgumentError(f"a kernel is launched on a grid of blocks: {spelling}; it is {signature(self._source)}")

    def __repr__(self) -> str:
        return f"<kernel {signature(self._source)} of {self._source.file}:{self._source.line}>"

    # --- inside ---

    def _bind(self, config: Any) -> Run:
        name = self.__name__
        if not isinstance(config, tuple) or len(config) < 2:
            raise LaunchError(f"{name}[{config!r}]: write {name}[grid, block]")
        if len(config) > 3:
            raise LaunchError(
                f"{name}[...] takes grid, block and stream; the size of shared memory is taken from dsl.shared"
            )
        stream = config[2] if len(config) == 3 else None
        if not isinstance(stream, Stream | None):
            raise LaunchError(f"{name}[...]: the third item is a stream of client.stream(), not {stream!r}")
        parsed = Config(as_dims("grid", config[0]), as_dims("block", config[1]), stream=stream)
        if stream is not None:
            return self._on_stream(stream, parsed)
        return _keep(self._bound, config, self._launcher(parsed))

    def _on_stream(self, stream: Stream, config: Config) -> Run:
        # The stream keeps its launchers; here they would keep the stream.
        found = stream.launchers.get((self, config))
        return _keep(stream.launchers, (self, config), self._launcher(config)) if found is None else found

    def _variant(self, args: Sequence[Any], block: Any) -> Variant:
        launch = Launch(self._source, self._specialisations, self._options, Config(block=as_dims("block", block)))
        return launch.variant(complete(self._source, args))

    def _launcher(self, config: Config) -> Run:
        launch = Launch(self._source, self._specialisations, self._options, config)
        bound, launch.key = self._maker(launch.runs, launch.miss)
        return bound


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


def _checked(bounds: BoundsMode | None) -> BoundsMode | None:
    if bounds is not None and bounds not in get_args(BoundsMode):
        raise LaunchError(f"bounds is {bounds!r}; legal values: {', '.join(get_args(BoundsMode))}")
    return bounds


def _keep(table: dict[Any, Run], key: Any, run: Run) -> Run:
    if len(table) >= _KEPT:
        table.clear()
    with contextlib.suppress(TypeError):  # a list of dimensions is legal, and cannot be a key
        table[key] = run
    return run
