"""Peak memory and time of steps of batch 512: encoded whole, in chunks of 64 rows, and by two processes.

Every case is a process of its own on the same real sentences and the same random encoder (6 layers x 384, length 32,
dropout 0.1, one thread a process). `beyond_start_mib` is what the steps need beyond encoder, stores and libraries;
of two processes it is the first's.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH, CHUNK, LENGTH, STEPS = 512, 64, 32, 2
CASES = {"whole": [], "chunks": ["--chunk", str(CHUNK)], "two_processes": ["--processes", "2"]}


def prepare(data: Path, work: Path) -> dict:
    """Write store and tokenizer; return the job."""
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


def measure(job: str, work: Path, more: list[str]) -> None:
    """Train, and write peak memory before and behind the steps and their seconds."""
    from replicse.cli import main
    from replicse.training.loop import Trainer

    run, found = Trainer.run, {}

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def measured(self: Trainer) -> None:
        found["start_mib"], start = peak(), time.perf_counter()
        run(self)
        found["peak_mib"], found["seconds_per_step"] = peak(), (time.perf_counter() - start) / STEPS

    Trainer.run = measured
    places = ["--data", str(work), "--state", str(work / "state"), "--out", str(work / "out")]
    assert main(["train", "--job", job, *places, *more]) == 0
    (work / "found.json").write_text(json.dumps(found))


def main() -> None:
    """Measure all cases and write the record."""
    from replicse.machine import hardware
    from replicse.provenance import commit

    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--data", type=Path, required=True, help="data root with wiki/enwiki_sentences.txt.gz"
    )
    data = parser.parse_args().data
    result: dict = {"batch": BATCH, "chunk": CHUNK, "encoder": "6 layers x 384"}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        job = json.dumps(prepare(data, work))
        weights = {}
        for name, more in CASES.items():
            subprocess.run([sys.executable, __file__, "measure", job, folder, *more], check=True)
            found = json.loads((work / "found.json").read_text())
            result[name] = {
                "beyond_start_mib": round(found["peak_mib"] - found["start_mib"]),
                "seconds_per_step": round(found["seconds_per_step"], 2),
            }
            from safetensors.numpy import load_file

            weights[name] = load_file(work / "out" / "last" / "model.safetensors")
    result["largest_difference_of_weights"] = {
        name: float(max(abs(other[key] - weights["whole"][key]).max() for key in other))
        for name, other in weights.items()
        if name != "whole"
    }
    result |= {"processor": hardware()["processor"], "commit": commit()[0]}
    out = Path(__file__).parent / "results" / "gradient_caching.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    else:
        main()
