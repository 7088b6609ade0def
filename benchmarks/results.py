"""Results of jobs in a JSON file: each with when it ran, on which machine, under which load, and with which peers."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .measuring import Result

FORMAT, VERSION = "manytruths-benchmarks", 1
DISTRIBUTIONS = {
    "SimpleITK": "SimpleITK", "crowdkit": "crowd-kit", "dask": "dask", "distributed": "distributed",
    "krippendorff": "krippendorff", "monai": "monai", "nibabel": "nibabel", "numpy": "numpy", "pandas": "pandas",
    "panoptica": "panoptica", "PIL": "pillow", "playwright": "playwright",
    "rasterio": "rasterio", "scipy": "scipy", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "statsmodels": "statsmodels", "surface_distance": "surface-distance", "torch": "torch", "zarr": "zarr",
}  # fmt: skip
"""By the module that is imported: where its version stands."""


@dataclass
class Run:
    """One job: what it gave, and what was true while it ran."""

    results: list[Result] = field(default_factory=list)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def keep(self, path: Path, job: str) -> None:
        """Put this job into a file in place of its earlier run; others stay."""
        kept = read(path) if path.exists() else {}
        kept[job] = {
            "begun": self.begun.strftime("%Y-%m-%d %H:%M UTC"),
            "load": [round(self.load, 1), round(os.getloadavg()[0], 1)],
            "machine": machine(),
            "versions": versions(),
            "results": [asdict(result) for result in self.results],
        }
        text = json.dumps({"format": FORMAT, "version": VERSION, "jobs": kept}, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """The jobs of a file."""
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("format") != FORMAT or document.get("version", 0) > VERSION:
        raise SystemExit(f"{path}: no {FORMAT} of version {VERSION} or earlier")
    jobs: dict[str, Any] = document["jobs"]
    return jobs


def machine() -> dict[str, str]:
    """Processor, cores, memory, system and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(), "cores": str(os.cpu_count()), "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}", "Python": platform.python_version(),
    }  # fmt: skip


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def versions() -> dict[str, str]:
    """Of the peers and libraries that the process has imported so far."""
    found = {}
    for module, distribution in DISTRIBUTIONS.items():
        if module in sys.modules:
            try:
                found[distribution] = version(distribution)
            except PackageNotFoundError:
                continue
    return found
