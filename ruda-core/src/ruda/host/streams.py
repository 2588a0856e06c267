"""The streams of one client: those that something names, and those that the server still has."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ruda.errors import InteropError, RudaError, TooManyResources
from ruda.host.memory import Ids
from ruda.host.stream import Stream

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient


class Streams:
    """The streams of ``client``.

    Attributes:
        lock: held while a stream comes or goes.
        lent: ids of those that are other libraries', and what keeps each there, None where that is not known.
    """

    def __init__(self, client: ComputeClient) -> None:
        self.lock = threading.Lock()
        self.lent: dict[int, object] = {}
        self._client = client
        self._named: WeakValueDictionary[int, Stream] = WeakValueDictionary()
        self._foreign: WeakValueDictionary[int, Stream] = WeakValueDictionary()  # by their libraries' handles
        self._live: set[int] = set()  # what the server has, finalizers not yet served

    def adopt(self, id: int) -> Stream:
        """The server's stream ``id`` as one of the client's."""
        stream = Stream(self._client, id)
        with self.lock:
            self._named[id] = stream
            self._live.add(id)
        return stream

    def new(self) -> Stream:
        """A new stream; see ``client.stream``."""
        client, most = self._client, self._client.options.max_streams
        client.drain()
        if len(self._live) >= most:
            gc.collect()  # streams in reference cycles
            client.drain()
        if len(self._live) >= most:
            raise TooManyResources("streams", most + 1, most, "let go of streams, or raise options.max_streams")
        return self.adopt(client.server.create_stream())

    def numbered(self, id: int) -> Stream:
        """The stream of that ``id``; see ``client.stream_numbered``."""
        with self.lock:
            found = self._named.get(id)
        if found is None:
            raise RudaError(f"{self._client.device} has no stream {id}; it is gone, or another device's")
        return found

    def external(self, stream: Any) -> Stream:
        """Another library's stream; see ``client.external_stream``."""
        sharing = self._client.sharing_streams
        if sharing is None:
            raise InteropError(f"{self._client.device} has no streams of other libraries")
        handle = stream.__cuda_stream__()[1] if hasattr(stream, "__cuda_stream__") else stream
        if not isinstance(handle, int) or isinstance(handle, bool):
            raise InteropError(f"another library's stream is an int or has __cuda_stream__, and is not {stream!r}")
        found = self._foreign.get(handle)
        if found is None:
            found = self.adopt(sharing.adopt_stream(handle))
            self.lent[found.id] = sharing.holder(handle) if handle is stream else stream
            found = self._foreign.setdefault(handle, found)
        return found

    def present(self) -> list[Stream]:
        """Those that something names, in the order of their ids."""
        if len(self._live) == 1:  # the usual case; a weak dictionary is slow
            return [self._client.stream0]
        with self.lock:
            return sorted(self._named.values(), key=lambda s: s.id)

    def named(self) -> list[Stream]:
        """Those that something names; the lock is held."""
        return list(self._named.values())

    def living(self, ids: Ids) -> Ids:
        """Those of ``ids`` that the server still has; stream 0, which waits for those that went, stands for them."""
        with self.lock:
            living = tuple(id for id in ids if id in self._live)
        return living if living == ids else (0, *[id for id in living if id])

    def forget(self, id: int) -> None:
        """A stream that the server has no more; the lock is held."""
        self._live.discard(id)
        self.lent.pop(id, None)
