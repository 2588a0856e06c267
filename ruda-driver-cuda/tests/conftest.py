"""These tests are left out, which the head of the run says, where the driver's distribution is not installed."""

import importlib.util

_MISSING = importlib.util.find_spec("ruda_driver_cuda") is None

collect_ignore_glob = ["*"] if _MISSING else []


def pytest_report_header() -> str | None:
    """A line in the head of the run."""
    return "absent: ruda-driver-cuda is not installed, its own tests are left out" if _MISSING else None
