"""The command line that every example shares: ``python saxpy.py [--device cpu] [--small]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import ruda


def main(run: Callable[[ruda.ComputeClient, bool], None]) -> None:
    """Run an example on one device and say that it agreed with NumPy.

    Args:
        run: takes the client and whether to use small sizes (for slow devices); raises where results differ.
    """
    parser = argparse.ArgumentParser(description=run.__doc__)
    parser.add_argument("--device", help='for instance "cpu" or "cuda:1"; default: the best one')
    parser.add_argument("--small", action="store_true", help="small sizes, for slow devices")
    options = parser.parse_args()
    client = ruda.client(options.device)
    run(client, options.small)
    print(f"{Path(sys.argv[0]).stem} on {client.device}: agrees with NumPy")
