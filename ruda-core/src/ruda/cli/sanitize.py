"""``ruda sanitize``: run a script on the sanitizing reference driver, and report what its kernels do wrong."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from ruda.reference.device import ReferenceOptions
from ruda.reference.runtime import ReferenceRuntime
from ruda.reference.sanitizer.findings import Finding, Findings
from ruda.runtime import Runtime


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to FILE too.")
@click.option("--max-steps", default=ReferenceOptions.max_steps, show_default=True, help="Rounds that a loop may take.")
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sanitize(file: Path | None, max_steps: int, script: Path, arguments: tuple[str, ...]) -> None:
    """Run SCRIPT with ARGUMENTS, and report races, unset values, accesses outside of arrays and lost threads.

    Every kernel runs on the reference driver, whatever device the script names. It goes on after a fault. Notes are
    what the language defines and may yet not be meant, for instance a read beyond an array's end, which gives zero.

    Exit status 1 if there is a fault, else that of the script.
    """
    click.echo(f"ruda sanitize: {script} runs on the reference driver, whatever device it asks for", err=True)
    findings = Findings()
    Runtime.substitute = ReferenceRuntime.client(options=ReferenceOptions(sanitize=findings, max_steps=max_steps))
    status = _run(script, arguments)
    if file is not None:
        file.write_text(json.dumps([finding.as_json for finding in findings], indent=2) + "\n", encoding="utf-8")
    _show(findings)
    sys.exit(1 if findings.faults else status)


def _run(script: Path, arguments: tuple[str, ...]) -> int:
    """The exit status of ``script``, run as Python runs one."""
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.resolve().parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        click.echo(end.code, err=True)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _show(findings: Findings) -> None:
    """Faults first, then notes, then how many of each."""
    console = Console(highlight=False, soft_wrap=True)
    faults = findings.faults
    notes = [finding for finding in findings if finding.note]
    for finding in (*faults, *notes):
        console.print(_rendered(finding), end="\n\n")
    counts = [
        f"{len(some)} {name}{'' if len(some) == 1 else 's'}" for some, name in ((faults, "fault"), (notes, "note"))
    ]
    console.print(Text(f"ruda sanitize: {', '.join(counts)}", "bold red" if faults else "bold green"))


def _rendered(finding: Finding) -> Text:
    head, _, rest = finding.text.partition("\n")
    kind, style = (f"note, {finding.kind}", "yellow") if finding.note else (finding.kind, "bold red")
    return Text.assemble((f"{kind}: ", style), (head, "bold"), "\n", rest)
