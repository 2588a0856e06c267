"""The syntax tree of a Python function, from the text that it was compiled from."""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
import sys
import warnings
from types import CodeType, FunctionType

from ruda.errors import KernelSyntaxError
from ruda.ir import Pos
from ruda.ir.report import at

_RELOAD = "the file has changed since it was imported, or another tool rewrote the function; import it again"


def parse(function: FunctionType) -> tuple[ast.FunctionDef, list[str]]:
    """The syntax tree of ``function`` and its source lines.

    Raises:
        KernelSyntaxError: there is no text, or the text is not that of the function.
    """
    code = function.__code__
    name = function.__name__
    pos = Pos(code.co_filename, code.co_firstlineno)
    if code.co_name == "<lambda>":
        raise at(KernelSyntaxError, "a kernel is a def, not a lambda", pos, kernel=name, hint="write def with a name")
    try:
        block = inspect.getblock(_lines(code.co_filename, function)[code.co_firstlineno - 1 :])
    except (SyntaxError, IndexError):
        block = []
    if not block:
        what = f"the source text of {name} is not available: {_why(code.co_filename)}"
        raise at(KernelSyntaxError, what, pos, kernel=name, hint=_how(code.co_filename))
    lines = [line.rstrip("\n") for line in block]
    node = tree_of(name, lines, pos)
    if node.name != code.co_name or not _matches(node, code):
        what = f"the text at this line is not the function {name} that Python runs"
        raise at(KernelSyntaxError, what, pos, kernel=name, hint=_how(code.co_filename) if _unnamed(pos) else _RELOAD)
    return node, lines


def tree_of(name: str, lines: list[str], pos: Pos) -> ast.FunctionDef:
    """The syntax tree of the function ``name`` in ``lines``, the first of which is at ``pos``.

    Raises:
        KernelSyntaxError: they hold no function.
    """
    indented = lines[0][:1].isspace()
    try:
        tree = ast.parse("\n".join(["if 1:", *lines] if indented else lines))
    except SyntaxError as error:
        what = f"the source text of {name} cannot be parsed: {error.msg}"
        raise at(KernelSyntaxError, what, pos, kernel=name, hint=_RELOAD) from None
    node: ast.AST | None = tree.body[0] if tree.body else None
    if indented and isinstance(node, ast.If):
        node = node.body[0]
    ast.increment_lineno(tree, pos.line - (2 if indented else 1))
    if isinstance(node, ast.AsyncFunctionDef):
        hint = "write def; a launch does not wait anyway"
        raise at(KernelSyntaxError, "a kernel cannot be async", pos, kernel=name, hint=hint)
    if not isinstance(node, ast.FunctionDef):
        what = f"the text at this line is not the function {name} that Python runs"
        raise at(KernelSyntaxError, what, pos, kernel=name, hint=_RELOAD)
    return node


def code_of(node: ast.FunctionDef, file: str, free: tuple[str, ...], flags: int) -> CodeType | None:
    """What Python makes of ``node`` without its decorators; None where the compiler leaves nothing of that name.

    Args:
        node: a function, at its place in ``file``.
        file: where it stands.
        free: the names that it has from functions around it.
        flags: ``co_flags`` of the code, for its ``__future__`` features.
    """
    bare = ast.FunctionDef(**{f: getattr(node, f) for f in node._fields if f not in ("decorator_list", "returns")})
    # Decorators count by their place alone: the function's first line is that of the first.
    bare.decorator_list = [ast.copy_location(ast.Constant(None), d) for d in node.decorator_list]
    bare.returns = None
    cells = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in free if n != "__class__"]
    factory = ast.parse("def factory(): pass")
    assert isinstance(factory.body[0], ast.FunctionDef)
    outside = [] if node.name in free else [ast.Global([node.name])]
    factory.body[0].body = [*outside, *cells, ast.copy_location(bare, node)]
    features = flags & 0x1FF0000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # Python gave it when it compiled the file, if it did so now
        module = compile(ast.fix_missing_locations(factory), file, "exec", features, dont_inherit=True)
    found = [inner for outer in _codes(module) for inner in _codes(outer) if inner.co_name == node.name]
    return found[0] if found else None


def keep_lines(file: str, line: int, lines: list[str]) -> None:
    """Let errors show the text of a function whose file is not on this machine."""
    present = linecache.getlines(file)
    if present and file not in _kept:
        return
    _kept.add(file)
    present = [*present, *["\n"] * (line - 1 + len(lines) - len(present))]
    present[line - 1 : line - 1 + len(lines)] = [text + "\n" for text in lines]
    linecache.cache[file] = (sum(map(len, present)), None, present, file)


#: Files of which linecache has what pickles brought.
_kept: set[str] = set()


def _lines(file: str, function: FunctionType) -> list[str]:
    """The lines of ``file`` as they are now, from linecache, a file, or the command line; [] where there are none."""
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines and file == "<string>" and sys.argv[:1] == ["-c"] and len(sys.argv) < len(sys.orig_argv):
        # Before 3.13 Python itself does not keep the text of `python -c`; sys.argv is "-c" and what follows the text.
        lines = sys.orig_argv[-len(sys.argv)].splitlines(keepends=True)
    if lines and file == "<string>":  # what exec runs has that name too
        text = compile("".join(lines), file, "exec", dont_inherit=True)
        return lines if _holds(text, function.__code__) else []
    return lines


def _holds(outer: CodeType, code: CodeType) -> bool:
    return any(inner == code or _holds(inner, code) for inner in _codes(outer))


def _unnamed(pos: Pos) -> bool:
    return pos.file.startswith("<") and pos.file.endswith(">")


def _why(file: str) -> str:
    if file == "<stdin>":
        return "this Python keeps no text of what is typed or piped in"
    if file == "<string>":
        return "exec keeps no text"
    return f"there is no text for {file}"


def _how(file: str) -> str:
    if file == "<stdin>":
        return "define it in a file that you import, or use IPython or the interactive Python of 3.13 and later"
    return (
        "define it in a file; or, for text that a program makes, let linecache have it under a name of its own before "
        "it runs: linecache.cache[name] = len(text), None, text.splitlines(True), name; "
        'exec(compile(text, name, "exec"), globals)'
    )


def _matches(node: ast.FunctionDef, code: CodeType) -> bool:
    """Whether ``node`` compiles to ``code``: text that was edited after the import must not be compiled."""
    rewritten = any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames))
    if rewritten:  # pytest did so with the assert statements; the rest must be there in order
        node = _WithoutAsserts().visit(copy.deepcopy(node))
    made = code_of(node, code.co_filename, code.co_freevars, code.co_flags)
    if made is None:
        return False
    # Code from a cached file, or made under -X no_debug_ranges, may know no columns.
    columns = all(any(place[2] is not None for place in c.co_positions()) for c in (made, code))
    expected, found = _trace(made, columns), _trace(code, columns)
    left = iter(found)
    return all(step in left for step in expected) if rewritten else expected == found


class _WithoutAsserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.Pass:
        return ast.copy_location(ast.Pass(), node)


def _codes(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _trace(code: CodeType, columns: bool) -> list[tuple[object, ...]]:
    """The constants, names, operators and jumps of ``code`` in order, each with its place in the text.

    Not the instructions themselves: how a call is compiled depends on the imports of the whole module.
    """
    found: list[tuple[object, ...]] = []
    for i in dis.get_instructions(code):
        at = i.positions
        place = () if at is None else (at.lineno, at.col_offset if columns else None)
        if i.opcode in _JUMPS:
            found.append((i.opname, *place))
        elif i.opcode in _NAMING or i.opname.startswith(("BINARY", "UNARY")):
            value = "code" if isinstance(i.argval, CodeType) else repr(i.argval)
            found.append((i.opname.startswith("LOAD"), value, *place))
    return found


_NAMING = frozenset([*dis.hasconst, *dis.hasname, *dis.haslocal, *dis.hasfree, *dis.hascompare])
_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
