"""Prints precision and recall of our call edges for every package, and fails where a promise is broken.

python -m bench.accuracy                       all packages and PyCG's micro-benchmark
python -m bench.accuracy --only click,immer    these; "pycg" is the micro-benchmark
python -m bench.accuracy --failures DIR        where the failures are listed (default: a folder in the cache)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import oracle, packages, pycg, report
from .export import ExportFailed
from .measure import measure
from .packages import ToolError

MICRO = "pycg"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--only", default=",".join([*packages.PACKAGES, MICRO]), help="names, comma-separated")
    parser.add_argument("--failures", type=Path, default=None, help="the folder for the lists of failures")
    given = parser.parse_args(arguments)
    names = [name.strip() for name in given.only.split(",") if name.strip()]
    unknown = [name for name in names if name not in packages.PACKAGES and name != MICRO]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join([*packages.PACKAGES, MICRO])}")
    oracle.ready()
    folder = given.failures or packages.cache_folder().parent / "bench" / "accuracy-failures"
    try:
        whole = _packages([packages.PACKAGES[name] for name in names if name != MICRO], folder)
        whole &= _micro(folder) if MICRO in names else True
    except (ToolError, ExportFailed) as error:
        sys.exit(f"Accuracy could not be measured: {error}")
    print(f"failures are listed in {folder}")
    return 0 if whole else 1


def _packages(chosen: Sequence[packages.Package], folder: Path) -> bool:
    print(report.HEAD, flush=True)
    whole = True
    with ThreadPoolExecutor(2) as pool:
        for package, score in zip(chosen, pool.map(measure, chosen), strict=True):
            print(report.row(package, score), flush=True)
            report.write_failures(folder, package, score)
            whole &= report.kept(package, score) or not package.promised
    return whole


def _micro(folder: Path) -> bool:
    micro = pycg.measure(packages.pycg_snippets())
    print(report.micro_row(micro), flush=True)
    report.write_micro(folder, micro)
    return micro.precision >= pycg.PRECISION


if __name__ == "__main__":
    sys.exit(main())
