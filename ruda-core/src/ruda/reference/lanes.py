"""Lanes and masks.

``Lanes`` is one value of every lane of a batch: an array of shape (lanes,), or of shape (1,) where all
lanes agree. A ``Mask`` says which lanes are active. It is one of the two constants ``ALL`` and ``NONE``,
always meant by identity, or an array of shape (lanes,) with some lanes active and some not.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Lanes: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]

ALL: Mask = np.ones(1, np.bool_)
NONE: Mask = np.zeros(1, np.bool_)


def split(mask: Mask, cond: Lanes) -> tuple[Mask, Mask]:
    """The active lanes where ``cond`` (bool) holds, and those where it does not.

    Where all active lanes agree, one of the two is ``mask`` itself and the other is ``NONE``.
    """
    if mask is NONE:
        return NONE, NONE
    if cond.size == 1:
        return (mask, NONE) if cond[0] else (NONE, mask)
    yes = cond if mask is ALL else mask & cond
    if not yes.any():
        return NONE, mask
    no = mask ^ yes
    return (yes, no) if no.any() else (mask, NONE)


def join(a: Mask, b: Mask) -> Mask:
    """The lanes active in ``a`` or in ``b``."""
    if a is NONE or b is ALL:
        return b
    if b is NONE or a is ALL:
        return a
    both = a | b
    return ALL if both.all() else both


def first(mask: Mask) -> int:
    """The number of the first active lane; ``mask`` is not ``NONE``."""
    return int(np.argmax(mask))


def at(values: Lanes, lane: int) -> Any:
    """The value of one lane."""
    return values[lane if values.size > 1 else 0]


def spread(values: Lanes, lanes: int) -> Lanes:
    """``values`` as an array of shape (lanes,), without a copy; not to be written to."""
    return values if values.size == lanes else np.broadcast_to(values, lanes)
