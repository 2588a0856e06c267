"""Random expressions of a wanted type, as Python text.

Every expression has exactly the type that was asked for, by the language's
promotion rules, and no effect. Loads may use any index: the checked bounds
mode gives a meaning to all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from ruda.types import as_type

INTS = ("i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64")
NUMBERS = INTS + FLOATS

#: Types whose values promote to the key when they stand beside one of it.
NARROWER = {
    "index": ("i32",),
    "i32": (),
    "u32": ("index",),
    "i64": ("i32", "u32", "index"),
    "u64": ("u32", "index"),
    "f32": ("i32", "u32", "index"),
    "f64": ("f32", "i32", "i64"),
}

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Func:
    """A device function that expressions may call."""

    name: str
    params: tuple[str, ...]
    result: str


@dataclass
class Scope:
    """What an expression may name.

    Attributes:
        variables: name to type, each certainly set.
        loads: (array name, element type) of every memory that may be read at any index.
        functions: callable device functions.
    """

    variables: dict[str, str] = field(default_factory=dict)
    loads: list[tuple[str, str]] = field(default_factory=list)
    functions: list[Func] = field(default_factory=list)

    def inner(self) -> Scope:
        """The scope of a nested block: what it adds ends with it."""
        return Scope(dict(self.variables), list(self.loads), self.functions)

    def named(self, type: str) -> list[str]:
        """Variables of one type."""
        return [name for name, t in self.variables.items() if t == type]


class Terms:
    """Makes expressions from one random generator."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def literal(self, type: str) -> str:
        """A literal that fits ``type``; it is weak, so it must stand beside a typed operand."""
        rng = self.rng
        if type in FLOATS:
            return rng.choice(("0.0", "1.0", "-1.5", "0.1", "3.0", "1e30", "-0.0", "2.5"))
        t = as_type("i32" if type == "index" else type)
        large = (t.max, t.min, t.max - 1, 1 << (t.bits - 2), rng.getrandbits(16))
        wanted = (0, 1, 2, 3, 5, 7, -1, -2, -3, 10, 31, 100, *large)
        return str(rng.choice([v for v in wanted if t.min <= v <= t.max]))

    def number(self, type: str, scope: Scope, depth: int) -> str:
        """An expression of the number type (or ``"index"``)."""
        if depth <= 0:
            return self._leaf(type, scope)
        make = self.rng.choice(self._float_forms if type in FLOATS else self._int_forms)
        return make(self, type, scope, depth - 1)

    def any_number(self, scope: Scope, depth: int, types: tuple[str, ...] = NUMBERS) -> str:
        """An expression of any of ``types``."""
        return self.number(self.rng.choice(types), scope, depth)

    def _leaf(self, type: str, scope: Scope) -> str:
        rng = self.rng
        leaves: list[Callable[[], str]] = []
        names = scope.named(type)
        if names:
            leaves += [lambda: rng.choice(names)] * 4
        loads = [name for name, elem in scope.loads if elem == type]
        if loads:
            leaves += [lambda: f"{rng.choice(loads)}[{self._simple_index(scope)}]"]
        if type == "index":
            leaves += [lambda: rng.choice(("dsl.thread_idx.x", "dsl.block_idx.x", "dsl.global_idx.x"))]
        else:
            leaves += [lambda: f"dsl.{type}({self.literal(type)})"]
            others = [n for n, t in scope.variables.items() if t != type]
            if others:
                leaves += [lambda: f"dsl.{type}({rng.choice(others)})"]
        return rng.choice(leaves)()

    def _simple_index(self, scope: Scope) -> str:
        names = [n for t in (*INTS, "index") for n in scope.named(t)]
        return self.rng.choice(names) if names and self.rng.random() < 0.6 else str(self.rng.randrange(9))

    def _operator(self, type: str, scope: Scope, depth: int) -> str:
        """A binary operator between two typed operands, one of them perhaps narrower."""
        rng = self.rng
        other = rng.choice(NARROWER[type]) if NARROWER[type] and rng.random() < 0.3 else type
        sides = [self.number(type, scope, depth), self.number(other, scope, depth - 1)]
        rng.shuffle(sides)
        return f"({sides[0]} {self._symbol(type)} {sides[1]})"

    def _symbol(self, type: str) -> str:
        symbols = ("+", "-", "*", "/") if type in FLOATS else ("+", "-", "*", "//", "%", "&", "|", "^")
        return self.rng.choice(symbols)

    def _with_literal(self, type: str, scope: Scope, depth: int) -> str:
        sides = [self.number(type, scope, depth), self.literal(type)]
        self.rng.shuffle(sides)
        return f"({sides[0]} {self._symbol(type)} {sides[1]})"

    def _shift(self, type: str, scope: Scope, depth: int) -> str:
        count = str(self.rng.choice((0, 1, 5, 31, 33)))
        if self.rng.random() < 0.5:
            count = self.any_number(scope, depth - 1, INTS)
        return f"({self.number(type, scope, depth)} {self.rng.choice(('<<', '>>'))} {count})"

    def _power(self, type: str, scope: Scope, depth: int) -> str:
        return f"({self.number(type, scope, depth)} ** {self.rng.choice((0, 1, 2, 3, 5))})"

    def _unary(self, type: str, scope: Scope, depth: int) -> str:
        sign = "-" if type in FLOATS else self.rng.choice("-~")
        return f"({sign}{self.number(type, scope, depth)})"

    def _cast(self, type: str, scope: Scope, depth: int) -> str:
        if type == "index":
            return self._leaf(type, scope)
        return f"dsl.{type}({self.any_number(scope, depth)})"

    def _builtin(self, type: str, scope: Scope, depth: int) -> str:
        name = self.rng.choice(("min", "max", "abs"))
        if name == "abs" or type in FLOATS:
            return f"abs({self.number(type, scope, depth)})"
        args = [self.number(type, scope, depth) for _ in range(self.rng.choice((2, 2, 3)))]
        return f"{name}({', '.join(args)})"

    def _conditional(self, type: str, scope: Scope, depth: int) -> str:
        sides = [self.number(type, scope, depth), self.number(type, scope, depth)]
        if NARROWER[type] and self.rng.random() < 0.3:
            sides[1] = self.number(self.rng.choice(NARROWER[type]), scope, depth - 1)
        elif type != "index" and self.rng.random() < 0.3:
            sides[1] = self.literal(type)
        self.rng.shuffle(sides)
        return f"({sides[0]} if {self.condition(scope, depth)} else {sides[1]})"

    def _call(self, type: str, scope: Scope, depth: int) -> str:
        fitting = [f for f in scope.functions if f.result == type]
        if not fitting:
            return self._operator(type, scope, depth)
        f = self.rng.choice(fitting)
        return f"{f.name}({', '.join(self.number(p, scope, depth - 1) for p in f.params)})"

    def _load(self, type: str, scope: Scope, depth: int) -> str:
        loads = [name for name, elem in scope.loads if elem == type]
        if not loads:
            return self._leaf(type, scope)
        index = self.any_number(scope, depth, (*INTS, "index"))
        return f"{self.rng.choice(loads)}[{index}]"

    def _quotient(self, type: str, scope: Scope, depth: int) -> str:
        """``/`` of two ints: f32 of 32-bit ones, f64 with a 64-bit one."""
        kind = self.rng.choice(("i32", "u32") if type == "f32" else ("i64", "u64"))
        return f"({self.number(kind, scope, depth)} / {self.number(kind, scope, depth)})"

    def _builtin_cast(self, type: str, scope: Scope, depth: int) -> str:
        kind = {"i32": ("i32", "u32", "f32"), "i64": ("i64", "u64", "f64"), "index": ("index",)}.get(type)
        if kind is None:
            return self._cast(type, scope, depth)
        return f"int({self.any_number(scope, depth, kind)})"

    _shared_forms = (_operator, _operator, _operator, _with_literal, _with_literal, _unary, _conditional, _call, _load)
    _int_forms = (*_shared_forms, _shift, _power, _cast, _builtin, _builtin_cast)
    _float_forms = (*_shared_forms, _cast, _builtin, _quotient)

    def condition(self, scope: Scope, depth: int) -> str:
        """A bool expression."""
        rng = self.rng
        if depth <= 0:
            names = scope.named("bool")
            if names and rng.random() < 0.5:
                return rng.choice(names)
            return self._comparison(scope, 0)
        form = rng.randrange(6)
        if form == 0:
            return f"(not {self.condition(scope, depth - 1)})"
        if form <= 2:
            word = rng.choice(("and", "or"))
            parts = [self.condition(scope, depth - 1) for _ in range(rng.choice((2, 2, 3)))]
            return "(" + f" {word} ".join(parts) + ")"
        if form == 3:
            return f"({self.condition(scope, depth - 1)} {rng.choice('&|^')} {self.condition(scope, depth - 1)})"
        return self._comparison(scope, depth - 1)

    def _comparison(self, scope: Scope, depth: int) -> str:
        """A comparison, perhaps chained: every operand but the first may be a literal or narrower."""
        rng = self.rng
        type = rng.choice((*NUMBERS, "index"))
        text = self.number(type, scope, depth)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            # Two literals side by side would be compared by Python, so each follows a typed operand.
            text += f" {rng.choice(_COMPARISONS)} {self.number(type, scope, depth)}"
        if rng.random() < 0.3:
            text += f" {rng.choice(_COMPARISONS)} {self.literal(type)}"
        return f"({text})"
