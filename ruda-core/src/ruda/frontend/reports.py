"""``print``, ``assert`` and f-strings: text with the values that the host puts into it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ruda import ir
from ruda.errors import KernelTypeError, KernelValueError
from ruda.frontend.builder import handles
from ruda.frontend.calls import Call, means
from ruda.frontend.logic import condition
from ruda.frontend.promote import expression, scalar
from ruda.frontend.values import Choice, Form, Static, TableItem, Text, Typed, Value, describe, parts
from ruda.types import ScalarType, StructType, bool_

if TYPE_CHECKING:
    from ruda.frontend.builder import Builder

_SPACE, _NEWLINE = Static(" "), Static("\n")


def print_(b: Builder, made: Call, *values: Value, sep: Value = _SPACE, end: Value = _NEWLINE) -> None:
    """``print(x, f"{y:.3f}", sep=", ")``: the host prints it when it next looks at the stream."""
    between = _setting(b, "sep", sep, " ", made.pos)
    last = _setting(b, "end", end, "\n", made.pos)
    texts = [text_of(b, value, b.pos(node)) for node, value in zip(made.node.args, values, strict=True)]
    template = _literal(between).join(text.template for text in texts) + _literal(last)
    b.emit(ir.Print(template, tuple(arg for text in texts for arg in text.args), pos=made.pos))


def _setting(b: Builder, name: str, value: Value, default: str, pos: ir.Pos) -> str:
    text = b.static(value)
    if text is None:
        return default
    if not isinstance(text, str):
        raise b.error(KernelTypeError, f"print: {name} is a string known at compile time", pos)
    return text


@handles(ast.JoinedStr)
def joined(b: Builder, node: ast.JoinedStr) -> Value:
    """An f-string; a plain string where every value is known at compile time."""
    pos = b.pos(node)  # of what is in it, older versions of Python do not tell the place
    template, args = "", list[ir.Expr]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            spec = "" if part.format_spec is None else b.static(b.value(part.format_spec))
            conversion = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
            if not isinstance(spec, str):
                raise b.error(KernelTypeError, "a format is known at compile time", pos)
            text = text_of(b, b.value(part.value), pos, conversion, spec)
        else:
            assert isinstance(part, ast.Constant)
            text = Text(_literal(str(part.value)))
        template += text.template
        args += text.args
    return Text(template, tuple(args)) if args else Static(template.format())


@handles(ast.Assert)
def assert_statement(b: Builder, node: ast.Assert) -> None:
    """``assert condition, message``: it exists where bounds are "validate".

    Elsewhere it is looked at and dropped, so that types do not depend on the mode.
    """
    pos = b.pos(node)
    with b.block() as statements:
        holds = condition(b, node.test)
        with b.block() as failed:
            if node.msg is None:
                text = Text(_literal(b.scope.source.text(b.pos(node.test))))
            else:
                text = text_of(b, b.value(node.msg), b.pos(node.msg))
            b.emit(ir.Assert(text.template, text.args, pos=pos))
        if not isinstance(holds, bool):
            fails = ir.Apply(bool_, "not", (holds,), pos)
            b.emit(ir.If(fails, ir.Block(tuple(failed)), ir.Block(), pos=pos))
        elif not holds:
            statements += failed
    if b.bounds == "validate":
        for statement in statements:
            b.emit(statement)


def text_of(b: Builder, value: Value, pos: ir.Pos, conversion: str = "", spec: str = "") -> Text:
    """``value`` as text; ``conversion`` is ``""``, ``"!r"``, ``"!s"`` or ``"!a"``.

    Raises:
        KernelTypeError: it has no text, or not in this format.
    """
    if isinstance(value, Text) and not (conversion or spec):
        return value
    if isinstance(value, Static) and _has_text(value.value):
        return Text(_literal(_formatted(b, value.value, conversion, spec, repr(value.value), pos)))
    made = parts(value)
    if made is not None:
        if spec:
            raise b.error(KernelTypeError, f"format {spec!r} of {describe(value)}", pos, "format its items one by one")
        return _text_of_parts(b, *made, pos)
    expr = expression(b, scalar(b, value, pos), pos)
    for sample in _samples(expr.type):
        _formatted(b, sample, conversion, spec, str(expr.type), pos)
    if "{" in spec or "}" in spec:
        raise b.error(KernelValueError, f"format {spec!r}: a brace cannot be the fill", pos)
    return Text(f"{{{conversion}{':' if spec else ''}{spec}}}", (expr,))


def _text_of_parts(b: Builder, form: Form, items: tuple[Value, ...], pos: ir.Pos) -> Text:
    """A tuple or vector as ``(1, 2)``, a struct as ``Point(x=1, y=2)``."""
    texts = [text_of(b, item, pos, "!r") for item in items]
    head, names, tail = "", [""] * len(items), "," if form == 1 else ""
    if isinstance(form, StructType):
        head = form.name if form.name.isidentifier() else ""  # that of a NumPy dtype has no name
        names = [f"{field.name}=" for field in form.fields]
    template = ", ".join(name + text.template for name, text in zip(names, texts, strict=True))
    return Text(f"{head}({template}{tail})", tuple(arg for text in texts for arg in text.args))


def _literal(text: str) -> str:
    """``text`` as part of a format string."""
    return text.replace("{", "{{").replace("}", "}}")


def _has_text(value: object) -> bool:
    """Whether a compile-time value has the same text in every process."""
    if isinstance(value, tuple):
        return all(map(_has_text, value))
    return value is None or isinstance(value, bool | int | float | str | ScalarType)


def _samples(type: ScalarType) -> tuple[object, ...]:
    """Values that every format of ``type`` must take."""
    if type == bool_:
        return (True,)
    return (0.0,) if type.is_float else (type.min, type.max)


def _formatted(b: Builder, value: object, conversion: str, spec: str, what: str, pos: ir.Pos) -> str:
    try:
        return f"{{{conversion}:{{}}}}".format(value, spec)
    except (ValueError, OverflowError, TypeError) as error:
        raise b.error(KernelValueError, f"format {spec!r} of {what}: {error}", pos) from None


def breakpoint_(b: Builder, made: Call) -> None:
    """``breakpoint()``: the reference driver stops each thread here, with the names that are set in this function."""
    named = dict[str, ir.Expr]()
    for name in sorted(b.scope.is_set):
        if name.isidentifier():
            _gather(b, name, b.scope.read(b, name, made.pos), made.pos, named)
    b.emit(ir.Breakpoint(" ".join(f"{name}={{}}" for name in named), tuple(named.values()), pos=made.pos))


def _gather(b: Builder, name: str, value: Value, pos: ir.Pos, named: dict[str, ir.Expr]) -> None:
    """The numbers in ``value``, by names such as ``p``, ``p.x`` and ``p.0``."""
    if isinstance(value, Typed | Choice | TableItem) or (isinstance(value, Static) and value.is_number):
        named[name] = expression(b, value, pos)
    elif (made := parts(value)) is not None:
        form, items = made
        names = [f.name for f in form.fields] if isinstance(form, StructType) else map(str, range(len(items)))
        for part, item in zip(names, items, strict=True):
            _gather(b, f"{name}.{part}", item, pos, named)


means(breakpoint, "breakpoint", breakpoint_)
means(print, "print", print_)
