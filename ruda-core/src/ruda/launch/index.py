"""The cache's second index: from what the front end and the passes look at to what they made of it.

A process that finds its kernels there runs neither. ``inputs`` stand for the
source of everything that the kernel reaches, with its places, the captured
values, the arguments, the options, the target, and ruda and the driver
themselves. Where a text cannot stand for all of a value, there are none, and
the index is not used. ``RUDA_CACHE_VERIFY=1`` runs both ways and compares.
"""

from __future__ import annotations

import hashlib

from ruda import cache
from ruda.config import settings
from ruda.errors import CacheError
from ruda.frontend import ArraySpec, BundleSpec, ConstSpec, KernelSource, ScalarSpec, Spec, inputs_of
from ruda.launch.compilation import Compilation, Facts, spelled
from ruda.launch.variant import Variant


def facts_of(source: KernelSource, variant: Variant, compilation: Compilation) -> Facts:
    """The facts of one compilation, from the index, or made and then kept.

    Raises:
        CacheError: under ``RUDA_CACHE_VERIFY=1``, where the index has other facts than compiling gives.
    """
    target = compilation.target
    inputs = _inputs(source, variant, compilation)
    known = cache.recall(target.driver, inputs, Facts.parse) if inputs is not None else None
    if known is not None and not settings().cache_verify:
        return known
    facts = compilation.facts
    if known is not None and known.dump() != facts.dump():
        raise CacheError(
            f"kernel {source.name} ({source.file}:{source.line}): the cache's index has other facts of it than "
            f"compiling gives; `ruda cache clear` empties it. Please report this with {cache.folder() / str(inputs)}*"
        )
    if known is None and inputs is not None:
        cache.remember(target.driver, facts.name, inputs, facts.dump())
    return facts


def _inputs(source: KernelSource, variant: Variant, compilation: Compilation) -> str | None:
    """The digest of everything that :attr:`Compilation.facts` depend on, or None where none can stand for it."""
    target = compilation.target
    parts = [
        source.inputs(),
        *map(_told, variant.specs),
        *variant.facts.values(),
        target.name,
        target.fingerprint,
        str(target.limits),
        compilation.compiler.fingerprint,
        *compilation.software,
    ]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return hashlib.sha256("\0".join(known).encode()).hexdigest()


def _told(spec: Spec) -> str | None:
    match spec:
        case ConstSpec():
            return inputs_of(spec.value)
        case BundleSpec():
            parts = [_told(part) for _, part in spec.fields]
            return None if None in parts else f"{spelled(spec)} {parts}"
        case ArraySpec(elem=type) | ScalarSpec(type=type):
            return f"{spelled(spec)} {inputs_of(type)}"  # a struct's name does not tell its fields
