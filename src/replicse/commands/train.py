"""The verb that trains one run."""

import logging
import resource
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from replicse.commands import Action, json_mapping
from replicse.files import read_json, write_json

log = logging.getLogger(__name__)


def train_verb(parser: ArgumentParser) -> Action:
    """Train a run from its job; a run that was stopped goes on where it was."""
    parser.epilog = (
        'example:\n  replicse train --job "$(cat results/micro/runs/RUN/spec.json)" --data results/micro/data.json'
        " --state results/micro/state/RUN --out results/micro/runs/RUN"
    )
    parser.add_argument(
        "--job", type=json_mapping, required=True, help="JSON: the run's spec and the files it stands on"
    )
    parser.add_argument("--data", type=Path, required=True, help="data root or data record")
    parser.add_argument("--state", type=Path, required=True, help="folder of the resume state")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads; part of the provenance (default 1)"
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")

    def action(arguments: Namespace) -> None:
        import torch

        from replicse.commands.prepare import data_folder
        from replicse.devices import device_for
        from replicse.provenance import computed, provenance
        from replicse.training.loop import TrainJob, train

        start = time.monotonic()
        torch.set_num_threads(arguments.threads)
        job = TrainJob.read(arguments.job)
        write_json(arguments.out / "spec.json", arguments.job)
        device = device_for(arguments.device)
        machine = computed(device, job.spec.precision)
        trainer = train(job, data_folder(arguments.data), arguments.out, arguments.state, device, machine)
        facts = {**machine, "resumed_from": [other for other in trainer.machines if other != machine]}
        stores = {store.name: read_json(store / "store.json")["sha256"] for store in job.stores}
        write_json(arguments.out / "provenance.json", provenance(run_id=job.run_id, stores=stores, **facts))
        cost = _cost(time.monotonic() - start)
        write_json(arguments.out / "cost.json", cost)
        log.info("wrote=%s seconds=%.1f", arguments.out, cost["seconds"])

    return action


def _cost(seconds: float) -> dict[str, float]:
    """Return what this process has cost: seconds, processor seconds, and its largest memory in MiB.

    Snakemake's own record would be that of a job's client where a server runs it.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }
