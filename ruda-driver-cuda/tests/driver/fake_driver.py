"""A stand-in for ``cuda.bindings.driver``: GPUs of host memory, which work when the test says so.

Streams are queues: ``drain`` runs what is queued, and so does a wait, or the third look at a stream or an event. A test
looks at ``calls`` and sets ``fails``; calls that need a current context fail without one, as the driver's do.
"""

import ctypes
import types
import weakref
from collections import defaultdict, deque
from enum import IntEnum


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_STUB_LIBRARY = 34
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_SYSTEM_NOT_READY = 802
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803
    CUDA_ERROR_UNKNOWN = 999


OK = CUresult.CUDA_SUCCESS

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)


class Handle(int):
    """What the bindings wrap a pointer in."""


class Record(types.SimpleNamespace):
    """What the bindings have for a struct."""


class LaunchConfig(Record):
    """The struct of a launch, known by its address to the driver's own functions."""

    made = weakref.WeakValueDictionary()

    def getPtr(self):
        self.made[id(self)] = self
        return id(self)


class Names:
    """An enum of the bindings, any of whose names is itself."""

    def __getattr__(self, name):
        return Record(name=name, value=name)


class FakeDriver(types.ModuleType):
    """The module.

    Attributes:
        version, gpus: the driver's version, and a dict of attributes for each GPU.
        calls: names of the calls so far.
        fails: what calls of a name give from now on, by name.
        globals: variables of every library: bytes by the name; once it was asked for, its address too.
        kernels: what an entry point does, given grid, block and the packed block's first ``packed_bytes``.
    """

    CUresult = CUresult
    CUstream = CUfunction = CUkernel = cuuint64_t = Handle
    CUmemPoolProps = CUmemLocation = Record
    CUlaunchConfig = LaunchConfig

    def __init__(self, gpus=1, version=13000, started=OK, total=1 << 34):
        super().__init__("cuda.bindings.driver")
        names = {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0}
        names |= {"MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448, "MEMORY_POOLS_SUPPORTED": 1}
        self.gpus = [dict(names) for _ in range(gpus)]
        self.version, self.started, self.total, self.used = version, started, total, 0
        self.calls, self.fails, self.kernels = [], {}, {}
        self.packed_bytes = 8
        self.current, self.retained = [], []
        self.queues, self.memory, self.events = defaultdict(deque), {}, {}
        self.contexts = {}
        self.libraries, self.numbers = {}, iter(range(0x1000, 1 << 30, 16))
        self.globals = {}
        self.registers, self.most_threads, self.static, self.dynamic = 32, 1024, 0, 0
        self.clock = 0.0
        self.locked = {}
        self.queries = defaultdict(int)
        self.launch = _LAUNCH(lambda *words: self._launched(*(word or 0 for word in words)))

    def __getattr__(self, name):
        if name.startswith("CU") and not name.startswith("CUDA"):
            return Names()
        if not name.startswith("cu"):
            raise AttributeError(name)
        function = getattr(type(self), f"_{name}", None)
        if function is None:
            raise AttributeError(f"the fake driver has no {name}")

        def call(*arguments):
            self.calls.append(name)
            if name in self.fails:
                return (self.fails[name],)
            given = function(self, *arguments)
            return given if isinstance(given, tuple) else (OK if given is None else given,)

        call.__name__ = name
        return call

    # --- the process ---
    def _cuInit(self, flags):
        return self.started

    def _cuDriverGetVersion(self):
        return OK, self.version

    def _cuDeviceGetCount(self):
        return OK, len(self.gpus)

    def _cuDeviceGet(self, index):
        return (OK, index) if index < len(self.gpus) else (CUresult.CUDA_ERROR_INVALID_VALUE, None)

    def _cuDeviceGetAttribute(self, attribute, device):
        return OK, self.gpus[device][attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def _cuGetProcAddress(self, name, version, flags):
        assert (name, version, flags) == (b"cuLaunchKernelEx", 11080, 0)
        return OK, ctypes.cast(self.launch, ctypes.c_void_p).value, 0

    def _launched(self, config, function, params, extra):
        return int(self.cuLaunchKernelEx(LaunchConfig.made[config], Handle(function), params, extra)[0])

    def _cuGetErrorString(self, status):
        return OK, status.name.removeprefix("CUDA_ERROR_").replace("_", " ").lower().encode()

    # --- contexts ---
    def _cuDevicePrimaryCtxRetain(self, device):
        self.retained.append(device)
        return OK, Handle(0xC0 + device)

    def _cuDevicePrimaryCtxRelease(self, device):
        self.retained.remove(device)

    def _cuCtxPushCurrent(self, context):
        self.current.append(context)

    def _cuCtxPopCurrent(self):
        return OK, self.current.pop()

    def _cuCtxSynchronize(self):
        self._need()
        self.drain()

    def _need(self):
        assert self.current, "no context is current"

    # --- streams and events ---
    def _cuStreamCreate(self, flags):
        self._need()
        assert flags == "CU_STREAM_NON_BLOCKING"
        return OK, Handle(next(self.numbers))

    def _cuStreamDestroy(self, stream):
        self.drain(stream)

    def _cuStreamQuery(self, stream):
        if stream in (1, 2):
            self._need()
        if not self.queues[stream]:
            return OK
        return self._not_ready(stream, lambda: self.drain(stream))

    def _cuStreamSynchronize(self, stream):
        self.drain(stream)

    def _cuStreamWaitEvent(self, stream, event, flags):
        mark = self.events[event].mark  # what was recorded until now
        self.queues[stream].append(lambda: mark is None or mark.finish())

    def _cuEventCreate(self, flags):
        self._need()
        event = Handle(next(self.numbers))
        self.events[event] = Record(timing=flags == "CU_EVENT_DEFAULT", mark=None)
        return OK, event

    def _cuEventDestroy(self, event):
        del self.events[event]

    def _cuEventRecord(self, event, stream):
        if stream in (1, 2):
            self._need()
        mark = Record(at=None, finish=lambda: mark.at is None and self.drain(stream))

        def reach():
            self.clock += 0.25
            mark.at = self.clock

        self.events[event].mark = mark
        self.queues[stream].append(reach)

    def _cuEventQuery(self, event):
        mark = self.events[event].mark
        if mark is None or mark.at is not None:
            return OK
        return self._not_ready(event, mark.finish)

    def _not_ready(self, handle, finish):
        """What a query gives; from the third one on the work has time to finish."""
        self.queries[handle] += 1
        if self.queries[handle] == 3:
            self.queries[handle] = 0
            finish()
        return CUresult.CUDA_ERROR_NOT_READY

    def _cuEventSynchronize(self, event):
        self.events[event].mark.finish()

    def _cuEventElapsedTime(self, start, end):
        assert self.events[start].timing
        assert self.events[end].timing
        return OK, self.events[end].mark.at - self.events[start].mark.at

    def drain(self, *streams):
        """Run what is queued on ``streams``, or on all."""
        for stream in streams or tuple(self.queues):
            while self.queues[stream]:
                self.queues[stream].popleft()()

    # --- memory ---
    def _allocate(self, nbytes):
        self._need()
        if self.used + nbytes > self.total:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, None
        raw = ctypes.create_string_buffer(nbytes + 256)
        pointer = Handle(-(-ctypes.addressof(raw) // 256) * 256)
        self.memory[pointer] = raw, nbytes
        self.contexts[pointer] = self.current[-1]
        self.used += nbytes
        return OK, pointer

    def _cuMemAlloc(self, nbytes):
        return self._allocate(nbytes)

    def _cuMemAllocFromPoolAsync(self, nbytes, pool, stream):
        return self._allocate(nbytes)

    def _cuMemHostAlloc(self, nbytes, flags):
        return self._allocate(nbytes)

    def _cuMemHostRegister(self, pointer, nbytes, flags):
        self._need()
        assert pointer % 4096 == 0
        self.locked[pointer] = nbytes

    def _cuMemHostUnregister(self, pointer):
        self._need()
        del self.locked[pointer]

    def _cuMemFree(self, pointer):
        self._need()
        self.used -= self.memory.pop(pointer)[1]

    def _cuMemFreeHost(self, pointer):
        self._cuMemFree(pointer)

    def _cuMemFreeAsync(self, pointer, stream):
        self._need()
        self.queues[stream].append(lambda: self.memory.pop(pointer))
        self.used -= self.memory[pointer][1]

    def _cuMemPoolCreate(self, properties):
        self._need()
        return OK, Handle(next(self.numbers))

    def _cuMemPoolSetAttribute(self, pool, attribute, value):
        assert attribute.name == "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD"
        assert value > 0, "or each wait gives everything back"

    def _cuMemPoolTrimTo(self, pool, nbytes):
        self._need()

    def _cuMemPoolDestroy(self, pool):
        self._need()

    def _cuMemGetInfo(self):
        self._need()
        return OK, self.total - self.used, self.total

    def _cuPointerGetAttribute(self, attribute, pointer):
        found = [p for p, (_, n) in self.memory.items() if int(p) <= pointer < int(p) + n]
        return (OK, self.contexts[found[0]] - 0xC0) if found else (CUresult.CUDA_ERROR_INVALID_VALUE, None)

    def _copy(self, dst, src, nbytes, stream):
        self._need()
        self.queues[stream].append(lambda: ctypes.memmove(int(dst), int(src), nbytes) and None)

    _cuMemcpyHtoDAsync = _cuMemcpyDtoHAsync = _cuMemcpyDtoDAsync = _copy

    def _cuMemsetD8Async(self, pointer, value, count, stream):
        self._fill(pointer, value.to_bytes(1, "little") * count, stream)

    def _cuMemsetD16Async(self, pointer, value, count, stream):
        self._fill(pointer, value.to_bytes(2, "little") * count, stream)

    def _cuMemsetD32Async(self, pointer, value, count, stream):
        self._fill(pointer, value.to_bytes(4, "little") * count, stream)

    def _fill(self, pointer, data, stream):
        self._need()
        self.queues[stream].append(lambda: ctypes.memmove(int(pointer), data, len(data)) and None)

    # --- kernels ---
    def _cuLibraryLoadData(self, code, *options):
        self._need()
        if code == b"broken":
            return CUresult.CUDA_ERROR_INVALID_IMAGE, None
        library = Handle(next(self.numbers))
        self.libraries[library] = code
        return OK, library

    def _cuLibraryUnload(self, library):
        del self.libraries[library]

    def _cuLibraryGetKernel(self, library, name):
        kernel = Handle(next(self.numbers))
        self.kernels.setdefault(name.decode(), lambda *_: None)
        self.libraries[kernel] = name.decode()
        return OK, kernel

    def _cuLibraryGetGlobal(self, library, name):
        self._need()
        assert library in self.libraries
        if name not in self.globals:
            return CUresult.CUDA_ERROR_NOT_FOUND, None, None
        if isinstance(self.globals[name], int):
            nbytes = self.globals[name]
            self.globals[name] = self._allocate(nbytes)[1], nbytes
        return OK, *self.globals[name]

    def _cuKernelGetFunction(self, kernel):
        self._need()
        return OK, Handle(kernel + 1)

    def _cuKernelGetAttribute(self, attribute, kernel, device):
        known = {
            "CU_FUNC_ATTRIBUTE_NUM_REGS": self.registers,
            "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": self.most_threads,
            "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES": self.static,
            "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": self.dynamic,
        }
        return OK, known[attribute.name]

    def _cuKernelSetAttribute(self, attribute, value, kernel, device):
        assert attribute.name == "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
        assert self.static + value <= self.gpus[device]["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]
        self.dynamic = value

    def _cuLaunchKernelEx(self, config, function, params, extra):
        if config.hStream in (1, 2):
            self._need()
        if extra:
            _, address, _, size, _ = (ctypes.c_size_t * 5).from_address(extra)
            packed = ctypes.string_at(address, ctypes.c_size_t.from_address(size).value)
        else:
            packed = ctypes.string_at(ctypes.c_void_p.from_address(params).value, self.packed_bytes) if params else b""
        grid = config.gridDimX, config.gridDimY, config.gridDimZ
        block = config.blockDimX, config.blockDimY, config.blockDimZ
        kernel = self.kernels[self.libraries[function]]
        self.queues[config.hStream].append(lambda: kernel(grid, block, packed))
