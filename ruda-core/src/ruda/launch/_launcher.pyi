from collections.abc import Callable
from threading import Lock
from typing import Any

def attach(array: type, memory: type, /) -> None: ...

class Run:
    def __init__(
        self,
        python: Callable[..., None],
        stream: Any,
        lock: Lock,
        server: Any,
        launch: Callable[..., None],
        pack: Callable[..., bytes],
        hidden: tuple[int, ...],
        treatments: bytes,
    ) -> None: ...
    def __call__(self, *args: Any) -> None: ...

class Launcher:
    def __init__(self, python: Callable[..., None], runs: dict[Any, Callable[..., None]], kinds: bytes) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
