"""Peak memory and time of steps of batch size 512, in three ways.

The batch is encoded at once, in chunks of 64 rows, or by two processes. Each case runs in a separate process, with the
same real sentences and the same random encoder (6 layers x 384, length 32, dropout 0.1, one thread per process).
`beyond_start_mib` is the memory of the steps in addition to encoder, stores and libraries. For two processes, it is the
memory of the first process.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from record import data_root, row, write_record

BATCH, CHUNK, LENGTH, STEPS = 512, 64, 32, 2
CASES = {"whole": [], "chunks": ["--chunk", str(CHUNK)], "two_processes": ["--processes", "2"]}


def prepare(data: Path, work: Path) -> dict:
    """Write a store and a tokenizer, and return the specification of the job.

    Args:
        data: the data folder.
        work: the folder to write to.
    """
    from replicse.data.corpora import read_corpus
    from replicse.data.store import write_store
    from replicse.data.tokenizer import train_tokenizer

    recipe = {"format": "lines", "file": "wiki/enwiki_sentences.txt.gz", "min_words": 8, "max_words": 60}
    lines = read_corpus(data, {**recipe, "limit": BATCH * STEPS})["text"]
    train_tokenizer("wordpiece", lines, 8000, True).save(str(work / "tokenizer.json"))
    write_store(work / "store", lines, work / "tokenizer.json", LENGTH, {})
    sizes = {"layers": 6, "hidden": 384, "heads": 12, "intermediate": 1536, "positions": 64}
    run = {
        "init": {"fresh": {"architecture": {"family": "bert", **sizes}, "tokenizer": {"name": "benchmark"}}},
        "corpus": {"name": "benchmark"},
        "views": [{"column": "text"}, {"column": "text"}],
        "objective": [{"term": "infonce", "temperature": 0.05}],
        "optimisation": {"batch_size": BATCH, "steps": STEPS, "max_length": LENGTH},
        "selection": {"every": 0},
    }
    stores = [str(work / "store")] * 2
    return {
        "run": run,
        "run_id": "benchmark",
        "init": "",
        "tokenizer": str(work / "tokenizer.json"),
        "stores": stores,
    }


def measure(specification: str, work: Path, more: list[str]) -> None:
    """Train, and write time per step, and peak memory before and after.

    Args:
        specification: the file with the specification of the job.
        work: the folder for the results, in found.json.
        more: list of additional arguments of the job.
    """
    from replicse.cli import main
    from replicse.training.loop import Trainer

    run, found = Trainer.run, {}

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def measured(self: Trainer) -> None:
        found["start_mib"], start = peak(), time.perf_counter()
        run(self)
        found["peak_mib"], found["seconds_per_step"] = peak(), (time.perf_counter() - start) / STEPS

    with mock.patch.object(Trainer, "run", measured):
        assert main(["job", specification, *more]) == 0
    (work / "found.json").write_text(json.dumps(found))


def lines_of(found: dict) -> Iterator[dict]:
    """Yield the rows of the record's table."""
    whole, chunks = found["whole"], found["chunks"]
    yield row(
        f"batch {found['batch']} in chunks of {found['chunk']}, 6x384: MiB of its steps",
        f"{chunks['beyond_start_mib']:,}",
        f"{whole['beyond_start_mib']:,} (encoded at once)",
        ratio=f"{chunks['beyond_start_mib'] / whole['beyond_start_mib']:.2f}x, "
        f"at {chunks['seconds_per_step'] / whole['seconds_per_step']:.2f}x the time",
    )


def main() -> None:
    """Measure all cases and write the record."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    from job_files import write_job

    data = data_root()
    result: dict = {"batch": BATCH, "chunk": CHUNK, "encoder": "6 layers x 384"}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        weights_file = work / "out" / "last" / "model.safetensors"
        _, specification = write_job(work, "train", prepare(data, work), [weights_file], data)
        weights = {}
        for name, more in CASES.items():
            subprocess.run([sys.executable, __file__, "measure", specification, folder, *more], check=True)
            found = json.loads((work / "found.json").read_text())
            result[name] = {
                "beyond_start_mib": round(found["peak_mib"] - found["start_mib"]),
                "seconds_per_step": round(found["seconds_per_step"], 2),
            }
            from safetensors.numpy import load_file

            weights[name] = load_file(weights_file)
    result["largest_difference_of_weights"] = {
        name: float(max(abs(other[key] - weights["whole"][key]).max() for key in other))
        for name, other in weights.items()
        if name != "whole"
    }
    write_record("gradient_caching", result, list(lines_of(result)))
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    else:
        main()
