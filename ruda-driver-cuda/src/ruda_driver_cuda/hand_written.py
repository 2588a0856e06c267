"""Hand-written kernels: CUDA C++ by NVRTC, PTX by nvJitLink.

The first line of their source is a comment that has everything else that their code depends on, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ruda.contract import Slot, Source, SourceText
from ruda.errors import ConfigError, ValidationError
from ruda_driver_cuda import assembler, cubin, install, nvrtc
from ruda_driver_cuda.entries import Parameter, entries, readable
from ruda_driver_cuda.includes import included

CPP, PTX = "cuda-c++", "ptx"

#: What stands before the JSON.
_HEAD = "// "

_DEVICE = "the device decides; kernel.compile('cuda:sm_80') makes code for another"
_ALONE = "a text is compiled by itself, and its code is loaded as it is; leave the option out"

#: Options that cannot be, and why.
_REFUSED = {
    **dict.fromkeys(("--gpu-architecture", "-arch", "--gpu-code", "-code"), _DEVICE),
    **dict.fromkeys(("--relocatable-device-code", "-rdc", "--device-c", "-dc", "--dlink-time-opt", "-dlto"), _ALONE),
}

_FOLDER = re.compile(r"(?:-I|--include-path)=?(.*)")
_PRELUDE = re.compile(r"(?:-include|--pre-include)(?:=(.*))?")
_MISSING = re.compile(r"could not open source file|cannot open source file")

#: The file that NVRTC is told; it looks beside it for others, and there are none. ``#line`` says what people know.
_FILE = "<text>/kernel.cu"

#: Where NVRTC looks for a kernel's name.
_NAMES = "__nv_name_map"

_PTX_LINE = re.compile(r"\bline (\d+)\b")
_PTX_ERROR = re.compile(r"line (?P<line>\d+); (?:error|fatal)\s*: (?P<what>.*)")

_TEMPLATE = re.compile(r"\btemplate\s*<[^{};]*>\s*(?:[\w\s]*?)__global__[^{};(]*?\b(\w+)\s*\(")
_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|__launch_bounds__\s*\([^)]*\)", re.DOTALL)


def take(text: SourceText, architecture: str) -> Source:
    """The input of :func:`build`, for an architecture such as ``"sm_90a"``.

    Raises:
        ValidationError: an option that cannot be, or headers of PTX.
        CompilationError: nvJitLink is needed and not installed.
    """
    if text.headers and text.language == PTX:
        raise ValidationError(f"kernel {text.name} ({text.pos}): PTX has no #include; leave headers out")
    for option in text.options:
        if reason := _REFUSED.get(option.partition("=")[0]):
            raise ValidationError(f"kernel {text.name} ({text.pos}): option {option}: {reason}")
    head: dict[str, Any] = {"parameters": [[s.param, s.kind, _shown(s), s.position, s.size] for s in text.layout.slots]}
    body = text.text
    if text.language == CPP:
        options, digest = _options(text)
        head["options"] = [f"--gpu-architecture={architecture}", *options]
        head |= {"headers": dict(text.headers), "files": digest}
        body = f"#line {text.pos.line} {json.dumps(text.pos.file, ensure_ascii=False)}\n{body}"
    else:
        version = "{}.{}".format(*assembler.version())
        head |= {"options": [f"-arch={architecture}", *text.options], "nvjitlink": version}
    return Source(
        f"{_HEAD}{json.dumps(head)}\n{body}",
        text.name,
        {
            "language": text.language,
            "file": text.pos.file,
            "line": text.pos.line,
            "dynamic_shared": text.shared_bytes,
            "parameter_bytes": text.layout.size,
        },
    )


def build(source: Source, target: str) -> bytes:
    """The cubin, which tells the entry point's name if the linker has another for it; ``target`` is for messages.

    Raises:
        ValidationError: the text is refused, has no such kernel, or that has other parameters.
        CompilationError: what compiles it is not installed.
    """
    first, _, body = source.text.removeprefix(_HEAD).partition("\n")
    head = json.loads(first)
    where = f"kernel {source.entry} ({source.metadata['file']}:{source.metadata['line']})"
    if source.metadata["language"] == CPP:
        ptx, code, entry = _compiled(source, body, head, where, target)
    else:
        ptx, code, entry = body, _assembled(source, body, head, where, target), source.entry
    found = entries(ptx)
    if entry not in found:
        raise _unknown(where, found)
    _require(where, head["parameters"], found[entry])
    return cubin.with_entry(code, entry) if entry != source.entry else code


def _options(text: SourceText) -> tuple[list[str], str]:
    """NVRTC's options, and the digest of the files that they lead to."""
    ours = ["--generate-line-info"]
    if not any(option.startswith(("-std", "--std")) for option in text.options):
        ours.insert(0, "--std=c++17")
    folders = [text.folder] if text.folder else []
    prelude = []
    named = iter(text.options)
    for option in named:
        if folder := _FOLDER.fullmatch(option):
            folders.append(folder[1] or next(named, ""))
        elif file := _PRELUDE.fullmatch(option):
            prelude.append(f'#include "{file[1] or next(named, "")}"\n')
    contents = "".join((*prelude, text.text))
    found = included(contents, text.headers, folders)
    toolkit = []
    if found.missing:
        for place in (install.include_path, install.cccl_include_path):
            with contextlib.suppress(ConfigError):  # NVRTC says which file it misses, if it does
                toolkit.append(str(place()))
        found = included(contents, text.headers, (*folders, *toolkit))
    own = [f"--include-path={text.folder}"] if text.folder else []
    return [*ours, *own, *text.options, *(f"--include-path={folder}" for folder in toolkit)], found.digest


def _compiled(source: Source, body: str, head: Mapping[str, Any], where: str, target: str) -> tuple[str, bytes, str]:
    """PTX, cubin and the entry point's name."""
    options, headers = head["options"], head["headers"]
    try:
        made = nvrtc.compile(body, options, _FILE, headers=headers, kernel=source.entry)
    except nvrtc.Refused as error:
        log = str(error)
        found = list(nvrtc.ERROR.finditer(log))
        of_text = [e for e in found if e["file"] != _NAMES]
        if found and not of_text:
            known = entries(nvrtc.compile(body, options, _FILE, headers=headers).ptx)
            raise _unknown(where, known, found[0]["what"], _TEMPLATE.findall(_NOISE.sub(" ", body))) from error
        what = f"{of_text[0]['file']}:{of_text[0]['line']}: {of_text[0]['what']}" if of_text else log
        advice = _advice() if _MISSING.search(what) else _mixed(options)
        raise ValidationError(f"{where}: NVRTC refuses its text for {target}: {what}{advice}\n{log}") from error
    return made.ptx, made.cubin, made.entry


def _advice() -> str:
    """Where the toolkit's headers come from, if they are not here."""
    try:
        install.include_path()
    except ConfigError as error:
        return f"; it may be of the CUDA toolkit: {error}"
    return "; name its folder with options=('-I...',), or give its text in headers"


def _mixed(options: Sequence[str]) -> str:
    """That the toolkit's headers and NVRTC are of two versions, if so: it may be why."""
    with contextlib.suppress(ConfigError):
        folder, ours = install.include_path(), nvrtc.version()
        theirs = install.header_version(folder) if f"--include-path={folder}" in options else None
        if theirs is not None and theirs != ours:
            said = "; CUDA's headers, of {}, are {}.{} and NVRTC is {}.{}: take both from one place"
            return said.format(folder, *theirs, *ours)
    return ""


def _assembled(source: Source, body: str, head: Mapping[str, Any], where: str, target: str) -> bytes:
    file, begin = source.metadata["file"], int(source.metadata["line"]) - 1
    try:
        return assembler.assemble(body, head["options"])
    except assembler.Refused as error:
        log = _PTX_LINE.sub(lambda found: f"line {int(found[1]) + begin}", str(error))
        found = _PTX_ERROR.search(log)
        what = f"{file}:{found['line']}: {found['what']}" if found else log
        raise ValidationError(f"{where}: nvJitLink refuses its text for {target}: {what}\n{log}") from error


def _unknown(where: str, known: Mapping[str, object], what: str = "", templates: Sequence[str] = ()) -> ValidationError:
    names = [*map(readable, known), *(f"{name}<...>" for name in templates)]
    has = f"its kernels are {', '.join(dict.fromkeys(names))}" if names else "it has no kernel"
    return ValidationError(f"{where}: there is no such kernel in its text{what and f' ({what})'}; {has}")


def _shown(slot: Slot) -> str:
    """What ``params`` says of a parameter, for messages."""
    if slot.kind == "address":
        return "an array, which is a pointer"
    return slot.type.name if slot.value is None else f"{slot.value} of {slot.size} bytes"


def _require(where: str, declared: Sequence[tuple[str, str, str, int, int]], takes: Sequence[Parameter]) -> None:
    """Refuse ``params`` that are not the parameters of the kernel."""
    shown = ", ".join(p.text for p in takes) or "none"
    if len(declared) != len(takes):
        raise ValidationError(
            f"{where}: params declares {len(declared)} parameters, and the kernel takes {len(takes)}: {shown}"
        )
    for (name, kind, type, position, size), parameter in zip(declared, takes, strict=True):
        real = kind == "scalar" and type.startswith(("f", "bf"))
        whole = kind in ("address", "scalar") and not real
        kinds = {"f": real, "u": whole, "s": whole, "b": True}
        placed = position == parameter.position
        fits = placed and size == parameter.size and kinds[parameter.kind]
        if not fits or (kind != "address" and parameter.pointer):
            there = "a pointer" if parameter.pointer else parameter.text
            there += " there" if placed else f" at byte {parameter.position}, and not {position}"
            raise ValidationError(
                f"{where}: params declares {name} as {type}, and the kernel takes {there}; its parameters are, as PTX "
                f"has them: {shown}"
            )
