"""What a cubin, an ELF image of 64 bits, tells of its kernel."""

from __future__ import annotations

import struct
from collections.abc import Iterator

#: An attribute of a kernel in ``.nv.info``: its format (4: a size follows), its number, and the number of registers'.
_SIZED, _REGISTERS = 0x04, 0x2F


#: Marks a name that follows an image: the driver reads an ELF image by its headers, and not to the end.
_ENTRY = b"\0ruda entry "


def with_entry(cubin: bytes, entry: str) -> bytes:
    """An image that tells the name of its kernel."""
    return cubin + _ENTRY + entry.encode()


def without_entry(cubin: bytes) -> tuple[bytes, str]:
    """The image, and the name that :func:`with_entry` gave it, or ""."""
    image, mark, entry = cubin.rpartition(_ENTRY)
    return (image, entry.decode()) if mark and entry.decode("ascii", "replace").isidentifier() else (cubin, "")


def registers(cubin: bytes) -> int | None:
    """Registers of a thread of the only kernel, by its attribute EIATTR_REGCOUNT; None where there is none."""
    for name, data in _sections(cubin):
        if name == ".nv.info":
            return _registers(data)
    return None


def _registers(data: bytes) -> int | None:
    """Attributes are four bytes (format, number, and a value or the size of what follows)."""
    position = 0
    while position + 4 <= len(data):
        form, number, size = struct.unpack_from("<BBH", data, position)
        position += 4
        if (form, number) == (_SIZED, _REGISTERS):
            _, count = struct.unpack_from("<II", data, position)  # the symbol of the function comes first
            return int(count)
        position += size if form == _SIZED else 0
    return None


def _sections(image: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and contents of each section."""
    if image[:5] != b"\x7fELF\x02":
        return
    (start,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, start + k * size) for k in range(count)]
    text = headers[names][4]
    for name, _, _, _, offset, length in headers:
        first = text + name
        yield image[first : image.index(b"\0", first)].decode(), image[offset : offset + length]
