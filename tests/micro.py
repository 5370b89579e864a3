"""A tiny study on disk for tests.

It has a corpus, a tokenizer, stores, an encoder and development pairs.
"""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch

from replicse.data.store import write_store
from replicse.data.tokenizer import special_tokens, train_tokenizer
from replicse.registry.artefacts import DATA
from replicse.registry.runs import Run
from replicse.training.job import TrainJob
from replicse.training.loop import Trainer

WORDS = [f"{first}{second}" for first in ("ba", "ko", "mi", "tu", "re", "zo") for second in "lnst"]
SIZES = {"layers": 2, "hidden": 16, "heads": 2, "intermediate": 32, "positions": 64}


def sentences(count: int, seed: int = 0) -> list[str]:
    """Return seeded sentences of 3 to 9 words."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(3, 10))) for _ in range(count)]


def rated_pairs(count: int) -> list[tuple[str, str, int]]:
    """Return sentences, others of which they share as many first words as their score says, and scores from 0 to 5."""
    pairs = enumerate(zip(sentences(count, 1), sentences(count, 2), strict=True))
    return [
        (one, " ".join(one.split()[: n % 6] + other.split()[n % 6 :]), n % 6) for n, (one, other) in pairs
    ]


def tokenizer_file(folder: Path) -> Path:
    """Train and write a tokenizer."""
    return save_tokenizer(train_tokenizer("wordpiece", sentences(200), 120, True), folder)


def save_tokenizer(tokenizer, folder: Path) -> Path:
    """Write a tokenizer with the settings that let `transformers` read it as it is, whatever the encoder's family."""
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{role}_token": token for role, token in special_tokens(tokenizer).items()}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder / "tokenizer.json"


def dev_root(folder: Path) -> Path:
    """Write a data root that holds STS-B development pairs only, as a study that generated them: fewer than others."""
    home = folder / "SentEval" / "downstream" / "STS" / "STSBenchmark"
    home.mkdir(parents=True)
    folder.with_name(DATA).write_text("{}")
    rows = [
        "\t".join(["main", "test", "2026", f"{number:04d}", f"{score}.0", one, other])
        for number, (one, other, score) in enumerate(rated_pairs(40))
    ]
    (home / "sts-dev.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def job(folder: Path, count: int = 96, **changes) -> TrainJob:
    """Return a job that trains a one-layer encoder on seeded sentences."""
    tokenizer = tokenizer_file(folder)
    stores = [folder / "plain", folder / "other"]
    for store, seed in zip(stores, (3, 4), strict=True):
        write_store(store, sentences(count, seed), tokenizer, 16, {"seed": seed})
    values = {
        "init": {"fresh": {"architecture": {"family": "bert", **SIZES}, "tokenizer": {"name": "test"}}},
        "corpus": {"name": "test"},
        "views": [{"column": "text"}, {"column": "text"}],
        "objective": [{"term": "infonce", "temperature": 0.05}],
        "optimisation": {"batch_size": 16, "learning_rate": 1e-3, "epochs": 4, "steps": 20},
        "selection": {"every": 5},
        "seed": 7,
    }
    spec = Run.of({**values, **changes}, "run")
    chosen = [stores[0] if view.column == "text" else stores[1] for view in spec.views]
    return TrainJob(spec, spec.run_id, None, tokenizer, chosen)


def trainer_of(job: TrainJob, folder: Path, root: Path | None = None, **options) -> Trainer:
    """Return a trainer of a job on the CPU that writes below a folder, where by default its data lie too."""
    return Trainer(job, root or folder, folder / "out", folder / "state", torch.device("cpu"), **options)


class Killed(BaseException):
    """The end of a process that is not asked."""


def run_until_killed(trainer: Trainer, step: int) -> None:
    """Run a trainer that saves its state behind every step, until it dies in one."""
    visit, trainer.save_every_seconds = trainer._visit, 0.0

    def visit_then_die(at, loss):
        if at == step:
            raise Killed
        visit(at, loss)

    trainer._visit = visit_then_die
    with suppress(Killed):
        trainer.run()


def weights(folder: Path) -> dict[str, np.ndarray]:
    """Return the weights of an encoder folder."""
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def equal_weights(one: Path, other: Path) -> bool:
    """Return whether two encoder folders hold the same weights, bit for bit."""
    left, right = weights(one), weights(other)
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def equal_runs(one: Path, other: Path) -> bool:
    """Return whether two runs have the same checkpoints, bit for bit, and the same history."""
    same = all(equal_weights(one / name, other / name) for name in ("best", "last"))
    return same and metrics(one)["history"] == metrics(other)["history"]


def metrics(folder: Path) -> dict:
    """Return a run's metrics."""
    return json.loads((folder / "metrics.json").read_text())
