"""Atomics in CUDA C++: relaxed, of device scope, on global and shared memory alike.

What the architecture has is one instruction; the rest is a loop that
exchanges the bits of the element where nobody came between. Of 8 bits it is
the 16 around them that are exchanged, which never cross a page; a shared array
of an odd length has a byte more for that.
"""

from __future__ import annotations

from ruda.ir import Atomic, SharedArray
from ruda.types import ScalarType, bf16, f16, f32, f64, i32, i64, u32, u64
from ruda_driver_cuda.cuda_cpp_convert import bitcast
from ruda_driver_cuda.cuda_cpp_floats import ROWS as FLOATS
from ruda_driver_cuda.cuda_cpp_ints import ROWS as INTS
from ruda_driver_cuda.cuda_cpp_memory import Access
from ruda_driver_cuda.cuda_cpp_types import bare, bits, typed, zero
from ruda_driver_cuda.cuda_cpp_writer import Module

_WORDS = (i32, u32, i64, u64)
_BUILTINS = {
    "add": "Add",
    "min": "Min",
    "max": "Max",
    "and": "And",
    "or": "Or",
    "xor": "Xor",
    "exchange": "Exch",
    "compare_exchange": "CAS",
}

#: The letter of a register in inline assembly, by bytes.
_LETTERS = {1: "h", 2: "h", 4: "r", 8: "l"}


def atomic(access: Access, s: Atomic) -> None:
    """Write the statement ``s``."""
    w, scope = access.scope.writer, access.scope
    name = s.op.removeprefix("atomic_")
    args = [scope.eval(a) for a in s.args]
    if s.value is not None and s.guard is not None:
        w.do(f"{s.type} {scope.name(s.value)} = {zero(s.type)};")
    new = (
        "" if s.value is None else f"{'const ' + s.type.name + ' ' if s.guard is None else ''}{scope.name(s.value)} = "
    )
    if name == "store" and isinstance(s.memory, SharedArray):
        # The tools that look for races take a plain store, however relaxed, for none that is atomic.
        access.guarded(s, [f"{_update(w.module, 'exchange', s.type, f'&{access.place(s)}', args)};"])
    elif name == "store":
        access.guarded(s, [f"{_moving(w.module, 'store', s.type)}(&{access.place(s)}, {bare(args[0])});"])
    else:
        access.guarded(s, [f"{new}{_update(w.module, name, s.type, f'&{access.place(s)}', args)};"])


def _next(m: Module, name: str, t: ScalarType, old: str, args: list[str]) -> str:
    """What an update makes of the element ``old``."""
    if name == "exchange":
        return args[0]
    if name == "compare_exchange":
        return f"({old} == {args[0]} ? {args[1]} : {old})"
    return (FLOATS if t.is_float else INTS)[name](m, t, [old, args[0]])


def _update(m: Module, name: str, t: ScalarType, at: str, args: list[str]) -> str:
    """One update of the element at the address ``at``; the old element."""
    if name == "load":
        return f"{_moving(m, 'load', t)}({at})"
    if name == "sub" and (t.size >= 4 or t in (f16, bf16)):
        return _update(m, "add", t, at, [(FLOATS if t.is_float else INTS)["neg"](m, t, args)])
    if t in _WORDS:
        return _word(name, t, at, args)
    if t == f32 and name == "add" and not m.loose:
        return f"{_kept_add(m)}({at}, {bare(args[0])})"
    if t in (f32, f64) and name == "add":
        return f"atomicAdd({at}, {bare(args[0])})"
    if name == "add" and (t == f16 or (t == bf16 and m.sm >= 90)):
        return f"{_half_add(m, t)}({at}, {bare(args[0])})"
    if name == "exchange" and t.size >= 4:
        return bitcast(m, _unsigned(t), t, f"atomicExch(reinterpret_cast<{bits(t)}*>({at}), {_bits(m, t, args[0])})")
    return f"{(_byte_loop if t.size == 1 else _loop)(m, name, t)}({at}, {', '.join(map(bare, args))})"


def _word(name: str, t: ScalarType, at: str, args: list[str]) -> str:
    """An integer of 32 or 64 bits. Of the signed ones of 64 bits CUDA has no more than min and max."""
    function = f"atomic{_BUILTINS[name]}"
    if t == i64 and name not in ("min", "max"):
        return f"i64({function}(reinterpret_cast<u64*>({at}), {', '.join(typed(u64, a) for a in args)}))"
    return f"{function}({at}, {', '.join(map(bare, args))})"


def _kept_add(m: Module) -> str:
    """The instruction on f32 flushes subnormals in global memory to zero, which shows only if a tiny number is added.

    From 2**-101 on a sum is 0 or normal, since it is a multiple of 2**-125, and a subnormal element is below half a
    unit of the operand.
    """
    loop = _loop(m, "add", f32)
    either = f"fabsf(x) < 0x1p-101f ? {loop}(at, x) : atomicAdd(at, x)"
    return m.define("atomic_sum_f32", f"FN f32 atomic_sum_f32(f32* at, f32 x) {{ return {either}; }}")


def _half_add(m: Module, t: ScalarType) -> str:
    name = f"atomic_add_{t}"
    return m.define(
        name,
        f"FN {t} {name}({t}* at, {t} x) {{ {t} r; "
        f'asm volatile("atom.relaxed.gpu.add.noftz.{t} %0, [%1], %2;" '
        f': "=h"(r) : "l"(at), "h"(x) : "memory"); return r; }}',
    )


def _moving(m: Module, kind: str, t: ScalarType) -> str:
    """A relaxed load or store."""
    name, letter, b = f"atomic_{kind}_{t}", _LETTERS[t.size], bits(t)
    if kind == "load":
        text = (
            f"FN {t} {name}(const {t}* at) {{ {'u16' if t.size == 1 else b} r; "
            f'asm volatile("ld.relaxed.gpu.{b} %0, [%1];" : "={letter}"(r) : "l"(at) : "memory"); '
            f"return {bitcast(m, _unsigned(t), t, 'r')}; }}"
        )
    else:
        held = f"u16({_bits(m, t, 'x')})" if t.size == 1 else _bits(m, t, "x")
        text = (
            f"FN void {name}({t}* at, {t} x) {{ "
            f'asm volatile("st.relaxed.gpu.{b} [%0], %1;" :: "l"(at), "{letter}"({held}) : "memory"); }}'
        )
    return m.define(name, text)


def _loop(m: Module, name: str, t: ScalarType) -> str:
    """A function that updates an element of 16 bits or more by compare and exchange."""
    function, b = f"atomic_{name}_{t}", bits(t)
    params, args = _parameters(name, t)
    old = bitcast(m, _unsigned(t), t, "seen")
    following = _bits(m, t, f"{_next(m, name, t, 'value', args)}")
    return m.define(
        function,
        f"""\
FN {t} {function}({t}* at, {params}) {{
  {b}* const place = reinterpret_cast<{b}*>(at);
  {b} now = *reinterpret_cast<volatile {b}*>(at), seen;
  do {{
    seen = now;
    const {t} value = {old};
    now = atomicCAS(place, seen, {following});
  }} while (now != seen);
  return {old};
}}""",
    )


def _byte_loop(m: Module, name: str, t: ScalarType) -> str:
    """A function that updates an element of 8 bits, whose neighbour it leaves as it finds it."""
    function = f"atomic_{name}_{t}"
    params, args = _parameters(name, t)
    return m.define(
        function,
        f"""\
FN {t} {function}({t}* at, {params}) {{
  const u64 address = reinterpret_cast<u64>(at);
  u16* const place = reinterpret_cast<u16*>(address & ~1ull);
  const u32 shift = u32(address & 1ull) * 8u;
  u16 now = *reinterpret_cast<volatile u16*>(place), seen;
  do {{
    seen = now;
    const {t} value = {t}(seen >> shift);
    const u32 next = u8({_next(m, name, t, "value", args)});
    now = atomicCAS(place, seen, u16((seen & ~(0xffu << shift)) | next << shift));
  }} while (now != seen);
  return {t}(seen >> shift);
}}""",
    )


def _parameters(name: str, t: ScalarType) -> tuple[str, list[str]]:
    """The parameters of a loop's function besides the address, and their names."""
    names = ["expected", "x"] if name == "compare_exchange" else ["x"]
    return ", ".join(f"{t} {n}" for n in names), names


def _unsigned(t: ScalarType) -> ScalarType:
    return u64 if t.size == 8 else u32


def _bits(m: Module, t: ScalarType, a: str) -> str:
    """``a`` as an unsigned integer of its width."""
    return typed(bits(t), bitcast(m, t, _unsigned(t), a) if t.size >= 4 else a)
