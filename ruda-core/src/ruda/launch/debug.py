"""``kernel.debug[grid, block](*args)``: the kernel on the reference driver, wherever its arguments are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ruda.host.mirror import Mirror
from ruda.launch.arguments import arrays_of, with_arrays

if TYPE_CHECKING:
    from ruda.launch.codegen import Run
    from ruda.launch.kernels import Kernel


class Debug:
    """A kernel to look into.

    ``kernel.debug[grid, block](*args)`` and ``kernel.debug.forall(shape)(*args)`` take copies of the arrays to the
    reference driver, run there with bounds "validate", and copy everything back before they return. Where
    ``breakpoint()`` stands in the kernel or in a function that it calls, Python's debugger stops each thread that
    comes there, one after another, with its values as local names: its variables, ``thread_idx``, ``block_idx``,
    arrays as NumPy arrays. In pdb, ``c`` goes on to the next stop, and ``q`` gives up: nothing is copied back.

    Raises (from a launch):
        ServerUnhealthy: the faults that the launch had, after the arrays were copied back.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel.validate

    def __getitem__(self, config: Any) -> Run:
        """The launcher for a grid and a block, as the kernel's own."""
        return self._on_reference(lambda: self._kernel[config])

    def forall(self, shape: Any) -> Run:
        """The launcher for one thread an element, as the kernel's own."""
        return self._on_reference(lambda: self._kernel.forall(shape))

    def _on_reference(self, bind: Callable[[], Run]) -> Run:
        def run(*args: Any, **kwargs: Any) -> None:
            from ruda import registry  # not at import: discovery loads much that a launch does not need

            client = registry.client("reference")
            mirror = Mirror(client, [a for value in (*args, *kwargs.values()) for _, a in arrays_of("", value)])
            here = [with_arrays(value, mirror.of) for value in args]
            named = {name: with_arrays(value, mirror.of) for name, value in kwargs.items()}
            with client, client.stream0:  # a stream of another device may be entered around
                bind()(*here, **named)
            mirror.write_back()
            client.stream0.synchronize()

        return run
