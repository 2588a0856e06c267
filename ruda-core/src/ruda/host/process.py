"""What a client does when its process forks or ends."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ruda.errors import ForkError, RudaError

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient

_clients: WeakSet[ComputeClient] = WeakSet()
_held: list[ExitStack] = []


class Gone:
    """Stands where a server was; whatever is asked of it raises."""

    def __init__(self, kind: type[RudaError], message: str) -> None:
        self._kind = kind
        self._message = message

    def __getattr__(self, name: str) -> Any:
        raise self._kind(self._message)


def watch(client: ComputeClient) -> None:
    """Let ``client`` take part in forks."""
    _clients.add(client)


def _before_fork() -> None:
    # A lock that another thread holds now would stay locked in the child for ever.
    stack = ExitStack()
    for client in sorted(_clients, key=id):
        stack.enter_context(client.locked())
    _held.append(stack)


def _after_fork() -> None:
    _held.pop().close()


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client.rings.clear()  # what they hold is the parent's to print
        if "fork" not in client.target.features:
            message = f'{client.device} was opened before this process was forked; start processes with "spawn"'
            client.lose_server(Gone(ForkError, message))
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
