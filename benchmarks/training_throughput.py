"""Training sentences per second: our loop against the sentence-transformers trainer, in one run.

Same encoder folder, same real sentences, MultipleNegativesRankingLoss (InfoNCE, scale 20 = temperature 0.05), batch 64,
length 32, CLS vectors, dropout 0.1, AdamW, one thread. The peer pads to the longest sequence of each side.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch

BATCH, LENGTH = 64, 32


def corpus(data: Path, rows: int) -> list[str]:
    """Return real Wikipedia sentences."""
    from replicse.data.corpora import read_corpus

    recipe = {"format": "lines", "file": "wiki/enwiki_sentences.txt.gz", "min_words": 8, "max_words": 60}
    return read_corpus(data, {**recipe, "limit": rows})["text"]


def ours(folder: Path, lines: list[str], work: Path, steps: int) -> float:
    """Return sentences per second of our loop, tokenising included."""
    from replicse.data.store import write_store
    from replicse.study.plan.specs import RunSpec
    from replicse.training.loop import Trainer, TrainJob

    start = time.perf_counter()
    write_store(work / "store", lines, folder / "tokenizer.json", LENGTH, {})
    spec = RunSpec.of(
        {
            "init": {"folder": "benchmark"},
            "corpus": {"name": "benchmark"},
            "views": [{"column": "text"}, {"column": "text"}],
            "objective": [{"term": "infonce", "temperature": 0.05}],
            "pooling": {"train": "cls", "test": "cls"},
            "optimisation": {"batch_size": BATCH, "steps": steps, "max_length": LENGTH},
            "selection": {"every": 0},
        },
        "run",
    )
    job = TrainJob(spec, spec.run_id, folder, folder / "tokenizer.json", [work / "store"] * 2)
    Trainer(job, work, work / "out", work / "state", torch.device("cpu")).run()
    return steps * BATCH / (time.perf_counter() - start)


def peer(folder: Path, lines: list[str], work: Path, steps: int) -> float:
    """Return sentences per second of SentenceTransformerTrainer, tokenising included."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
        models,
    )

    transformer = models.Transformer(str(folder), max_seq_length=LENGTH)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="cls")
    model = SentenceTransformer(modules=[transformer, pooling], device="cpu")
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(work / "peer"),
        per_device_train_batch_size=BATCH,
        max_steps=steps,
        learning_rate=3e-5,
        warmup_steps=0,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({"anchor": lines, "positive": lines}),
        loss=losses.MultipleNegativesRankingLoss(model, scale=20.0),
    )
    start = time.perf_counter()
    trainer.train()
    return steps * BATCH / (time.perf_counter() - start)


def main() -> None:
    """Measure both in alternation and write the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", type=Path, required=True, help="a BERT encoder folder")
    parser.add_argument(
        "--data", type=Path, required=True, help="a data root with wiki/enwiki_sentences.txt.gz"
    )
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "training_throughput.json"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = corpus(arguments.data, arguments.steps * BATCH)
    pairs = []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            found = {
                name: run(arguments.encoder, lines, Path(scratch), arguments.steps)
                for name, run in (("ours", ours), ("sentence_transformers", peer))
            }
        pairs.append(found)
        print(
            {name: round(rate, 1) for name, rate in found.items()},
            f"{found['ours'] / found['sentence_transformers']:.2f}",
        )
    ratios = sorted(pair["ours"] / pair["sentence_transformers"] for pair in pairs)
    config = json.loads((arguments.encoder / "config.json").read_text())
    result = {
        "encoder": {key: config[key] for key in ("num_hidden_layers", "hidden_size", "vocab_size")},
        "batch": BATCH,
        "length": LENGTH,
        "steps": arguments.steps,
        "sentences_per_second": pairs,
        "median_ratio": round(ratios[len(ratios) // 2], 3),
        "goal": 1.5,
    }
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"median ratio {result['median_ratio']} (goal 1.5)")


if __name__ == "__main__":
    main()
