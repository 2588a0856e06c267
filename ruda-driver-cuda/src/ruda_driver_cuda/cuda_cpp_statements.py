"""The statements of one thread in CUDA C++."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from ruda.ir import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Declare,
    DeclareArray,
    Expr,
    Fence,
    For,
    If,
    Let,
    Load,
    Loop,
    Return,
    Statement,
    Store,
    Subgroup,
)
from ruda_driver_cuda.cuda_cpp_atomics import atomic
from ruda_driver_cuda.cuda_cpp_functions import Signature
from ruda_driver_cuda.cuda_cpp_memory import WIDEST, Access
from ruda_driver_cuda.cuda_cpp_scope import Scope
from ruda_driver_cuda.cuda_cpp_subgroups import subgroup
from ruda_driver_cuda.cuda_cpp_types import bare, mem, typed, zero


@dataclass(frozen=True)
class Path:
    """Who comes to a place.

    Attributes:
        mask: the lanes of the subgroup that do, as u32; "" in kernels without subgroup operations.
        apart: threads of the block that have not ended may be elsewhere: those that returned, in the language's sense.
        leaves: ``mask`` is a variable of the innermost loop, which lanes that leave it are to be taken out of.
    """

    mask: str = ""
    apart: bool = False
    leaves: bool = False


@dataclass
class Statements:
    """Writes statements.

    Attributes:
        scope: the meaning of names.
        functions: what Call statements name.
        path: who comes to the place that is written now.
        access: writes loads and stores.
    """

    scope: Scope
    functions: dict[str, Signature]
    path: Path = Path()
    access: Access = field(init=False)

    def __post_init__(self) -> None:
        self.access = Access(self.scope)

    def block(self, block: Block) -> None:
        for statement in block:
            self.scope.writer.at(statement.pos)
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        w, scope = self.scope.writer, self.scope
        match s:
            case Let():
                w.do(f"const {s.value.type} {scope.name(s.value)} = {bare(scope.eval(s.expr))};")
            case Declare():
                init = zero(s.local.type) if s.init is None else bare(scope.eval(s.init))
                w.do(f"{s.local.type} {scope.name(s.local)} = {init};")
            case Assign():
                w.do(f"{scope.name(s.local)} = {bare(scope.eval(s.expr))};")
            case DeclareArray():
                scope.alignments[s.memory.name] = WIDEST
                head = f"alignas({WIDEST}) {mem(s.memory.elem)} {scope.name(s.memory)}"
                w.do(f"{head}[{prod(s.memory.shape)}] = {{}};")
            case Load():
                self.access.load(s)
            case Store():
                self.access.store(s)
            case Atomic():
                atomic(self.access, s)
            case Subgroup():
                subgroup(scope, s, self.path.mask)
            case Barrier():
                # The aligned barrier is for warps that come whole; the other counts each thread.
                w.do("__barrier_sync(0);" if self.path.apart else "__syncthreads();")
            case Fence():
                w.do("__threadfence();" if s.scope == "device" else "__threadfence_block();")
            case Call():
                self.functions[s.function].call(scope, s)
            case If():
                self.branch(s)
            case For():
                self.counted(s)
            case Loop():
                self.loop(s)
            case Break():
                w.do("break;")
            case Continue():
                w.do("continue;")
            case Return():
                w.do("return;")
            case _:
                raise AssertionError(s)

    # --- branches ---

    def branch(self, s: If) -> None:
        w, cond = self.scope.writer, bare(self.scope.eval(s.cond))
        if self.path.leaves and _is_exit(s) and not self._same(s.cond):
            leaves, mask = w.name("leaves"), self.path.mask
            w.do(f"const bool {leaves} = {cond};")
            w.do(f"{mask} = __ballot_sync({mask}, !{leaves});")
            w.do(f"if ({leaves}) break;")
            return
        whole = Block((*s.then, *s.orelse))
        if self._same(s.cond) or not whole.contains_collective:
            then = orelse = self.path
        else:
            then = orelse = Path(self.path.mask, apart=True)
            if whole.contains_subgroup:
                taken, mask = w.name("taken"), w.name("mask")
                w.do(f"const bool {taken} = {cond};")
                w.do(f"const u32 {mask} = __ballot_sync({self.path.mask}, {taken});")
                cond = taken
                then, orelse = Path(mask, apart=True), Path(f"({self.path.mask} & ~{mask})", apart=True)
        with w.braces(f"if ({cond})"), self.on(then):
            self.block(s.then)
        if len(s.orelse):
            with w.braces("else"), self.on(orelse):
                self.block(s.orelse)

    # --- loops ---

    def counted(self, s: For) -> None:
        """A loop over a counter that cannot overflow; the value goes along with it."""
        w, scope, type = self.scope.writer, self.scope, s.value.type
        with w.braces():
            start, step, count = (self._once(e) for e in (s.start, s.step, s.count))
            same = self._same(s.count)
            with self._looping(s.body, same):
                counter, value, u = w.name("round"), scope.name(s.value), s.count.type
                more = f"{counter} < {count}"
                if not same and s.body.contains_subgroup:
                    more = f"{w.module.define('stays', _STAYS)}({self.path.mask}, {more})"
                if _is(s.start, 0) and _is(s.step, 1):
                    with w.braces(f"for ({u} {counter} = 0; {more}; ++{counter})"):
                        w.do(f"const {type} {value} = {type}({counter});")
                        self.block(s.body)
                else:
                    w.do(f"{type} {value} = {start};")
                    following = f"{value} = {type}({typed(u, value)} + {typed(u, step)})"
                    with w.braces(f"for ({u} {counter} = 0; {more}; ++{counter}, {following})"):
                        self.block(s.body)

    def loop(self, s: Loop) -> None:
        w = self.scope.writer
        with w.braces(), self._looping(s.body, True), w.braces("for (;;)"):
            self.block(s.body)

    @contextmanager
    def _looping(self, body: Block, same: bool) -> Iterator[None]:
        """Who is in a loop: those who came, less those who leave it before. ``same``: all want the same rounds."""
        together = same and all(self._same(s.cond) for s in body if isinstance(s, If) and _is_exit(s))
        path = replace(self.path, leaves=False)
        if body.contains_collective and not together:
            path = replace(path, apart=True)
            if body.contains_subgroup:
                path = Path(self.scope.writer.name("mask"), apart=True, leaves=True)
                self.scope.writer.do(f"u32 {path.mask} = {self.path.mask};")
        with self.on(path):
            yield

    # --- helpers ---

    @contextmanager
    def on(self, path: Path) -> Iterator[None]:
        """What is written inside is on ``path``."""
        outer, self.path = self.path, path
        yield
        self.path = outer

    def _same(self, cond: Expr) -> bool:
        """Whether all threads of the block that have not returned, and the others if they look, agree on ``cond``."""
        return self.scope.uniform.expr(cond)

    def _once(self, expr: Expr) -> str:
        """``expr`` by a name, so that what changes later does not reach it."""
        text = bare(self.scope.eval(expr))
        if isinstance(expr, Const):
            return text
        name = self.scope.writer.name("n")
        self.scope.writer.do(f"const {expr.type} {name} = {text};")
        return name


#: The condition of a loop that lanes leave at different rounds.
_STAYS = "FN bool stays(u32& mask, bool more) { mask = __ballot_sync(mask, more); return more; }"


def _is_exit(s: If) -> bool:
    """Whether ``s`` is the way out that ``passes.exits`` leaves in loops around subgroup operations and barriers."""
    return s.then.statements == (Break(),) and not len(s.orelse)


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value
