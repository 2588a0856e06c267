"""Which power of two is known to divide an integer: how far an access may be widened.

Wrapping around does not change what of a power of two divides a number, as
long as that is below the type's own modulus.
"""

from __future__ import annotations

from ruda.ir import Apply, Block, Const, Expr, For, Function, Kernel, Let, Value, walk

#: No access is so wide that it matters what more divides its offset.
MOST = 1 << 12


class Multiples:
    """The answer for the values of one body."""

    def __init__(self, of: Kernel | Function) -> None:
        self._known: dict[Value, int] = {}
        self._block(of.body)

    def of(self, expr: Expr) -> int:
        """The largest known power of two, up to ``MOST``, that divides ``expr``, an integer; of 0 it is ``MOST``."""
        match expr:
            case Const():
                value = int(expr.value)
                return min(value & -value, MOST) if value else MOST
            case Value():
                return self._known.get(expr, 1)
            case Apply():
                return self._apply(expr)
        return 1

    def _block(self, block: Block) -> None:
        for s in walk(block):
            if isinstance(s, Let) and s.value.type.is_int:
                self._known[s.value] = self.of(s.expr)
            elif isinstance(s, For):
                self._known[s.value] = min(self.of(s.start), self.of(s.step))

    def _apply(self, e: Apply) -> int:
        if not e.args or not e.args[-1].type.is_int:
            return 1
        args = [self.of(a) for a in e.args]
        match e.op:
            case "add" | "sub" | "or" | "xor":
                return min(args)
            case "select":
                return min(args[1:])
            case "and":
                return max(args)
            case "mul":
                return min(args[0] * args[1], MOST)
            case "neg" | "cast":
                return args[0]
            case "shl" if isinstance(e.args[1], Const):
                return min(args[0] << int(e.args[1].value) % e.type.bits, MOST)
        return 1
