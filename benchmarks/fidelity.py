"""Our training loop against the plain Trainer of `transformers`, by step.

The Trainer is set up like the official scripts. Both use the same random weights, tokens and order of batches, AdamW,
linear decay, gradient clipping at 1.0, fp32, and no dropout (methods 1.4). Unsupervised SimCSE, hard negatives, the
auxiliary MLM loss and DiffCSE are implemented a second time here, from docs/methods.md, with padded batches and models
of `transformers`. The random masks are copied from our loop. The tokens that the generator of DiffCSE predicts for them
are not copied.

In fp32, two correct trainings of DiffCSE diverge by rounding. At 12 x 768 (on an AMD EPYC), vectors that differ by 5e-7
in the first step differ by 1e-5 after the batch normalisations of the projector, and by a factor of 1.3 more in each
further step. In step 10, the first discrete choice differs: the ReLU of unit 1311 of the projector, in row 4, gets
-1.4e-4 in our loop and 1e-7 in the Trainer. The generator's tokens are the same in all 50 steps (its best two logits
differ by at least 5e-5). This case is therefore compared in float64. In fp32, the Trainer is compared with itself,
after the first weights were changed by one rounding.
"""

import argparse
import contextlib
import copy
import gzip
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from record import RESULTS, data_root, row, write_record
from torch import nn

import replicse.objective.mlm
from replicse.data.store import write_store
from replicse.data.tokenizer import train_tokenizer
from replicse.registry.plugins import use_plugins
from replicse.registry.runs import Run
from replicse.training.job import TrainJob
from replicse.training.loop import Trainer

SEED, TEMPERATURE = 0, 0.05
# Weights of the second loss, large enough to affect the training; the papers use 0.1 and 0.005.
MLM_WEIGHT, RTD_WEIGHT = 0.5, 0.5
BASE = {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}


@dataclass(frozen=True)
class Size:
    """Sizes of a case.

    Args:
        encoder: dict of the encoder's sizes, with the keys of config.json.
        vocabulary: the number of tokens.
        batch: the batch size.
        length: the maximum number of tokens of a sentence.
        learning_rate: the learning rate.
        steps: the number of steps. Default: 50.
    """

    encoder: dict[str, int]
    vocabulary: int
    batch: int
    length: int
    learning_rate: float
    steps: int = 50


class Plain(nn.Module):
    """SimCSE on padded batches: first views, second views, hard negatives."""

    def __init__(self, folder: Path, head: nn.Module) -> None:
        super().__init__()
        self.encoder = transformers.BertForMaskedLM.from_pretrained(folder)
        self.head, self.views = copy.deepcopy(head), 2
        self.losses: list[float] = []
        self.drawn: list[tuple[torch.Tensor, ...]] = []

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
        """Compute and record the loss of a batch of shape (views x rows, tokens)."""
        states = self.encoder.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        vectors = self.head(states[:, 0])
        anchors, positives, *negatives = vectors.chunk(self.views)
        blocks = [
            F.cosine_similarity(anchors[:, None], other[None], dim=-1) for other in (positives, *negatives)
        ]
        logits = torch.cat(blocks, dim=1) / TEMPERATURE
        loss = F.cross_entropy(logits, torch.arange(len(anchors)))
        loss = loss + self.second_loss(input_ids, attention_mask, vectors)
        self.losses.append(loss.item())
        return {"loss": loss}

    def second_loss(
        self, tokens: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor
    ) -> torch.Tensor | float:
        """Return the loss to add to the contrastive loss. Default: 0."""
        return 0.0


class WithHardNegatives(Plain):
    """Supervised SimCSE with a third view.

    The rows of the third view are negatives of all anchors (methods 1.3).
    """

    def __init__(self, folder: Path, head: nn.Module) -> None:
        super().__init__(folder, head)
        self.views = 3


class WithMaskedLM(Plain):
    """SimCSE with the auxiliary loss: a pass over masked views (methods 1.6)."""

    def second_loss(self, tokens: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """Return the weighted mean cross-entropy at the masked positions."""
        masked, chosen = self.drawn[len(self.losses)]
        logits = self.encoder(input_ids=masked, attention_mask=mask).logits
        labels = tokens.masked_fill(~chosen, -100)
        return MLM_WEIGHT * F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class DiffCSE(Plain):
    """The difference loss as in DiffCSE's code (methods 4.1).

    The generator predicts tokens by argmax, the discriminator is conditioned on the sentence vector, and the mean
    includes padding.
    """

    def attach(self, generator: Path, classifier: nn.Linear) -> None:
        """Attach a frozen generator, an untrained discriminator and a classifier.

        The discriminator is a copy of the encoder.

        Args:
            generator: the folder of the generator.
            classifier: the layer whose weights to copy.
        """
        self.generator = transformers.DistilBertForMaskedLM.from_pretrained(generator).requires_grad_(False)
        self.discriminator = copy.deepcopy(self.encoder.bert)
        self.classifier = nn.Linear(self.encoder.config.hidden_size, 2)
        with torch.no_grad():
            self.classifier.weight.copy_(classifier.weight)
            self.classifier.bias.copy_(classifier.bias)

    def second_loss(self, tokens: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """Return the weighted cross-entropy of original against replaced tokens.

        Padding counts as original.
        """
        masked, _ = self.drawn[len(self.losses)]
        with torch.no_grad():
            edited = self.generator(input_ids=masked, attention_mask=mask).logits.argmax(dim=-1)
        edited[:, 0] = tokens[:, 0]
        replaced = ((edited != tokens) & mask.bool()).long()

        def conditioned(_module: nn.Module, _given: tuple, embedded: torch.Tensor) -> torch.Tensor:
            return torch.cat([vectors[:, None], embedded[:, 1:]], dim=1)

        handle = self.discriminator.embeddings.register_forward_hook(conditioned)
        states = self.discriminator(input_ids=edited * mask, attention_mask=mask).last_hidden_state
        handle.remove()
        return RTD_WEIGHT * F.cross_entropy(self.classifier(states).flatten(0, 1), replaced.flatten())


class Head(nn.Sequential):
    """A linear layer and tanh (methods 1.2)."""

    def __init__(self, width: int) -> None:
        super().__init__(nn.Linear(width, width), nn.Tanh())


class Projector(nn.Sequential):
    """The head of DiffCSE: two linear layers and batch norm (methods 4.1).

    The linear layers have no bias.
    """

    def __init__(self, width: int) -> None:
        super().__init__(
            nn.Linear(width, 2 * width, bias=False),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            nn.Linear(2 * width, width, bias=False),
            nn.BatchNorm1d(width, affine=False),
        )


INFONCE = {"term": "infonce", "temperature": TEMPERATURE}
# Dict from names to the plain model, the head, and further settings of our run.
CASES = {
    "unsupervised": (Plain, Head, {}),
    "hard negatives": (WithHardNegatives, Head, {"views": [{"column": name} for name in ("text", "more", "other")]}),
    "masked LM": (WithMaskedLM, Head, {"objective": [INFONCE, {"term": "mlm", "weight": MLM_WEIGHT}]}),
    "DiffCSE": (
        DiffCSE, Projector,
        {"head": "projector", "objective": [INFONCE, {"term": "rtd", "weight": RTD_WEIGHT, "generator": "GENERATOR"}]},
    ),
}  # fmt: skip

# Cases that cannot be compared in fp32; see the module's docstring.
AMPLIFIED = {"DiffCSE"}


class Noting(Trainer):
    """Our training loop, which records the loss of each step."""

    def run(self) -> None:
        """Train, and store a list of the losses in `losses`."""
        self.losses: list[float] = []
        super().run()

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        if loss is not None:
            self.losses.append(float(loss))
        super()._visit(step, loss)


class InOrder(transformers.Trainer):
    """A Trainer that uses the rows in the given order."""

    def _get_train_sampler(self, *_: object) -> torch.utils.data.Sampler:
        return torch.utils.data.SequentialSampler(self.train_dataset)


@contextlib.contextmanager
def no_casts_to_fp32() -> Iterator[None]:
    """Keep a float64 training in float64 within the block.

    Our loop casts vectors and logits to fp32, because autocast needs it.
    """
    with mock.patch.object(torch.Tensor, "float", lambda tensor, *_, **__: tensor):
        yield


@contextlib.contextmanager
def noted_masks() -> Iterator[list[tuple[torch.Tensor, ...]]]:
    """Yield a list that collects the masked copies of our loop.

    Each element is a tuple of padded token ids and a mask of the masked positions, both (rows, tokens).
    """
    drawn: list[tuple[torch.Tensor, ...]] = []
    original = replicse.objective.mlm.masked_copy

    def noting(*arguments: Any) -> Any:
        found = original(*arguments)
        rows = list(zip(found.batch.offsets[:-1].tolist(), found.batch.offsets[1:].tolist(), strict=True))
        chosen = torch.zeros(len(found.batch.tokens), dtype=torch.bool)
        chosen[found.positions] = True
        drawn.append(
            tuple(padded([each[low:high] for low, high in rows]) for each in (found.batch.tokens, chosen))
        )
        return found

    places = ("replicse.objective.mlm", "papers.diffcse.edits")
    with mock.patch(f"{places[0]}.masked_copy", noting), mock.patch(f"{places[1]}.masked_copy", noting):
        yield drawn


def padded(rows: list[torch.Tensor]) -> torch.Tensor:
    """Pad rows with zeros to the length of the longest row."""
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def wikipedia(data: Path, count: int) -> list[str]:
    """Return real sentences of at least three words.

    Args:
        data: the data folder.
        count: the maximum number of sentences.
    """
    with gzip.open(data / "wiki" / "enwiki_sentences.txt.gz", "rt", encoding="utf-8") as stream:
        lines = (line.strip() for line in stream)
        return [
            line
            for _, line in zip(range(count), (line for line in lines if line.count(" ") > 1), strict=False)
        ]


def compared(
    name: str,
    size: Size,
    lines: list[str],
    work: Path,
    dtype: torch.dtype = torch.float32,
    with_itself: bool = False,
) -> dict[str, Any]:
    """Train a case with both loops; return differences of losses and weights.

    Args:
        name: a key of `CASES`.
        size: the sizes of encoder and training.
        lines: the sentences.
        work: a folder for stores and models.
        dtype: the data type of the weights. Default: float32.
        with_itself: whether to compare the Trainer with itself, after its first weights were changed by one fp32
            rounding. The result is in `rounding`. Default: False.
    """
    kind, head, told = CASES[name]
    folder, generator = models(size, lines, work / "models")
    told = json.loads(json.dumps(told).replace("GENERATOR", str(generator)))
    count = size.batch * size.steps
    # The positive is the sentence without its last word, the hard negative is another sentence.
    columns = {"text": lines[:count], "more": [line.rsplit(" ", 1)[0] for line in lines[:count]]}
    columns["other"] = lines[count : 2 * count]
    views = [view["column"] for view in told.get("views", [{"column": "text"}] * 2)]
    for column in dict.fromkeys(views):
        write_store(work / column, columns[column], folder / "tokenizer.json", size.length, {})
    spec = Run.of(
        {
            "init": {"folder": "random"},
            "corpus": {"name": "lines"},
            "views": [{"column": "text"}] * 2,
            "objective": [INFONCE],
            "dropout": {"hidden": 0, "attention": 0},
            "pooling": {"train": "cls-head", "test": "cls"},
            "optimisation": {
                "batch_size": size.batch, "learning_rate": size.learning_rate, "max_length": size.length, "epochs": 1,
            },
            "selection": {"every": 0},
            "seed": SEED,
            **told,
        },
        name,
    )  # fmt: skip
    job = TrainJob(spec, "ours", folder, folder / "tokenizer.json", [work / view for view in views])
    ours = Noting(job, work, work / "out", work / "state", torch.device("cpu"))
    plain = kind(folder, loaded(head(size.encoder["hidden_size"]), ours.model.head))
    if isinstance(plain, DiffCSE):
        objective: Any = ours.objectives[0]
        term = objective.terms[1]
        plain.attach(generator, term.head)
        # Our loop keeps the generator's dropout on, as in the released code; here it should not be random.
        term.generator.backbone.set_dropout(0.0, 0.0)
    for module in (ours.model, ours.objectives, plain):
        module.to(dtype)
    if kind is DiffCSE:
        term.generator.backbone.to(dtype)
    before, moved = flat(plain), moved_by_a_rounding(plain) if with_itself else None
    start = time.perf_counter()
    with (
        noted_masks() as plain.drawn,
        no_casts_to_fp32() if dtype == torch.float64 else contextlib.nullcontext(),
    ):
        ours.run()
    halfway, texts = time.perf_counter(), [columns[view] for view in views]
    train_plain(plain, size, texts, folder)
    seconds = {"ours_seconds": halfway - start, "plain_seconds": time.perf_counter() - halfway}
    result = transformers.BertForMaskedLM.from_pretrained(work / "out" / "last", dtype=dtype)
    own = flat(result, loaded(head(size.encoder["hidden_size"]).to(dtype), ours.model.head))
    found: dict[str, Any] = {"first_loss": plain.losses[0], "last_loss": plain.losses[-1]}
    found |= apart(ours.losses, own, plain, before)
    if moved is not None:
        moved.drawn = plain.drawn
        train_plain(moved, size, texts, folder)
        found["rounding"] = apart(moved.losses, flat(moved), plain, before)
    return found | {key: round(value, 1) for key, value in seconds.items()}


def apart(losses: list[float], weights: torch.Tensor, plain: Plain, before: torch.Tensor) -> dict[str, float]:
    """Return the differences between a training and the plain training.

    Args:
        losses: list of the losses of the training.
        weights: the final weights of the training.
        plain: the plain model after training.
        before: the weights before training.
    """
    theirs = flat(plain)
    difference = torch.linalg.vector_norm(theirs - weights)
    return {
        "loss_difference": max(abs(a - b) for a, b in zip(losses, plain.losses, strict=True)),
        "weight_difference": float(difference / torch.linalg.vector_norm(theirs)),
        "difference_of_way": float(difference / torch.linalg.vector_norm(theirs - before)),
    }


def moved_by_a_rounding(plain: Plain) -> Plain:
    """Copy a model, with each trainable weight changed by a rounding.

    The size of a change is one fp32 rounding, and the sign is random.
    """
    moved, drawn = copy.deepcopy(plain), torch.Generator().manual_seed(SEED)
    unit = torch.finfo(torch.float32).eps / 2
    with torch.no_grad():
        for weights in moved.parameters():
            if weights.requires_grad:
                weights.mul_(1 + unit * (2 * torch.randint(2, weights.shape, generator=drawn) - 1))
    return moved


def models(size: Size, lines: list[str], folder: Path) -> tuple[Path, Path]:
    """Write a random BERT and a random DistilBERT without dropout.

    Args:
        size: the sizes of the encoder.
        lines: the sentences to train the tokenizer on.
        folder: the folder for both, used as a cache.

    Returns:
        The folders of the encoder and the generator.
    """
    encoder, generator = folder / "encoder", folder / "generator"
    if not encoder.exists():
        torch.manual_seed(SEED)
        none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        tokenizer = train_tokenizer("wordpiece", lines, size.vocabulary, True)
        size_of = {"vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": 64}
        bert = transformers.BertConfig(**size.encoder, **size_of, **none)
        transformers.BertForMaskedLM(bert).save_pretrained(encoder)
        width, heads = bert.hidden_size, bert.num_attention_heads
        small = transformers.DistilBertConfig(
            **size_of, dim=width, n_heads=heads, n_layers=max(1, bert.num_hidden_layers // 2),
            hidden_dim=bert.intermediate_size, dropout=0.0, attention_dropout=0.0,
        )  # fmt: skip
        transformers.DistilBertForMaskedLM(small).save_pretrained(generator)
        for place in (encoder, generator):
            tokenizer.save(str(place / "tokenizer.json"))
    return encoder, generator


def train_plain(model: Plain, size: Size, columns: list[list[str]], folder: Path) -> None:
    """Train with the Trainer of `transformers` on the same rows in order.

    Args:
        model: the model to train.
        size: the sizes of the training.
        columns: list of the sentences of each view.
        folder: the folder of the tokenizer.
    """
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    encoded = [tokenizer(texts, truncation=True, max_length=size.length)["input_ids"] for texts in columns]
    order = np.random.default_rng([SEED, 0]).permutation(len(columns[0]))

    def collated(rows: list[list[list[int]]]) -> dict[str, torch.Tensor]:
        ids = [torch.tensor(row[view]) for view in range(len(columns)) for row in rows]
        return {"input_ids": padded(ids), "attention_mask": padded([torch.ones_like(row) for row in ids])}

    arguments = transformers.TrainingArguments(
        output_dir=str(folder.parent / "plain"), per_device_train_batch_size=size.batch, num_train_epochs=1,
        learning_rate=size.learning_rate, weight_decay=0.0, lr_scheduler_type="linear", max_grad_norm=1.0,
        optim="adamw_torch", dataloader_drop_last=False, remove_unused_columns=False, seed=SEED, use_cpu=True,
        save_strategy="no", logging_strategy="no", report_to=[], disable_tqdm=True,
    )  # fmt: skip
    rows = [[column[row] for column in encoded] for row in order]
    InOrder(model=model, args=arguments, train_dataset=rows, data_collator=collated).train()


def loaded(head: nn.Module, other: nn.Module) -> nn.Module:
    """Copy the weights of another head in order, and return the head."""
    with torch.no_grad():
        for own, theirs in zip(head.parameters(), other.parameters(), strict=True):
            own.copy_(theirs)
    return head


def flat(model: Any, head: nn.Module | None = None) -> torch.Tensor:
    """Return the weights of encoder, LM head and sentence head as one vector."""
    encoder, head = getattr(model, "encoder", model), head or model.head
    parameters = [*(value for _, value in sorted(encoder.named_parameters())), *head.parameters()]
    return torch.cat([value.detach().flatten() for value in parameters])


def differences(case: dict) -> str:
    """Format the two differences of a case."""
    return f"loss {case['loss_difference']:.0e}, weights {case['weight_difference']:.0e}"


def lines_of(found: dict) -> Iterator[dict]:
    """Yield the rows of the record's table."""
    goal, size = found["goal"], found["encoder"]
    for name, case in found["cases"].items():
        what, ours, peer = name, differences(case), ""
        if "fp32" in case:
            what += ", in float64 since rounding grows through its batch normalisations"
            ours += f" (in fp32: {differences(case['fp32'])})"
            peer = (
                f"{differences(case['fp32']['rounding'])} (fp32, Trainer from weights moved by one rounding)"
            )
        yield row(
            f"{found['steps']} steps against the `transformers` Trainer, {size['num_hidden_layers']} x"
            f" {size['hidden_size']}, {what}: largest difference",
            ours,
            peer,
            goal=f"{goal['loss_difference']:.0e}, {goal['weight_difference']:.0e}",
            met=all(case[key] <= goal[key] for key in goal),
        )


def main() -> None:
    """Compare all cases at the size of BERT-base and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--layers", type=int, default=BASE["num_hidden_layers"])
    parser.add_argument("--width", type=int, default=BASE["hidden_size"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--out", type=Path, default=RESULTS / "fidelity.json")
    arguments = parser.parse_args()
    use_plugins([])
    base = {**BASE, "num_hidden_layers": arguments.layers, "hidden_size": arguments.width}
    base |= {"num_attention_heads": arguments.width // 64, "intermediate_size": 4 * arguments.width}
    size = Size(base, 30_522, arguments.batch, arguments.length, 3e-5, arguments.steps)
    lines = wikipedia(data_root(), 40_000)
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            dtype = torch.float64 if name in AMPLIFIED else torch.float32
            found[name] = compared(name, size, lines, Path(scratch), dtype)
            if name in AMPLIFIED:
                found[name]["fp32"] = compared(name, size, lines, Path(scratch), with_itself=True)
            print(name, found[name], flush=True)
    record = {
        "encoder": {**base, "vocab_size": 30_522}, "batch": size.batch, "length": size.length, "steps": size.steps,
        "learning_rate": size.learning_rate, "cases": found,
        "goal": {"loss_difference": 1e-4, "weight_difference": 1e-3},
        "threads": torch.get_num_threads(),
    }  # fmt: skip
    write_record(arguments.out, record, list(lines_of(record)))


if __name__ == "__main__":
    main()
