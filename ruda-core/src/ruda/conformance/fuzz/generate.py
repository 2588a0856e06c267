"""Random structured kernels, whose threads never race and always end.

A thread writes only its own elements of ``out`` (or out of range, where the
write is dropped), and counters only by one atomic operation each. Loops are
bounded by construction. Barriers stand in flow that is uniform over the
block: there, conditions and bounds are made of constants, scalar parameters,
``block_idx`` and loop variables of uniform loops, and no thread leaves a loop
with a barrier except all together (a thread may return).
"""

from __future__ import annotations

import random

from ruda.conformance.fuzz.emulate import ArrayArgument, Case
from ruda.conformance.fuzz.functions import Functions
from ruda.conformance.fuzz.terms import FLOATS, INTS, NARROWER, NUMBERS, Scope
from ruda.types import as_type

_SLOTS = 4  # elements of each out array that a thread owns
_SHARED = 6


class Generator(Functions):
    """Makes one case from one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed))
        self.seed = seed
        self.outs: list[tuple[str, str]] = []
        self.counters: list[tuple[str, str, str]] = []  # array, dtype, the one atomic that updates it
        self.shared: list[tuple[str, str]] = []
        self.uniform_names: dict[str, str] = {}
        self.budget = 0

    # --- a whole case ---

    def case(self) -> Case:
        """The case of this generator's seed."""
        rng = self.rng
        block, grid = rng.choice((3, 4, 7, 8)), rng.choice((1, 2, 3))
        functions = [self.function(k) for k in range(rng.choice((0, 1, 2)))]
        threads = grid * block
        arrays: list[ArrayArgument] = []
        inputs = [(f"a{k}", t) for k, t in enumerate(rng.sample(NUMBERS, 3))]
        arrays += [self._array(name, t, threads + rng.choice((-2, 0, 5))) for name, t in inputs]
        self.outs = [(f"out{k}", t) for k, t in enumerate(rng.sample(NUMBERS, 2))]
        arrays += [self._array(name, t, threads * _SLOTS) for name, t in self.outs]
        for k, op in enumerate(rng.sample(("add", "sub", "min", "max", "and_", "or_", "xor"), 2)):
            self.counters.append((f"c{k}", rng.choice(("i32", "u32")), op))
            arrays.append(self._array(f"c{k}", self.counters[-1][1], 5))
        scalars = (
            ("n", "i32", rng.randrange(0, 6)),
            ("m", "u32", rng.randrange(0, 9)),
            ("q", "i64", rng.randrange(-3, 4)),
        )
        params = [f"{a.name}: dsl.Array[dsl.{a.dtype}]" for a in arrays] + [f"{s}: dsl.{t}" for s, t, _ in scalars]
        if rng.random() < 0.3:
            self.pair()
        if rng.random() < 0.3:
            self.writer(rng.choice(self.outs)[1])
        self.line_at_module("@kernel", f"def kernel({', '.join(params)}):")
        self.types["kernel"] = {}
        self.kernel_body(Scope({s: t for s, t, _ in scalars}, list(inputs), functions), {s: t for s, t, _ in scalars})
        return Case(self.seed, "\n".join(self.lines) + "\n", self.types, tuple(arrays), scalars, grid, block)

    def _array(self, name: str, type: str, length: int) -> ArrayArgument:
        rng = self.rng
        if type in FLOATS:
            pool = (0.0, -0.0, 1.5, -2.25, 1e10, 0.1, float("inf"), float("nan"), 7.0)
            values = [float(as_type(type).dtype.type(rng.choice(pool))) for _ in range(length)]
            return ArrayArgument(name, type, tuple(values))
        t = as_type(type)
        whole = [rng.choice((rng.randrange(-9, 10), t.max, t.min, rng.getrandbits(t.bits))) for _ in range(length)]
        return ArrayArgument(name, type, tuple(t.wrap(v) for v in whole))

    def kernel_body(self, scope: Scope, uniform: dict[str, str]) -> None:
        rng = self.rng
        self.uniform_names = dict(uniform)
        self.define("t", "index", "dsl.thread_idx.x", scope)
        self.define("g", "index", "dsl.global_idx.x", scope)
        if rng.random() < 0.6:
            for k in range(rng.choice((1, 2))):
                self.shared.append((f"s{k}", rng.choice(("i32", "u32", "i64", "f32"))))
                self.line(f"s{k} = dsl.shared({_SHARED}, dsl.{self.shared[-1][1]})")
                with self.block(f"for z{k} in range({_SHARED}):"):  # every thread writes the same values
                    self.line(f"s{k}[z{k}] = z{k} * 3")
            self.line("dsl.barrier()")
        if rng.random() < 0.4:
            type = rng.choice(INTS)
            self.line(f"l0 = dsl.local(4, dsl.{type})")
            scope.loads.append(("l0", type))
            self.outs.append(("l0", type))
        for _ in range(4):
            type = rng.choice(NUMBERS)
            self.define(self.fresh(type), type, self.terms.number(type, scope, 1), scope)
        self.define(self.fresh("bool", "b"), "bool", self.terms.condition(scope, 1), scope)
        self.budget = rng.randrange(8, 26)
        while self.budget > 0:
            self.statement(scope, depth=0, uniform=True, leave=None)
        for number, (name, type) in enumerate(list(scope.variables.items())):
            if name not in uniform and type != "bool":
                self.store(scope, name, type, number)

    def define(self, name: str, type: str, text: str, scope: Scope) -> None:
        self.line(f"{name} = {text}")
        scope.variables[name] = type
        self.types["kernel"][name] = type

    # --- statements ---

    def statement(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """One statement.

        Args:
            scope: what it may name, and add to.
            depth: blocks around it.
            uniform: whether all threads of the block that have not returned are here.
            leave: whether break and continue may be written; None outside of loops.
        """
        self.budget -= 1
        rng = self.rng
        forms = [self.assign, self.assign, self.augment, self.write, self.update_counter, self.swap]
        if self.pairs or self.writers:
            forms.append(self.call)
        if depth < 3:
            forms += [self.branch, self.branch, self.for_loop, self.while_loop]
        if uniform and self.shared:
            forms += [self.phase, self.phase]
        form = rng.choice(forms)
        form(scope, depth, uniform, leave)
        if depth > 0 and not uniform and rng.random() < 0.12:
            self.exit(scope, leave)

    def exit(self, scope: Scope, leave: bool | None) -> None:
        """break, continue or return under a condition."""
        words = (["break", "continue"] if leave else []) * 2 + ["return"]
        with self.block(f"if {self.terms.condition(scope, 1)}:"):
            self.leave(self.rng.choice(words), scope)

    def leave(self, word: str, scope: Scope) -> None:
        """break, continue or return; before a return a variable is shown, so that it matters which thread returned."""
        if word == "return":
            name, type = self.rng.choice([(n, t) for n, t in scope.variables.items() if t != "bool"])
            self.store(scope, name, type, self.rng.randrange(_SLOTS))
        self.line(word)

    def body(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """The statements of a nested block."""
        inner = scope.inner()
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.statement(inner, depth + 1, uniform, leave)
        self.retire(scope, inner)

    def assign(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        rng = self.rng
        if rng.random() < 0.4:
            type = rng.choice(NUMBERS)
            self.define(self.fresh(type), type, self.terms.number(type, scope, 2), scope)
            return
        name, type = self.target(scope)
        if type == "bool":
            self.line(f"{name} = {self.terms.condition(scope, 2)}")
            return
        source = type
        if type in INTS and rng.random() < 0.3:  # the variable has the promotion of all that is assigned to it
            source = rng.choice([t for t in NARROWER[type] if t != "index"] or [type])
        text = self.terms.literal(type) if rng.random() < 0.15 else self.terms.number(source, scope, 3)
        self.line(f"{name} = {text}")

    def target(self, scope: Scope) -> tuple[str, str]:
        """A variable that may be assigned to: not a parameter, an index or a uniform name."""
        names = [(n, t) for n, t in scope.variables.items() if n[0] in "vb" and n not in self.uniform_names]
        return self.rng.choice(names)

    def augment(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        name, type = self.target(scope)
        if type == "bool":
            self.line(f"{name} {self.rng.choice('&|^')}= {self.terms.condition(scope, 1)}")
            return
        symbols = ("+", "-", "*", "/") if type in FLOATS else ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
        text = self.terms.literal(type) if self.rng.random() < 0.3 else self.terms.number(type, scope, 2)
        self.line(f"{name} {self.rng.choice(symbols)}= {text}")

    def swap(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """A tuple assignment: a swap, or several new values at once."""
        (a, type), (b, other) = self.target(scope), self.target(scope)
        if a == b or "bool" in (type, other):
            self.assign(scope, depth, uniform, leave)
        elif type == other and self.rng.random() < 0.5:
            self.line(f"{a}, {b} = {b}, {a}")
        else:
            self.line(f"{a}, {b} = {self.terms.number(type, scope, 1)}, {self.terms.number(other, scope, 1)}")

    def call(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """A call of a device function as a statement: two results at once, or a write through a parameter."""
        terms = self.terms
        for function, elem in self.writers.items():
            for out in (name for name, type in self.outs if type == elem and name != "l0"):
                self.line(f"{function}({out}, {self.own(out, scope)}, {terms.number(elem, scope, 2)})")
        for function, type in self.pairs.items():
            first, second = self.fresh(type), self.fresh(type)
            self.line(f"{first}, {second} = {function}({terms.number(type, scope, 2)}, {terms.number(type, scope, 1)})")
            for name in (first, second):
                scope.variables[name] = self.types["kernel"][name] = type

    def own(self, name: str, scope: Scope, number: int | None = None) -> str:
        """An index of ``out`` that this thread owns, or one that is out of range."""
        rng = self.rng
        slot = str(number % _SLOTS) if number is not None else f"{self.terms.number('index', scope, 1)} % {_SLOTS}"
        if name == "l0":
            return slot if rng.random() < 0.8 else self.terms.any_number(scope, 1, INTS)
        if number is None and rng.random() < 0.15:
            return rng.choice(("g + 100000", "g - 1000", "-1 - g", "2147483647 - t"))
        return f"g * {_SLOTS} + {slot}"

    def write(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """A store or an augmented store; it converts inside one kind, and from ints to floats."""
        name, type = self.rng.choice(self.outs)
        index = self.own(name, scope)
        source = self.rng.choice(INTS) if type in INTS else self.rng.choice(NUMBERS)
        if self.rng.random() < 0.3:
            self.line(f"{name}[{index}] {self.rng.choice('+-*')}= {self.terms.number(type, scope, 2)}")
        else:
            self.line(f"{name}[{index}] = {self.terms.number(source, scope, 2)}")

    def store(self, scope: Scope, name: str, type: str, number: int) -> None:
        """Let a variable's last value be seen."""
        out, elem = self.rng.choice([(n, t) for n, t in self.outs if n != "l0"])
        self.line(f"{out}[{self.own(out, scope, number)}] += {name if type == elem else f'dsl.{elem}({name})'}")

    def update_counter(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        name, type, op = self.rng.choice(self.counters)
        index = str(self.rng.randrange(6))
        if self.rng.random() < 0.3:
            index = self.terms.any_number(scope, 1, (*INTS, "index"))
        self.line(f"dsl.atomic.{op}({name}, {index}, {self.terms.number(type, scope, 2)})")

    def phase(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """Each thread writes its own element of shared memory, and after a barrier reads any."""
        name, type = self.rng.choice(self.shared)
        self.line(f"{name}[t] = {self.terms.number(type, scope, 2)}")
        self.line("dsl.barrier()")
        reading = scope.inner()
        reading.loads = [(name, type)]
        read = self.terms.number(type, reading, 2)
        self.define(self.fresh(type), type, f"{name}[{self.rng.choice(('t + 1', 't ^ 1', 't - 1', '2'))}]", scope)
        self.line(f"{self.fresh_of(type, scope)} = {read}")
        self.line("dsl.barrier()")

    def fresh_of(self, type: str, scope: Scope) -> str:
        """A variable of ``type`` to assign to, made if there is none."""
        name = self.fresh(type)
        scope.variables[name] = type
        self.types["kernel"][name] = type
        return name

    def branch(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """if, elif, else: under a uniform condition the block stays together."""
        rng = self.rng
        together = uniform and rng.random() < 0.4
        inside = uniform and together

        def condition() -> str:
            return self.uniform_condition(scope) if together else self.terms.condition(scope, 2)

        may_leave = leave if together or leave is None else leave and not uniform
        with self.block(f"if {condition()}:"):
            self.body(scope, depth, inside, may_leave)
            if not inside and rng.random() < 0.2:
                self.leave(rng.choice((["break", "continue"] if may_leave else []) + ["return"]), scope)
        if rng.random() < 0.3:
            with self.block(f"elif {condition()}:"):
                self.body(scope, depth, inside, may_leave)
        if rng.random() < 0.5:
            with self.block("else:"):
                self.body(scope, depth, inside, may_leave)

    def uniform_condition(self, scope: Scope) -> str:
        """A condition that is the same in the whole block."""
        rng = self.rng
        known = {n: t for n, t in self.uniform_names.items() if n in scope.variables}
        narrow = Scope(known, [(n, t) for n, t in scope.loads if n.startswith("a")])
        name = rng.choice([*known, "dsl.block_idx.x"])
        text = f"{name} {rng.choice(('<', '>', '==', '!=', '<='))} {rng.randrange(5)}"
        if rng.random() < 0.3 and narrow.loads:
            array, elem = rng.choice(narrow.loads)
            text += f" {rng.choice(('and', 'or'))} {array}[{name}] > {self.terms.literal(elem)}"
        return text

    def for_loop(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        rng = self.rng
        together = uniform and rng.random() < 0.5
        type, bounds, certain = self.bounds(scope, together)
        name = self.fresh(type, "i")
        self.types["kernel"][name] = type
        if rng.random() < 0.2 and type == "index":
            self.line(f"{name} = 0")
            certain = True
        inner = scope.inner()
        inner.variables[name] = type
        if together:
            self.uniform_names[name] = type
        with self.block(f"for {name} in range({bounds}):"):
            self.loop_body(inner, depth, together, uniform)
        self.uniform_names.pop(name, None)
        self.otherwise(scope, depth, uniform, leave)
        if certain:
            scope.variables[name] = type
        self.retire(scope, inner)

    def loop_body(self, scope: Scope, depth: int, together: bool, uniform: bool) -> None:
        """The body of a loop; where all threads are together in it, they leave it together."""
        self.body(scope, depth, together, leave=not together)
        if together and self.rng.random() < 0.3:
            with self.block(f"if {self.uniform_condition(scope)}:"):
                self.line(self.rng.choice(("break", "continue")))
            self.body(scope, depth, together, leave=False)

    def bounds(self, scope: Scope, together: bool) -> tuple[str, str, bool]:
        """Type of the loop variable, text of the bounds, and whether the loop surely runs once."""
        rng = self.rng
        form = rng.randrange(4)
        if form == 0 or (together and form == 1):
            wide = ("-2147483648, 2147483647, 1431655765", "2147483640, 2147483647, 3", "-5, 5, 4", "3, -4, -3", "4")
            return "index", rng.choice(wide), True
        if together:
            name, type = rng.choice([(n, t) for n, t in self.uniform_names.items() if n in scope.variables])
            return type, f"{name} % 4" if type != "index" else f"{name} % 3, 4", False
        type = rng.choice(("i32", "i64", "u32", "index"))
        start = self.terms.number(type, scope, 1)
        if form == 1:
            return type, f"{start} % 4", False
        if type != "u32" and form == 2:
            return type, f"{start} % 5, -2, -2", False
        return type, f"{start} % 3, {rng.randrange(3, 6)}, {rng.randrange(1, 3)}", True

    def while_loop(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """A while loop with a counter that bounds it; the counter moves first, so continue cannot skip it."""
        rng = self.rng
        together = uniform and rng.random() < 0.4
        counter = self.fresh("i32", "w")
        self.define(counter, "i32", f"dsl.i32({rng.randrange(3)})", scope)
        if together:
            self.uniform_names[counter] = "i32"
        limit = f"{counter} < {rng.randrange(3, 6)}"
        inner = scope.inner()
        forever = rng.random() < 0.3
        more = self.uniform_condition(scope) if together else self.terms.condition(scope, 1)
        head = "True" if forever else (f"{limit} and ({more})" if rng.random() < 0.7 else limit)
        with self.block(f"while {head}:"):
            if forever:
                with self.block(f"if not ({limit}):"):
                    self.line("break")
            self.line(f"{counter} += 1")
            self.loop_body(inner, depth, together, uniform)
        self.uniform_names.pop(counter, None)
        if not forever:
            self.otherwise(scope, depth, uniform, leave)
        self.retire(scope, inner)

    def otherwise(self, scope: Scope, depth: int, uniform: bool, leave: bool | None) -> None:
        """A loop's else; threads come to it or not by what they did, so it is never uniform."""
        if self.rng.random() < 0.25:
            with self.block("else:"):
                self.body(scope, depth, uniform=False, leave=leave and not uniform)


def generate(seed: int) -> Case:
    """The case of one seed, the same in every process."""
    return Generator(seed).case()
