"""What the tests of the kit share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _quiet_floats() -> Iterator[None]:
    """Overflow and invalid operations are what these tests are about, so NumPy does not warn of them."""
    with np.errstate(all="ignore"):
        yield
