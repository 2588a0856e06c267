"""What the base classes of the contract share: a class that lacks methods says which, and what each must do."""

from __future__ import annotations

import inspect
from abc import ABC
from typing import Any, Self


class Abstract(ABC):  # noqa: B024 - those that derive from it have abstract methods
    """A base class whose incomplete subclasses cannot be made.

    Raises:
        TypeError: the class lacks abstract methods; each is named, with its arguments and what it must do.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        lacks = lacking(cls)
        if lacks:
            raise TypeError(lacks)
        return super().__new__(cls)


def lacking(cls: type) -> str:
    """What a driver's class still has to define of its contract, a line each; "" where nothing is missing."""
    names = sorted(getattr(cls, "__abstractmethods__", ()))
    items = [f"{name}{_arguments(cls, name)}: {_summary(cls, name)}" for name in names]
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base, eval_str=False).items():
            promised = "ClassVar" in str(annotation)
            if promised and not hasattr(cls, name):
                items.append(f"{name}: a class attribute, {annotation}")
    if not items:
        return ""
    contract = next(base for base in cls.__mro__ if base.__module__.startswith("ruda.") and base is not cls)
    where = f"{cls.__module__}.{cls.__qualname__}"
    return f"{where} lacks what {contract.__module__}.{contract.__name__} asks of a driver:\n  " + "\n  ".join(items)


def _arguments(cls: type, name: str) -> str:
    method = inspect.getattr_static(cls, name)
    if isinstance(method, property):
        return " (a property)"
    function = method.__func__ if isinstance(method, classmethod) else method
    return f"({', '.join(list(inspect.signature(function).parameters)[1:])})"


def _summary(cls: type, name: str) -> str:
    """The first sentence or two of the contract's docstring, in one line."""
    text = inspect.getdoc(inspect.getattr_static(cls, name)) or ""
    return " ".join(text.partition("\n\n")[0].split())
