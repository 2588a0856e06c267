"""``ruda compile``: what a kernel becomes for a target, without a device."""

from __future__ import annotations

import difflib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from ruda import registry
from ruda.errors import ArgumentError
from ruda.ir import text
from ruda.launch import Kernel
from ruda.launch.ahead import ahead
from ruda.launch.compilation import Compilation

#: What --emit gives on every target, in order; a driver's compiler may have more (``Compiler.stages``).
STAGES = ("ir", "lowered", "source", "code")


@click.command("compile")
@click.argument("kernel", metavar="FILE:KERNEL")
@click.option(
    "--target",
    "spec",
    required=True,
    metavar="NAME",
    help="A driver, for its first device (cpu), or a target that need not be here (cpu:x86-64-v3, cuda:sm_90).",
)
@click.option(
    "--emit",
    "stage",
    default="source",
    show_default=True,
    metavar="STAGE",
    help="ir: the front end's. lowered: the IR that the driver's emitter gets. source: the text that its compiler "
    "gets. code: the binary. And what the driver has besides, for instance llvm and asm of the cpu driver.",
)
@click.option(
    "--signature",
    default="",
    metavar="TYPES",
    help='A type or compile-time value for each parameter, in order or by name: "f32[:], f32[:, :], i32, n=4". [:] is '
    "an array, with an axis for each colon. Parameters left out are what their annotation says, or their default.",
)
@click.option("--block", default="256", show_default=True, metavar="X[,Y[,Z]]", help="Threads a block.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write there.")
def compile_(kernel: str, spec: str, stage: str, signature: str, block: str, output: Path | None) -> None:
    """Show what KERNEL of the Python file FILE becomes for a target; no device is needed.

    The file is imported. Exit status: 0 well, 1 the kernel does not compile, 2 wrong usage.

    \b
    ruda compile saxpy.py:saxpy --target cpu --emit asm --signature "f32, f32[:], f32[:]"
    """  # noqa: D301 -- click takes the character, not its spelling
    found = _kernel(kernel)
    compiler = registry.compiler(spec)
    target = compiler.target
    stages = (*STAGES, *compiler.stages)
    if stage not in stages:
        raise click.UsageError(f"--emit {stage}: {target} has {', '.join(stages)}")
    try:
        dims = tuple(int(n) for n in block.split(","))
    except ValueError:
        raise click.UsageError(f"--block {block}: write numbers, for instance 256 or 32,8") from None
    try:
        compilation = ahead(found, target, compiler, signature, dims)
    except ArgumentError as error:
        raise click.UsageError(str(error)) from None
    _write(_emitted(compilation, stage), output)


def _emitted(compilation: Compilation, stage: str) -> str | bytes:
    match stage:
        case "ir":
            return text.dump(compilation.front)
        case "lowered":
            return text.dump(compilation.lowered.kernel)
        case "source":
            return compilation.facts.source.text
        case "code":
            return compilation.binary(compilation.facts)
    return compilation.compiler.stage(stage, compilation.facts.source)


def _write(made: str | bytes, output: Path | None) -> None:
    data = made.encode() if isinstance(made, str) else made
    if output is not None:
        try:
            output.write_bytes(data)
        except OSError as error:
            raise click.UsageError(f"-o {output}: {error.strerror}") from None
    elif isinstance(made, str):
        click.echo(made, nl=not made.endswith("\n"))
    elif sys.stdout.isatty():
        raise click.UsageError("--emit code is binary; name a file with -o, or pipe it on")
    else:
        sys.stdout.buffer.write(data)


def _kernel(spec: str) -> Kernel:
    file, _, name = spec.rpartition(":")
    if not file or not name:
        raise click.UsageError(f"{spec!r}: write FILE:KERNEL, for instance saxpy.py:saxpy")
    module = _imported(Path(file))
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Kernel):
        names = [key for key, value in vars(module).items() if isinstance(value, Kernel)]
        close = difflib.get_close_matches(name, names, 1)
        advice = f"did you mean {close[0]}?" if close else f"it has {', '.join(names) or 'none'}"
        raise click.UsageError(f"{file} has no kernel {name}; {advice}")
    return found


def _imported(path: Path) -> ModuleType:
    """The module in ``path``, which finds what lies beside it as a script does."""
    if not path.is_file():
        raise click.UsageError(f"there is no file {path}")
    name = f"ruda_compile_{path.stem}"  # a file may be named as a module that others need
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path} is no Python file")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception:
        traceback.print_exc()
        click.echo(f"ruda: {path} cannot be imported", err=True)
        sys.exit(1)
    return module
