"""Who uses a memory, and what a stream waits for before it may use it too.

A memory has one owner. It is the stream that used it last, whose end every
earlier use lies before; or, where several streams use it at once or a copy
marked its own end, a :class:`Shared`. A launch compares the owner with its
stream by identity; everything else happens here, under the locks of all
streams concerned. Waits are on the device, by events, never on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ruda.contract import Server
from ruda.errors import ArrayError
from ruda.host.stream import Event, Stream

if TYPE_CHECKING:
    from ruda.host.client import ComputeClient
    from ruda.host.memory import Memory


class Shared:
    """The owner of a memory that no single stream's end stands for. It does not change; another takes its place.

    Attributes:
        writer: the stream that wrote the memory last.
        event: the point of ``writer`` after which the contents are there; readers wait for it alone.
        readers: streams whose work reads the memory since; who writes next waits for their ends too.
    """

    __slots__ = ("event", "readers", "writer")

    def __init__(self, writer: Stream, event: Event, readers: frozenset[Stream] = frozenset()) -> None:
        self.writer = writer
        self.event = event
        self.readers = readers


Owner = Stream | Shared
Owners = Mapping["Memory", Owner]


def users(owner: Owner) -> frozenset[Stream]:
    """The streams whose work may still use a memory of this owner."""
    return frozenset((owner,)) if isinstance(owner, Stream) else owner.readers | {owner.writer}


def ids(owner: Owner) -> tuple[int, ...]:
    """Those of the users' streams, the writer's first; unlike these they keep no stream."""
    if isinstance(owner, Stream):
        return (owner.id,)
    return (owner.writer.id, *sorted(s.id for s in owner.readers if s is not owner.writer))


def home(owner: Owner) -> Stream:
    """The stream on which a memory is used where none is named."""
    return owner if isinstance(owner, Stream) else owner.writer


@contextmanager
def owning(
    client: ComputeClient, stream: Stream, written: Iterable[Memory], read: Iterable[Memory] = ()
) -> Iterator[None]:
    """Hold ``stream``'s lock and let it use memories, which another stream may have used last.

    Args:
        client: theirs.
        stream: where the work inside the block is enqueued.
        written: what it writes, or reads and writes. The stream waits for every earlier use, and owns them.
        read: what it only reads. The stream waits for the last write; other readers go on beside it.

    Raises:
        ArrayError: a memory was freed.
    """
    writes = dict.fromkeys(written)
    reads = [memory for memory in dict.fromkeys(read) if memory not in writes]
    while True:
        owners = {memory: present(memory) for memory in (*writes, *reads)}
        with locked({stream}.union(*map(users, owners.values()))):
            # Owners change only under the locks of all their users, so none of these does from here on.
            if all(memory.owner is owner for memory, owner in owners.items()):
                _wait(client, stream, {m: owners[m] for m in writes}, {m: owners[m] for m in reads})
                yield
                return


def present(memory: Memory) -> Owner:
    """The owner of ``memory``.

    Raises:
        ArrayError: it was freed.
    """
    owner = memory.owner
    if owner is None:
        raise ArrayError("this array was freed")
    return owner


@contextmanager
def locked(streams: Iterable[Stream]) -> Iterator[None]:
    """Hold the locks of ``streams``, taken in the order of their ids."""
    with ExitStack() as locks:
        for each in sorted(streams, key=lambda s: s.id):
            locks.enter_context(each.lock)
        yield


def order(server: Server, first: int, then: int) -> None:
    """Let later work of stream ``then`` wait for the present work of ``first``; both locks are held."""
    event = server.create_event(False)
    server.record(event, first)
    server.wait(event, then)
    server.destroy_event(event)


def marked(client: ComputeClient, stream: Stream) -> Event:
    """A new event at the present end of ``stream``, whose lock is held."""
    event = Event(client, timing=False)
    client.server.record(event.id, stream.id)
    return event


def record(client: ComputeClient, stream: Stream, memory: Memory) -> None:
    """Make ``stream`` a reader of ``memory``, without a wait."""
    while True:
        owner = present(memory)
        with locked(users(owner) | {stream}):
            if memory.owner is not owner:
                continue
            if isinstance(owner, Stream):
                if owner is not stream:
                    memory.owner = Shared(owner, marked(client, owner), frozenset((stream,)))
            else:
                memory.owner = Shared(owner.writer, owner.event, owner.readers | {stream})
            return


def mark_copied(client: ComputeClient, stream: Stream, memory: Memory) -> None:
    """Give the copy that ``stream`` has just made to ``memory`` an end of its own; ``stream`` owns it and is locked.

    Who uses the memory next then waits for the copy alone, and not for what
    else is on a stream of copies. Stream 0, where most programs stay, has none.
    """
    if stream is not client.stream0:
        memory.owner = Shared(stream, marked(client, stream))


def _wait(client: ComputeClient, stream: Stream, writes: Owners, reads: Owners) -> None:
    """Let ``stream`` wait for every use of what it is about to write, and the last write of what it is to read."""
    ends: set[Stream] = set()
    events: dict[Event, None] = {}  # in the order in which they are found, each once
    # An end that readers of the memory, too, will wait for is marked by an event that is kept.
    marks = {owner: marked(client, owner) for owner in _lone(reads) if owner is not stream}
    for owner in writes.values():
        if isinstance(owner, Stream):
            ends.add(owner)
        else:
            ends |= owner.readers
            if owner.writer is not stream:
                events[owner.event] = None
    for memory, owner in reads.items():
        if owner is stream:
            continue
        if isinstance(owner, Stream):
            owner = Shared(owner, marks[owner])
        if stream is not owner.writer and stream not in owner.readers:
            events[owner.event] = None
        if owner.readers <= {stream} and (owner.writer is stream or owner.readers):
            memory.owner = stream  # it reads alone, for the second time: from now on its end stands for all
        else:
            memory.owner = Shared(owner.writer, owner.event, owner.readers | {stream})
    for memory in writes:
        memory.owner = stream
    for each in sorted(ends.difference(marks, {stream}), key=lambda s: s.id):
        order(client.server, each.id, stream.id)
    for event in events:
        client.server.wait(event.id, stream.id)


def _lone(owners: Owners) -> list[Stream]:
    """The owners that are streams, each once, in the order of their ids."""
    return sorted({owner for owner in owners.values() if isinstance(owner, Stream)}, key=lambda s: s.id)
