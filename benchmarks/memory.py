"""Peak resident memory of the parts of a study, with bounds (Linux).

    python benchmarks/memory.py [--quick] [--only NAME ...]

Each part runs in a separate process. The bounds apply to any machine and include libraries (torch and `transformers`
need 250 to 400 MiB). The record lists exceeded bounds. If there are any, the exit code is 1. This benchmark does not
measure time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from made_study import measured, peak_mib
from record import HAS_BF16, RESULTS, SIZES, data_root, row, sentences, write_encoder, write_record


def train(work: Path, size: str, precision: str) -> None:
    """Train five steps of batch size 64 and length 32.

    Args:
        work: a folder for the encoder and the training.
        size: a key of `SIZES`, such as "6x384".
        precision: the precision, such as "fp32".
    """
    import torch
    from training_limit import Bench

    torch.set_num_threads(1)
    Bench(write_encoder(work / size, *SIZES[size]), work, "unsupervised", 4).ours(precision)


def evaluate(work: Path, share: float) -> None:
    """Evaluate the STS datasets with a 6x384 encoder, keeping all vectors.

    Args:
        work: the folder of the encoder.
        share: the share of the pairs to use.
    """
    import torch
    from evaluation import part_of

    from replicse.data.sts import STS_TASKS, load_sts
    from replicse.encoder.sentence import SentenceEncoder
    from replicse.evaluation.sts import predict

    torch.set_num_threads(1)
    encoder = SentenceEncoder.open(work / "6x384", "mean")
    for task in STS_TASKS:
        predict([part_of(subset, share) for subset in load_sts(data_root(), task)], encoder)


def whiten(rows: int, width: int) -> None:
    """Fit whitening on random vectors, and apply it to 10,000 of them.

    Args:
        rows: the number of vectors.
        width: the number of dimensions.
    """
    from replicse.encoder.baselines.postprocess import Whitening

    vectors = np.random.default_rng(0).standard_normal((rows, width), dtype=np.float32)
    Whitening.fit(vectors).transform(vectors[:10_000])


def spread() -> None:
    """Compute uniformity of as many vectors as STS-B has sides of pairs."""
    from replicse.evaluation.geometry import normalised, uniformity

    uniformity(normalised(np.random.default_rng(0).standard_normal((17_256, 768), dtype=np.float32)))


def tokenise(work: Path, rows: int) -> None:
    """Tokenise sentences into a store.

    Args:
        work: a folder for the tokenizer and the store.
        rows: the number of sentences.
    """
    from replicse.data.store import write_store

    folder = write_encoder(work / "2x128", *SIZES["2x128"])
    write_store(work / "store", sentences(rows), folder / "tokenizer.json", 32, {})


@dataclass(frozen=True)
class Case:
    """An action to measure, with a bound.

    Args:
        what: the name of the case in the table.
        bound: the maximum memory in MiB.
        why: the reason for the bound.
        do: the action. Default: None, for a part of a study.
        quick: the action of a quick run. Default: the same action.
        study: the part of a generated study to run instead, such as "plan".
        encoder: the size of an encoder that another process writes first, because creating an encoder needs more memory
            than loading it.
    """

    what: str
    bound: int
    why: str
    do: Callable[[Path], Any] | None = None
    quick: Callable[[Path], Any] | None = None
    study: str = ""
    encoder: str = ""


FACTOR = 10
CASES = {
    "train-6x384": Case(
        "training 6x384, batch 64, fp32", 2000, "70 bytes a token, layer and unit of width, weights four times over",
        lambda work: train(work, "6x384", "fp32"),
    ),
    "train-6x384-bf16": Case(
        "training 6x384, batch 64, bf16", 2000, "no more than fp32", lambda work: train(work, "6x384", "bf16")
    ),
    "train-12x768": Case(
        "training 12x768, batch 64, fp32", 6000, "four times 6x384, and weights of 440 MB four times over",
        lambda work: train(work, "12x768", "fp32"),
    ),
    "evaluate": Case(
        "evaluating the seven STS sets, 6x384", 1000, "libraries, weights, 26,082 vectors of 1.5 kB",
        lambda work: evaluate(work, 1.0), lambda work: evaluate(work, 0.1), encoder="6x384",
    ),
    "whiten": Case(
        "whitening fitted on 1,000,000 vectors of 768", 4500, "vectors of 2,930 MiB; blocks of 65,536 in fp64 twice",
        lambda _: whiten(1_000_000, 768), lambda _: whiten(200_000, 768),
    ),
    "uniformity": Case(
        "uniformity on 17,256 vectors of 768", 600, "vectors twice, a block of 1,024 x 17,256, libraries",
        lambda _: spread(),
    ),
    "tokenise": Case(
        "tokenising 1,000,000 sentences", 1200, "300 bytes a sentence for its text, 4 a token, libraries",
        lambda work: tokenise(work, 1_000_000), lambda work: tokenise(work, 100_000),
    ),
    "plan": Case("plan of ten times today's cells", 500, "10 kB a cell", study="plan"),
    "report": Case("all pages of ten times today's cells", 1000, "24 kB a cell", study="report"),
}  # fmt: skip
# A quick run skips these cases, because they take minutes or more memory than many machines have.
LONG = ("train-12x768", "report")
SLOW = () if HAS_BF16 else ("train-6x384-bf16",)


def measure(name: str, quick: bool) -> dict[str, Any]:
    """Measure a case; return a dict of peak memory and bound.

    Args:
        name: a key of `CASES`.
        quick: whether to run the smaller action.
    """
    case = CASES[name]
    with tempfile.TemporaryDirectory(prefix="replicse-memory-") as work:
        if case.study:
            found = measured(Path(work) / "study", FACTOR, case.study)
        else:
            if case.encoder:
                subprocess.run([sys.executable, __file__, "--encoder", case.encoder, work], check=True)
            words = [sys.executable, __file__, "--worker", name, work, str(int(quick))]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
    smaller = bool(quick and case.quick)
    return {
        "what": case.what, "peak_mib": found["peak_mib"], "bound_mib": case.bound, "why": case.why,
        "smaller": smaller, "over": found["peak_mib"] > case.bound,
    }  # fmt: skip


def lines_of(found: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the record's table."""
    for case in found.values():
        part = " (a part, in a quick run)" if case["smaller"] else ""
        goal = f"{case['bound_mib']:,}"
        yield row(f"{case['what']}{part}: peak MiB", f"{case['peak_mib']:,}", goal=goal, met=not case["over"])


def main() -> int:
    """Measure the cases and write the record; return 1 if a bound is exceeded."""
    if sys.argv[1:2] == ["--encoder"]:
        size, work = sys.argv[2:]
        write_encoder(Path(work) / size, *SIZES[size])
        return 0
    if sys.argv[1:2] == ["--worker"]:
        name, work, quick = sys.argv[2:]
        case = CASES[name]
        do = case.quick if int(quick) and case.quick else case.do
        assert do, f"{name}: a study, which no worker runs"
        do(Path(work))
        print(json.dumps({"peak_mib": round(peak_mib())}))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller cases, without the longest")
    parser.add_argument("--only", nargs="+", choices=CASES)
    parser.add_argument("--out", type=Path, default=RESULTS / "memory.json")
    chosen = parser.parse_args()
    found = {}
    for name in chosen.only or CASES:
        if chosen.only or name not in (*SLOW, *(LONG if chosen.quick else ())):
            found[name] = measure(name, chosen.quick)
            print(name, found[name], flush=True)
    write_record(chosen.out, {"cases": found}, list(lines_of(found)))
    return int(any(case["over"] for case in found.values()))


if __name__ == "__main__":
    sys.exit(main())
