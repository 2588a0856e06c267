"""``python -m ruda.conformance.fuzz``: long runs of the fuzzers against one driver."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from ruda import registry
from ruda.conformance.fuzz import expressions
from ruda.conformance.fuzz.check import differ, minimise, module_text, report
from ruda.conformance.fuzz.emulate import emulate
from ruda.conformance.fuzz.generate import generate


def main(arguments: list[str] | None = None) -> int:
    """Run ``--count`` cases from ``--seed`` on; returns the exit status, 1 where anything differed."""
    parser = argparse.ArgumentParser(prog="python -m ruda.conformance.fuzz", description=__doc__)
    parser.add_argument("--driver", action="append", help="driver to test, perhaps with an index; may be repeated")
    parser.add_argument("--count", type=int, default=1000, help="how many cases (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--kind", choices=("kernels", "expressions"), default="kernels", help="what to make")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="write each failing kernel, minimised, to a module there"
    )
    parser.add_argument("--source", action="store_true", help="print each kernel before it runs")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ruda-fuzz-") as folder:  # so many kernels would crowd the cache
        os.environ["RUDA_CACHE_DIR"] = folder
        return run(options)


def run(options: argparse.Namespace) -> int:
    """Run the cases that the command line asks for."""
    names = options.driver or ["reference"]
    clients = [registry.client(name) for name in names]
    failed = 0
    start = last = time.monotonic()
    for done, seed in enumerate(range(options.seed, options.seed + options.count), 1):
        if options.kind == "expressions":
            for client in clients:
                if difference := expressions.check(seed, client):
                    failed += 1
                    print(f"seed {seed} on {client.device}:\n{difference}", flush=True)
        else:
            case = generate(seed)
            if options.source:
                print(f"# seed {seed}\n{case.source}", flush=True)
            want = emulate(case)
            for name, client in zip(names, clients, strict=True):
                if difference := differ(case, client, want):
                    failed += 1
                    smaller = minimise(case, client, difference)
                    print(report(smaller, client, difference, command(name, seed)), flush=True)
                    if options.keep:
                        file = options.keep / f"seed_{seed}_{client.target.driver}.py"
                        file.write_text(module_text(smaller, f"Seed {seed} on {client.target.driver}."))
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"{done} of {options.count} done, {failed} differ, {last - start:.0f} s", file=sys.stderr, flush=True)
    print(
        f"{options.kind}: {options.count} from seed {options.seed} on {', '.join(names)}: "
        f"{failed} differ, {time.monotonic() - start:.1f} s"
    )
    return 1 if failed else 0


def command(name: str, seed: int) -> str:
    """The command that runs one seed again."""
    return f"python -m ruda.conformance.fuzz --driver {name} --count 1 --seed {seed}"


if __name__ == "__main__":
    sys.exit(main())
