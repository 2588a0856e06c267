"""Names that other frameworks have for what clients, arrays, streams and events do, answered with ruda's spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Never

from ruda.errors import RudaError

CLIENT = {
    **dict.fromkeys(("to_device", "asarray", "from_numpy", "tensor"), "client.array(x)"),
    "device_array": "client.empty(shape, dtype)",
    "device_array_like": "client.empty_like(x)",
    "ones": "client.full(shape, 1, dtype)",
    "ones_like": "client.full(x.shape, 1, x.dtype)",
    "full_like": "client.full(x.shape, value, x.dtype)",
    "arange": "client.array(np.arange(n))",
    **dict.fromkeys(("pinned_array", "pin_memory", "empty_pinned"), "client.pinned(shape, dtype)"),
    **dict.fromkeys(("synchronize", "wait"), "client.sync()"),
    **dict.fromkeys(("Stream", "create_stream"), "client.stream()"),
    **dict.fromkeys(("Event", "create_event"), "client.event()"),
    **dict.fromkeys(("current_stream", "default_stream"), "client.stream0"),
    **dict.fromkeys(("mem_info", "mem_get_info", "get_memory_info", "memory_allocated"), "client.memory_usage()"),
    **dict.fromkeys(("empty_cache", "free_all_blocks"), "client.memory_cleanup()"),
    "launch": "kernel[grid, block](x)",
}  # fmt: skip

ARRAY = {
    **dict.fromkeys(("copy_to_host", "get", "cpu", "to_numpy", "to_host", "detach"), "a.numpy()"),
    **{
        name: f"a.numpy().{name}()"
        for name in (
            "tolist", "tobytes", "any", "all", "argmin", "argmax", "argsort", "nonzero", "prod", "cumsum", "std", "var",
        )
    },
    **dict.fromkeys(("clone", "contiguous"), "a.copy()"),
    **dict.fromkeys(("copy_to_device", "set", "assign", "from_numpy"), "a.copy_(x)"),
    **dict.fromkeys(("cuda", "to_device"), "a.to(client)"),
    **{
        name: f'a.astype("{dtype}")'
        for name, dtype in (("float", "f32"), ("double", "f64"), ("half", "f16"), ("int", "i32"), ("long", "i64"))
    },
    "zero_": "a.fill(0)",
    "fill_": "a.fill(value)",
    "ravel": "a.reshape(-1)",
    "flatten": "a.copy().reshape(-1)",
    "squeeze": "a.reshape(shape)",
    "unsqueeze": "a[None]",
    "transpose": "a.T",
    "numel": "a.size",
    "dim": "a.ndim",
    "stride": "a.strides",
    **dict.fromkeys(("itemsize", "element_size"), "a.dtype.itemsize"),
    **dict.fromkeys(("device", "is_cuda"), "a.client.device"),
    **dict.fromkeys(("sync", "synchronize", "block_until_ready"), "a.wait()"),
    **dict.fromkeys(
        ("to_torch", "data_ptr", "data", "ptr", "toDlpack"), "torch.from_dlpack(a), cupy.from_dlpack(a) or the like"
    ),
    "pin_memory": "client.pinned(shape, dtype)",
}  # fmt: skip

STREAM = {
    "sync": "stream.synchronize()",
    **dict.fromkeys(("done", "is_done", "is_complete"), "stream.query()"),
    **dict.fromkeys(("wait_event", "wait_for_event"), "stream.wait(event)"),
    "wait_stream": "stream.wait(other.record())",
    "record_event": "stream.record(event)",
    **dict.fromkeys(("use", "auto_synchronize"), "with stream: around the work"),
    **dict.fromkeys(("add_callback", "launch_host_func"), "stream.synchronize(), in a thread of your own"),
    **dict.fromkeys(
        ("cuda_stream", "ptr", "handle"), "client.external_stream(theirs), to work on another library's stream"
    ),
    "device": "stream.client.device",
}  # fmt: skip

EVENT = {
    **dict.fromkeys(("elapsed_time", "time_till"), "event.elapsed_ms(end)"),
    "time_since": "start.elapsed_ms(event)",
    "record": "stream.record(event)",
    "wait": "stream.wait(event)",
    "sync": "event.synchronize()",
    **dict.fromkeys(("done", "is_done", "is_complete"), "event.query()"),
    "close": "event.destroy()",
    "device": "event.client.device",
}  # fmt: skip


class Habit:
    """A name of another framework: whoever looks it up is told what to write.

    A ``__getattr__`` would make every other attribute slower, those that a launch looks at included.
    """

    def __init__(self, what: str, name: str, here: str) -> None:
        self._name = name
        self._message = f"{what} has no {name!r}; write {here}"
        self.__doc__ = f"A name that others have for {here}."  # for help(), which lists it

    def __get__(self, instance: object, owner: type) -> Never:
        raise AttributeError(self._message, name=self._name, obj=instance)


class Answering:
    """Base of what belongs to an open device of this process; says what to write instead of a habit, or of a pickle.

    Args:
        what: what the class is, for messages.
        habits: its table in this module.
        another: what makes another, here or in another process.
    """

    __slots__ = ()
    _habits: ClassVar[Mapping[str, str]]
    _another: ClassVar[str]

    def __init_subclass__(
        cls, what: str = "", habits: Mapping[str, str] | None = None, another: str = "", **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        if habits is not None:  # else it is a user's subclass
            cls._habits, cls._another = habits, another
            for name, here in habits.items():
                assert not hasattr(cls, name), name
                setattr(cls, name, Habit(what, name, here))

    def __dir__(self) -> Iterable[str]:
        """Without the habits: nobody wants them completed."""
        return [name for name in super().__dir__() if name not in self._habits]

    def __reduce__(self) -> Never:
        raise RudaError(
            f"{self!r} belongs to this process, and is neither copied nor pickled; "
            f"where another is needed, write {self._another}"
        )
