"""The syntax tree of a Python function, from the text that it was compiled from."""

from __future__ import annotations

import ast
import dis
import inspect
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
    pos = Pos(code.co_filename, code.co_firstlineno)
    name = function.__name__

    def fail(message: str, hint: str) -> KernelSyntaxError:
        return at(KernelSyntaxError, message, pos, kernel=name, hint=hint)

    if code.co_name == "<lambda>":
        raise fail("a kernel is a def, not a lambda", "write def with a name")
    try:
        lines, _ = inspect.findsource(function)
        block = inspect.getblock(lines[code.co_firstlineno - 1 :])
    except (OSError, SyntaxError, IndexError) as error:
        raise fail(
            f"the source text of {name} is not available ({error})",
            "define it in a file; for text run by exec, register the text in linecache.cache under the file name",
        ) from None
    block = [line.rstrip("\n") for line in block]
    indented = block[0][:1].isspace() if block else False
    text = "\n".join(["if 1:", *block] if indented else block)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise fail(f"the source text of {name} cannot be parsed: {error.msg}", _RELOAD) from None
    node: ast.AST | None = tree.body[0] if tree.body else None
    if indented and isinstance(node, ast.If):
        node = node.body[0]
    ast.increment_lineno(tree, code.co_firstlineno - (2 if indented else 1))
    if isinstance(node, ast.AsyncFunctionDef):
        raise fail("a kernel cannot be async", "write def; a launch does not wait anyway")
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name or not _matches(node, code):
        raise fail(f"the text at this line is not the function {name} that Python runs", _RELOAD)
    return node, block


def _matches(node: ast.FunctionDef, code: CodeType) -> bool:
    """Whether ``node`` compiles to ``code``: text that was edited after the import must not be compiled."""
    if any(isinstance(child, ast.Assert) for child in ast.walk(node)):
        return True  # pytest rewrites assert statements; those are refused by name
    bare = ast.FunctionDef(**{f: getattr(node, f) for f in node._fields if f not in ("decorator_list", "returns")})
    bare.decorator_list, bare.returns = [], None
    free = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in code.co_freevars if n != "__class__"]
    factory = ast.parse("def factory(): pass")
    assert isinstance(factory.body[0], ast.FunctionDef)
    outside = [] if node.name in code.co_freevars else [ast.Global([node.name])]
    factory.body[0].body = [*outside, *free, bare]
    flags = code.co_flags & 0x1FF0000  # the __future__ features
    module = compile(ast.fix_missing_locations(factory), code.co_filename, "exec", flags, dont_inherit=True)
    for outer in _codes(module):
        for inner in _codes(outer):
            if inner.co_name == code.co_name:
                return _operands(inner) == _operands(code)
    return False


def _codes(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _operands(code: CodeType) -> list[str]:
    """The constants, names and operators of ``code`` in order.

    Not the instructions themselves: how a call is compiled depends on the imports of the whole module.
    """
    found = []
    for i in dis.get_instructions(code):
        if i.opcode in _NAMING or i.opname.startswith(("BINARY", "UNARY")):
            value = "code" if isinstance(i.argval, CodeType) else repr(i.argval)
            found.append(f"{i.opname.startswith('LOAD')} {value}")
    return found


_NAMING = frozenset([*dis.hasconst, *dis.hasname, *dis.haslocal, *dis.hasfree, *dis.hascompare])
