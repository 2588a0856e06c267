"""Device functions: what ``@dsl.func`` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ruda.frontend.source import KernelSource


class DeviceFunction:
    """A Python function that kernels and other device functions call; it is built into each caller."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.source = KernelSource.of(function, device=True)
        self.__name__ = self.source.name
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """On the host.

        Raises:
            TypeError: always; it works in kernels only.
        """
        raise TypeError(f"{self.__name__} is a device function; call it in a function decorated with @ruda.kernel")

    def __repr__(self) -> str:
        return f"<device function {self.__qualname__}>"


def func(function: Callable[..., Any]) -> DeviceFunction:
    """Decorate a device function.

    It takes plain values, arrays, shared and local arrays, views and functions, may write to arrays, and returns
    nothing, a value, or a tuple of values.

    Raises:
        KernelSyntaxError: it has a construct that kernels do not have.
    """
    return DeviceFunction(function)
