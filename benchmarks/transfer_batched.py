"""Time a transfer task trained as one batched problem against one classifier after another, on one core.

    python benchmarks/transfer_batched.py [--rows 1000] [--dimensions 384] [--setting test]

Both run nested cross-validation on the same made-up embeddings; the accuracies must agree. Prints the ratio
and writes benchmarks/results/transfer_batched.json.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from plain_transfer import plain_nested_folds  # noqa: E402

from replicse.evaluation.linear_probe import with_bias  # noqa: E402
from replicse.evaluation.transfer import SETTINGS, nested_folds  # noqa: E402
from replicse.files import write_json  # noqa: E402


def made_up_embeddings(rows, dimensions):
    """Unit vectors of two overlapping classes, about 80 % of them told apart."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, rows)
    direction = generator.normal(size=dimensions) / np.sqrt(dimensions)
    vectors = generator.normal(size=(rows, dimensions)) + (2 * labels[:, None] - 1) * 1.2 * direction
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), labels


def timed(function, *arguments):
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--setting", choices=sorted(SETTINGS), default="test")
    options = parser.parse_args()
    torch.set_num_threads(1)
    setting = SETTINGS[options.setting]
    vectors, labels = made_up_embeddings(options.rows, options.dimensions)
    batched, batched_seconds = timed(lambda: nested_folds(with_bias([vectors]), labels, setting))
    plain, plain_seconds = timed(plain_nested_folds, vectors, labels, setting)
    found = {
        **vars(options),
        "batched_accuracies": batched,
        "batched_seconds": round(batched_seconds, 2),
        "classifiers": setting.folds * (4 * setting.folds + 1),
        "plain_accuracies": plain,
        "plain_seconds": round(plain_seconds, 2),
        "ratio": round(plain_seconds / batched_seconds, 2),
    }
    write_json(ROOT / "benchmarks" / "results" / "transfer_batched.json", found)
    print(f"plain {plain_seconds:.1f} s, batched {batched_seconds:.1f} s, ratio {found['ratio']:.1f}")
    print(f"accuracy, dev accuracy: plain {plain}, batched {batched}")


if __name__ == "__main__":
    main()
