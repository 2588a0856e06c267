"""``python -m ruda.conformance.fuzz``: long runs of the fuzzers against drivers."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from ruda.conformance import drivers
from ruda.conformance.fuzz.run import Work, run


def main(arguments: list[str] | None = None) -> int:
    """Run ``--count`` cases from ``--seed`` on; the exit status: 1 where anything failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m ruda.conformance.fuzz", description=__doc__)
    parser.add_argument(
        "--driver", action="append", help="driver to test, perhaps with an index; may be repeated (default reference)"
    )
    parser.add_argument("--count", type=int, default=1000, help="how many cases (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--kind", choices=("kernels", "expressions"), default="kernels", help="what to make")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="write each failing kernel, minimised, to a module there"
    )
    parser.add_argument("--source", action="store_true", help="print each kernel before it runs")
    options = parser.parse_args(arguments)
    if options.count < 1 or options.jobs < 1:
        parser.error("--count and --jobs are at least 1")
    names: list[str] = options.driver or ["reference"]
    for name in names:
        if (state := drivers.state(name)).condition != "ready":
            parser.error(f"driver {name}: {state}")
    seeds = range(options.seed, options.seed + options.count)
    work = Work(options.kind, seeds, names, options.keep, options.source)
    with tempfile.TemporaryDirectory(prefix="ruda-fuzz-") as folder:  # so many kernels would crowd the cache
        os.environ["RUDA_CACHE_DIR"] = folder
        try:
            return 1 if run(work, options.jobs) else 0
        except KeyboardInterrupt:
            return 130


if __name__ == "__main__":
    sys.exit(main())
