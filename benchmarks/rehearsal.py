"""Rehearse the scale `paper` on this machine, before a study of days.

    python benchmarks/rehearsal.py [--device cuda] [--name NAME] [--threads 1] [--out FILE]

It takes ten minutes on a GPU and does not use a network. It checks the device (terms in each precision, the encoder,
attention, chunks, resuming, processes), runs a small study with the workflow, and compares rates and memory with the
estimates of `replicse plan` and `doctor`. On a CPU, everything is smaller. Rows that need a GPU are then skipped, with
the reason. The default output is build/rehearsal/<device>.json. The exit code is 1 if a row is out of range. The
rates of a GPU are also written to results/paper/throughput, where `replicse plan` loads them.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import torch
from device_checks import DeviceChecks
from record import ROOT
from rehearsal_rows import Row, run_checks, table
from rehearsal_study import RehearsalStudy
from step_rates import Extent, Shape, StepRates, suite_rates

from replicse.compile.compiler import compile_study
from replicse.compile.speed import Speed, speeds
from replicse.files import write_json
from replicse.provenance.record import commit, computed, versions
from replicse.runtime.devices import device_for

WORKFLOW = ROOT / "workflow"
# The suite uses classified questions of the embedded data instead of abstracts.
CLASSIFIED = {"sets": {"questions": {"corpus": {"format": "transfer-sentences", "task": "TREC"}}}}
ON_GPU = Extent(
    peer=Shape(12, 768, 128),
    steps=200,
    seconds=30.0,
    shapes=(Shape(12, 768, 64), Shape(12, 768, 256), Shape(12, 768, 512), Shape(24, 1024, 512, 64)),
    precisions=("fp16", "bf16", "tf32", "fp32"),
    measured=50,
    study=Shape(12, 768, 64),
    study_steps=300,
    suites={"sts": {}, "transfer": {}, "knn": CLASSIFIED},
)
# This takes about three minutes on two cores.
ON_CPU = Extent(
    peer=Shape(6, 384, 32),
    steps=200,
    seconds=10.0,
    shapes=(Shape(2, 128, 64), Shape(4, 128, 64, 16)),
    precisions=("bf16", "fp32"),
    measured=10,
    study=Shape(2, 128, 8),
    study_steps=30,
    suites={"sts": {}, "transfer": {"tasks": ("TREC",)}, "knn": CLASSIFIED},
)


@dataclass
class Rehearsal:
    """All rows of a device.

    Args:
        work: a folder for temporary files.
        device: the device.
        extent: the sizes of the measurements.
        device_name: the name of the device. Default: empty.
    """

    work: Path
    device: torch.device
    extent: Extent
    device_name: str = ""
    rates: StepRates = field(init=False)

    def __post_init__(self) -> None:
        # Compile all papers, because this loads their terms and suites.
        compile_study({"scale": "micro", "papers": "all", "seeds": [0]}, WORKFLOW)
        paper = compile_study({"scale": "paper", "papers": {"simcse": ["table5"]}, "seeds": [0]}, WORKFLOW)
        published = tuple(each for each in speeds(paper) if not each.when)
        self.rates = StepRates(self.work / "rates", self.device, self.extent, published, self.device_name)

    def rows(self) -> Iterator[Row]:
        """Yield the rows: device checks, the study, rates and memory, suites."""
        shape, on_gpu = self.extent.study, self.device.type == "cuda"
        study = RehearsalStudy(
            self.work / "study", shape.layers, shape.hidden, self.extent.study_steps, on_gpu
        )
        study.write()
        yield from run_checks(DeviceChecks(self.work / "checks", self.device).checks)
        yield from run_checks({"study": study.rows, **self.rates.checks})
        suites = self.extent.suites
        yield from run_checks({"suites": lambda: suite_rates(study.encoder, study.data, self.device, suites)})

    def speed(self, machine: Mapping[str, Any]) -> Speed:
        """Return the measured rates in the format of `replicse benchmark`.

        Rates are in operations per second.

        Args:
            machine: dict of facts about the machine.
        """
        return Speed(
            device=self.device_name,
            flops={
                name: float(f"{geometric_mean(flops):.4g}") for name, flops in self.rates.measured.items()
            },
            when=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            commit=commit()[0],
            machine=dict(machine),
        )


def main(words: list[str] | None = None) -> int:
    """Rehearse row by row and write the JSON file.

    Args:
        words: list of command-line arguments. Default: the arguments of this process.

    Returns:
        The exit code, which is 1 if the value of a row is out of its range.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")
    parser.add_argument("--name", help="name of the JSON (default: the name of the processor or GPU)")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(words)
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    device = device_for(chosen.device)
    machine, (revision, dirty) = computed(device, "fp32"), commit()
    name = chosen.name or machine["accelerator"] or machine["hardware"]["processor"]
    file = f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as scratch:
        rehearsal = Rehearsal(Path(scratch), device, ON_GPU if device.type == "cuda" else ON_CPU, name)
        for row in rehearsal.rows():
            rows.append(row)
            print(f"{row.verdict:8}{row.what}", file=sys.stderr, flush=True)
    out = chosen.out or ROOT / "build" / "rehearsal" / file
    document = {
        "device": name,
        "seconds": round(time.monotonic() - start),
        "when": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": revision,
        "dirty": dirty,
        "versions": versions(),
        "machine": machine,
        "rows": [asdict(row) for row in rows],
    }
    write_json(out, document)
    print("\n".join(table(rows)))
    if device.type == "cuda" and rehearsal.rates.measured:
        measured = ROOT / "results" / "paper" / "throughput" / file
        write_json(measured, rehearsal.speed(machine).plain())
        print(f"wrote {measured}; replicse plan --scale paper takes its hours from it")
    outside = sum(row.verdict == "outside" for row in rows)
    print(f"out of range: {outside or 'none'}; wrote {out}")
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main())
