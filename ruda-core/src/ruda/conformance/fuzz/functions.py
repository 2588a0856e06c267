"""Random device functions: values from values, pairs, and writes to an array that is passed in."""

from __future__ import annotations

import random

from ruda.conformance.fuzz.terms import NUMBERS, Func, Scope, Terms
from ruda.conformance.fuzz.writer import Writer


class Functions(Writer):
    """Writes device functions, each with early returns.

    Attributes:
        types: function name to variable name to type.
        pairs: functions that return two values, by their parameters' type, which is the results' too.
        writers: functions of an array, an index and a value; the type is that of the elements and the value.
    """

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.terms = Terms(rng)
        self.types: dict[str, dict[str, str]] = {}
        self.pairs: dict[str, str] = {}
        self.writers: dict[str, str] = {}

    def _begin(self, name: str, params: dict[str, str], *, first: str = "") -> Scope:
        """The head of a function; some parameters are annotated."""
        heads = [f"{n}: dsl.{t}" if t != "index" and self.rng.random() < 0.6 else n for n, t in params.items()]
        self.line_at_module("@dsl.func", f"def {name}({first}{', '.join(heads)}):")
        self.types[name] = dict(params)
        return Scope(dict(params))

    def function(self, number: int) -> Func:
        """A function of scalars that expressions may call."""
        rng = self.rng
        params = {f"x{k}": rng.choice(NUMBERS) for k in range(rng.choice((1, 2, 3)))}
        result = rng.choice(NUMBERS)
        scope = self._begin(f"f{number}", params)
        local = f"r{number}"
        self.types[f"f{number}"][local] = result
        self.line(f"{local} = {self.terms.number(result, scope, 1)}")
        scope.variables[local] = result
        for _ in range(rng.choice((0, 1, 2))):
            if rng.random() < 0.5:
                with self.block(f"if {self.terms.condition(scope, 1)}:"):
                    self.line(f"return {self.terms.number(result, scope, 2)}")
            else:
                with self.block(f"for k{number} in range({rng.randrange(1, 4)}):"):
                    self.line(f"{local} = {self.terms.number(result, scope, 2)}")
                    with self.block(f"if {self.terms.condition(scope, 1)}:"):
                        self.line(rng.choice((f"return {local}", "break", "continue")))
        self.line(f"return {self.terms.number(result, scope, 2)}")
        return Func(f"f{number}", tuple(params.values()), result)

    def pair(self) -> None:
        """A function that returns two values."""
        type = self.rng.choice(NUMBERS)
        scope = self._begin("pair", {"x": type, "y": type})
        with self.block(f"if {self.terms.condition(scope, 1)}:"):
            self.line(f"return {self.terms.number(type, scope, 1)}, {self.terms.number(type, scope, 1)}")
        self.line("return y, x")
        self.pairs["pair"] = type

    def writer(self, elem: str) -> None:
        """A function that writes an element of the array it is given, or returns before; and may read it."""
        scope = self._begin("put", {"at": "index", "x": elem}, first="array, ")
        with self.block(f"for k in range({self.rng.randrange(1, 4)}):"):
            with self.block(f"if {self.terms.condition(scope, 1)}:"):
                self.line("return")
            self.line(f"array[at] {self.rng.choice(('', '+', '-'))}= {self.terms.number(elem, scope, 2)}")
        self.line("array[at] = x")
        self.writers["put"] = elem
