"""Every exception that ruda raises on purpose.

Each one derives from :class:`RudaError` and from the builtin it is, so both
``except ruda.RudaError`` and ``except MemoryError`` work::

    RudaError
    ├── KernelError                      a kernel that Python accepts and ruda does not; has file, line, caret
    │   ├── KernelSyntaxError            (SyntaxError)       a construct that kernels do not have
    │   ├── KernelTypeError              (TypeError)         operands, conversions, assignments
    │   ├── KernelNameError              (NameError)         unknown or unset names
    │   └── KernelValueError             (ValueError)        constants that do not fit, bad shapes
    ├── CompilationError                 (RuntimeError)      the driver's compiler could not make code
    │   ├── UnsupportedInstruction       (NotImplementedError)
    │   └── ValidationError              (ValueError)        illegal IR or text
    ├── LaunchError                      (RuntimeError)      refused before the driver was called
    │   ├── ArgumentError                (TypeError)
    │   └── TooManyResources             (ValueError)        a limit, by name and figure
    ├── ArrayError                       (ValueError)        shapes, strides, closed or foreign arrays
    │   └── DtypeError                   (TypeError)         a dtype ruda does not have
    ├── InteropError                     (BufferError)       memory that cannot be shared with another library as it is
    ├── OutOfMemoryError                 (MemoryError)
    ├── DriverNotFound                   (LookupError)       not installed, failed to load, or no device
    ├── DeviceNotFound                   (LookupError)
    ├── ConfigError                      (ValueError)        ruda.toml and RUDA_* variables
    ├── CacheError                       (RuntimeError)      the cache's index and the compiler disagree
    ├── ForkError                        (RuntimeError)      a GPU client used after fork
    ├── DeviceLost                       (RuntimeError)
    ├── DeviceFault                      (RuntimeError)      found by the device, reported later
    │   ├── OutOfBoundsError             (IndexError)
    │   ├── KernelAssertionError         (AssertionError)
    │   └── DivergenceError                                  a barrier that not every thread reached
    └── ServerUnhealthy                  (ExceptionGroup)    the DeviceFaults of one stream
"""

from __future__ import annotations

from collections.abc import Sequence


class RudaError(Exception):
    """Base of every error that ruda raises on purpose."""


class KernelError(RudaError):
    """A kernel that cannot be compiled, at one place of the user's file.

    ``str(error)`` is the whole report: message, ``file:line:column``, the
    source line with a caret, and ``hint``, which says what to write instead.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "<unknown>",
        line: int = 0,
        column: int = 0,
        end_column: int | None = None,
        source_line: str | None = None,
        kernel: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.end_column = end_column
        self.source_line = source_line
        self.kernel = kernel
        self.hint = hint
        super().__init__(self._report())

    def _report(self) -> str:
        where = f'  File "{self.file}", line {self.line}, column {self.column + 1}'
        if self.kernel:
            where += f", in kernel {self.kernel}"
        lines = [self.message, where]
        if self.source_line is not None:
            text = self.source_line.rstrip()
            indent = len(text) - len(text.lstrip())
            end = self.end_column if self.end_column and self.end_column > self.column else self.column + 1
            width = max(1, min(end, len(text)) - self.column)
            lines.append("    " + text[indent:])
            lines.append("    " + " " * max(0, self.column - indent) + "^" * width)
        if self.hint:
            lines.append(f"  Instead: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        # SyntaxError and NameError print themselves from other fields than args.
        return str(self.args[0])


class KernelSyntaxError(KernelError, SyntaxError):
    """A Python construct that kernels do not have."""


class KernelTypeError(KernelError, TypeError):
    """Operands, conversions or assignments whose types do not go together."""


class KernelNameError(KernelError, NameError):
    """A name that is unknown, unset, or of another framework."""


class KernelValueError(KernelError, ValueError):
    """A constant that does not fit its type, or a bad compile-time value."""


class CompilationError(RudaError, RuntimeError):
    """A driver's compiler could not make code; names kernel, user file:line and target."""


class UnsupportedInstruction(CompilationError, NotImplementedError):
    """The target has no way to express an operation on a dtype."""


class ValidationError(CompilationError, ValueError):
    """Illegal IR, or text that the vendor's compiler refuses."""


class LaunchError(RudaError, RuntimeError):
    """A launch refused on the host before the driver was called."""


class ArgumentError(LaunchError, TypeError):
    """A launch argument of the wrong type, dtype, rank or device; names the parameter."""


class TooManyResources(LaunchError, ValueError):
    """A launch over a limit of the device.

    Attributes: ``resource`` (for instance ``"threads per block"``),
    ``requested`` and ``maximum`` (same unit as the resource).
    """

    def __init__(self, resource: str, requested: int, maximum: int, advice: str = "") -> None:
        self.resource = resource
        self.requested = requested
        self.maximum = maximum
        text = f"{resource}: {requested} requested, the device allows {maximum}"
        super().__init__(f"{text}; {advice}" if advice else text)


class ArrayError(RudaError, ValueError):
    """An array operation that cannot be done: shape, strides, freed or read-only memory."""


class DtypeError(ArrayError, TypeError):
    """A dtype that ruda does not have; names it and what to use."""


class InteropError(RudaError, BufferError):
    """Memory that cannot be shared with another library as it is: device, layout, alignment, or access."""


class OutOfMemoryError(RudaError, MemoryError):
    """No memory after trimming the pools; all figures are bytes."""

    def __init__(
        self, requested: int, *, in_use: int, reserved: int, largest_free: int, total: int, device: str
    ) -> None:
        self.requested = requested
        self.in_use = in_use
        self.reserved = reserved
        self.largest_free = largest_free
        self.total = total
        super().__init__(
            f"{device}: {requested} bytes requested; ruda holds {in_use} in use and {reserved} reserved, "
            f"largest free block {largest_free}, device total {total}; free arrays or call client.memory_cleanup()"
        )


class DriverNotFound(RudaError, LookupError):
    """No such driver: not installed, failed to load, or it has no device."""


class DeviceNotFound(RudaError, LookupError):
    """A device index or name outside the current enumeration."""


class ConfigError(RudaError, ValueError):
    """A bad value in ``ruda.toml`` or in a ``RUDA_*`` variable."""


class CacheError(RudaError, RuntimeError):
    """What the cache's index has of a kernel is not what compiling gives; found under ``RUDA_CACHE_VERIFY=1``."""


class ForkError(RudaError, RuntimeError):
    """A device used in a forked child; use the "spawn" start method."""


class DeviceLost(RudaError, RuntimeError):
    """The device is gone; names the kernel in doubt."""


class DeviceFault(RudaError, RuntimeError):
    """A fault that the device found while a kernel ran."""


class OutOfBoundsError(DeviceFault, IndexError):
    """An access outside an array, recorded in Validate mode."""


class KernelAssertionError(DeviceFault, AssertionError):
    """An ``assert`` in a kernel that failed in Validate mode."""


class DivergenceError(DeviceFault):
    """A barrier or subgroup operation that not every thread of its group reached."""


class ServerUnhealthy(RudaError, ExceptionGroup[DeviceFault]):
    """The faults that a stream's earlier work had, raised where the host looks; the stream is usable again."""

    def derive(self, excs: Sequence[DeviceFault]) -> ServerUnhealthy:  # type: ignore[override]
        return ServerUnhealthy(self.message, excs)
