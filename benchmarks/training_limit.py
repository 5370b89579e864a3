"""Training: our loop and two peers against the machine's limit.

    python benchmarks/training_limit.py [--quick] [--sizes 2x128 6x384 12x768]

The peers are the trainer of sentence-transformers and a plain `transformers` loop. All three train the same random
weights on the same real sentences, with InfoNCE at temperature 0.05 on position 0, dropout 0.1, AdamW, batch size 64
(12x768 also 16), length 32, and one thread. A training is unsupervised (each sentence twice) or supervised (premise,
entailment, hard negative). The loops run in turn, and the first step of each run is skipped. The peers tokenise and pad
each batch when they use it. We tokenise before training, and add this time to our steps. Rates are in rows of two or
three sentences per second. They use the fastest step of each loop and the fastest products, because other processes can
only make steps longer.

The limit is the time of the matrix products of the real tokens, forward and backward, at the best rate of the machine
in the same run (`products.py`). Our loop skips unused products of the last layer, and the limit does not include them.
`share_of_all` is the share of a limit that includes them. Seconds are CPU time, which other processes hardly affect.

Some of our 6x384 steps are profiled. The operations outside the products show which share of the limit a step could
reach at most. The record contains the stacks of one step. They are also drawn as a flame graph; with `--figure`, only
the figure is created.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
import torch
import transformers
from peer import SentenceTransformersPeer
from products import Rates, operations
from record import (
    HAS_BF16,
    RESULTS,
    SIZES,
    Clock,
    data_name,
    row,
    sentences,
    triples,
    write_encoder,
    write_record,
)

from replicse.data.store import open_store, write_store
from replicse.registry.runs import Run
from replicse.training.job import TrainJob
from replicse.training.loop import Trainer

BATCH, SMALL, LENGTH = 64, 16, 32
# Minimum ratio to sentence-transformers in fp32, and minimum shares of the limit.
GOAL_RATIO, GOAL_SHARE, GOAL_SHARE_BF16 = 1.25, 0.8, 0.75
KINDS = {"unsupervised": 2, "supervised": 3}
# The precisions of our loop.
PRECISIONS = {"ours": "fp32"} | ({"ours_bf16": "bf16"} if HAS_BF16 else {})
PROFILED = "6x384"
# Dict from kinds of operations to torch's names. All other operations are the rest.
PRODUCTS = "products"
OPERATIONS = {
    PRODUCTS: (
        "mm",
        "addmm",
        "bmm",
        "mkldnn_linear",
        "mkldnn_linear_backward_input",
        "mkldnn_linear_backward_weights",
    ),
    "casts and other copies": ("copy_", "_to_copy", "to_mkldnn", "_to_dense"),
    "gathers, padding, zeros": ("index_select", "index_copy_", "fill_", "zero_", "embedding_dense_backward"),
    "sums and products by element": ("add", "add_", "mul", "mul_", "addcmul_"),
    "GELU": ("gelu", "gelu_backward"),
    "random bits of dropout": ("random_", "ge"),
    "gradients of biases": ("sum",),
    "LayerNorm": ("native_layer_norm", "native_layer_norm_backward"),
    "softmax": ("_softmax",),
    "AdamW, norm of gradients": ("_fused_adamw_", "linalg_vector_norm"),
}
REST = "the rest"
KIND_OF = {name: kind for kind, names in OPERATIONS.items() for name in names}
PHASES = ("forward", "backward", "update")
NODE = "autograd::engine::evaluate_function: "
# Minimum milliseconds of a stack, and the number of letters that fit into the width of the figure.
LEAST, LETTERS = 0.05, 60


class Measured(Trainer):
    """Our training loop, which only records the end of each step."""

    clock = staticmethod(time.process_time)

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        self.times = [*getattr(self, "times", []), self.clock()]

    def _finish(self, *_: Any) -> None:
        pass


class Profiled(Measured):
    """Our training loop, which profiles all steps except the first.

    Attributes:
        spent: list of dicts from operations to milliseconds, for each step.
        stacks: dict from the stacks of the last step to milliseconds.
    """

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        if step == 0:
            self.spent: list[dict[str, float]] = []
            self.profile: torch.profiler.profile
        if step > 1:
            self.profile.stop()
            events = self.profile.key_averages()
            self.spent.append({event.key: event.self_cpu_time_total / 1000 for event in events})
            if step == self.steps:
                self.stacks = stacks(self.profile.events())
        if 0 < step < self.steps:
            self.profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            self.profile.start()


Each = TypeVar("Each", bound=Measured)


class Bench:
    """An encoder and a kind of training, with the inputs of all loops.

    Args:
        folder: the folder of the encoder.
        work: a folder for stores and trainings.
        kind: "unsupervised" or "supervised".
        steps: the number of measured steps.
        batch: the batch size. Default: 64.
        clock: function that returns a time in seconds. Default: the CPU time of this process.
    """

    def __init__(
        self,
        folder: Path,
        work: Path,
        kind: str,
        steps: int,
        batch: int = BATCH,
        clock: Clock = time.process_time,
    ) -> None:
        self.folder, self.work, self.steps, self.batch, self.clock = folder, work, steps + 1, batch, clock
        count = batch * self.steps
        if kind == "unsupervised":
            self.columns = [sentences(count)] * 2
        else:
            self.columns = [list(column) for column in zip(*triples(count), strict=True)]
        self.stores = [work / f"{kind}-{steps}-{number}" for number in range(len(self.columns))]
        if kind == "unsupervised":
            self.stores[1] = self.stores[0]
        start = clock()
        for store, column in dict(zip(self.stores, self.columns, strict=True)).items():
            write_store(store, column, folder / "tokenizer.json", LENGTH, {})
        self.tokenising = (clock() - start) / self.steps
        self.lengths = [int(length) for store in self.stores for length in np.diff(open_store(store).offsets)]

    def ours(self, precision: str) -> list[float]:
        """Run our loop; return seconds per step, including tokenising.

        Args:
            precision: "fp32" or "bf16".
        """
        trainer = self.trained(Measured, precision)
        return [self.tokenising + later - before for before, later in pairwise(trainer.times)][1:]

    def profiled(self, precision: str) -> tuple[dict[str, float], dict[str, float]]:
        """Profile our loop.

        Args:
            precision: "fp32" or "bf16".

        Returns:
            Dict from kinds of operations to milliseconds of a step, and dict from the stacks of a step to milliseconds.
        """
        trained = self.trained(Profiled, precision)
        return by_kind(trained.spent), trained.stacks

    def trained(self, kind: type[Each], precision: str) -> Each:
        """Run our loop, and return the trainer.

        Args:
            kind: the class of the trainer.
            precision: "fp32" or "bf16".
        """
        spec = Run.of(
            {
                "init": {"folder": "benchmark"},
                "corpus": {"name": "benchmark"},
                "views": [{"column": str(self.stores.index(store))} for store in self.stores],
                "objective": [{"term": "infonce", "temperature": 0.05}],
                "pooling": {"train": "cls", "test": "cls"},
                "precision": precision,
                "optimisation": {"batch_size": self.batch, "steps": self.steps, "max_length": LENGTH},
                "selection": {"every": 0},
            },
            "run",
        )
        job = TrainJob(spec, spec.run_id, self.folder, self.folder / "tokenizer.json", self.stores)
        trainer = kind(job, self.work, self.work / "out", self.work / "state", torch.device("cpu"))
        trainer.clock = self.clock
        trainer.run()
        return trainer

    def sentence_transformers(self) -> list[float]:
        """Run SentenceTransformerTrainer; return seconds per step.

        The first step is skipped.
        """
        place = self.folder, torch.device("cpu"), "fp32", LENGTH, self.work / "peer"
        peer = SentenceTransformersPeer(*place, self.clock)
        return [
            later - before for before, later in pairwise(peer.times(self.columns, self.batch, self.steps))
        ]

    def plain(self) -> list[float]:
        """Run a plain AutoModel loop; return seconds per step.

        All views of a batch are encoded in one padded pass. The first step is skipped.
        """
        from transformers import AutoModel, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.folder)
        model = AutoModel.from_pretrained(self.folder, add_pooling_layer=False).train()
        optimiser = torch.optim.AdamW(model.parameters(), lr=3e-5, weight_decay=0.0)
        times = [self.clock()]
        for start in range(0, self.batch * self.steps, self.batch):
            texts = [text for column in self.columns for text in column[start : start + self.batch]]
            batch = tokenizer(texts, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt")
            vectors = torch.nn.functional.normalize(model(**batch).last_hidden_state[:, 0])
            anchors, *others = vectors.split(self.batch)
            logits = anchors @ torch.cat(others).T / 0.05
            loss = torch.nn.functional.cross_entropy(logits, torch.arange(self.batch))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            times.append(self.clock())
        return [later - before for before, later in pairwise(times)][1:]

    def compared(self, layers: int, hidden: int, rounds: int) -> dict[str, Any]:
        """Run all loops in turn; return a dict of rates, limits and shares.

        Args:
            layers: the number of layers.
            hidden: the width of the encoder.
            rounds: the number of runs of each loop.
        """
        loops: dict[str, Callable[[], list[float]]] = {
            **{name: partial(self.ours, precision) for name, precision in PRECISIONS.items()},
            "sentence_transformers": self.sentence_transformers,
            "plain_transformers": self.plain,
        }
        tokens = sum(self.lengths) // self.steps
        rates = Rates(hidden, tokens, backward=True, clock=self.clock)
        seconds: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(rounds):
            for name, loop in loops.items():
                rates.measure([*PRECISIONS.values()])
                seconds[name] += loop()
        found = {name: self.batch / min(values) for name, values in seconds.items()}
        needed, of_all = (
            3 * operations(self.lengths, layers, hidden, first) / self.steps / self.batch
            for first in (True, False)
        )
        limits = {name: rates.rate(kind) / needed for name, kind in PRECISIONS.items()}
        return {
            "rows_per_second": {name: round(rate, 2) for name, rate in found.items()},
            "seconds_per_step": {
                name: [round(each, 3) for each in values] for name, values in seconds.items()
            },
            "gflops": rates.record(),
            "fp32_gflops_by_library": rates.rates_by_library(),
            "gflop_per_row": round(needed / 1e9, 3),
            "gflop_per_row_of_all": round(of_all / 1e9, 3),
            "batch": self.batch,
            "tokens_per_row": round(tokens / self.batch, 1),
            "limit": {name: round(limit, 1) for name, limit in limits.items()},
            "share": {name: round(found[name] / limit, 3) for name, limit in limits.items()},
            "share_of_all": {
                name: round(found[name] / limit * of_all / needed, 3) for name, limit in limits.items()
            },
            "times_sentence_transformers": {
                name: round(found[name] / found["sentence_transformers"], 2) for name in PRECISIONS
            },
            "times_plain": round(found["ours"] / found["plain_transformers"], 2),
        }


def by_kind(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return a dict from kinds of operations to milliseconds of a step.

    The minimum of each operation over the steps is used, because other processes make operations longer.

    Args:
        steps: dicts from operations to milliseconds, for each step.
    """
    found = dict.fromkeys((*OPERATIONS, REST), 0.0)
    for name in set().union(*steps):
        found[KIND_OF.get(name.removeprefix("aten::"), REST)] += min(
            step[name] for step in steps if name in step
        )
    return {kind: round(spent, 3) for kind, spent in found.items()}


def stacks(events: Sequence[Any]) -> dict[str, float]:
    """Return a dict from folded stacks of a step to milliseconds.

    A stack is a string `phase;outermost operation;operation`. Operations before the first autograd node are forward,
    and operations after the last node are the update of the weights.

    Args:
        events: the events of torch's profiler.
    """
    nodes = [event.time_range for event in events if event.name.startswith(NODE)]
    first, last = min(node.start for node in nodes), max(node.end for node in nodes)
    found: Counter[str] = Counter()
    for event in events:
        outermost = event
        while outermost.cpu_parent is not None:
            outermost = outermost.cpu_parent
        start = outermost.time_range.start
        phase = "forward" if start < first else "backward" if start < last else "update"
        names = (re.sub(r"^.*(::|#)", "", each.name.removeprefix(NODE)) for each in (outermost, event))
        path = phase, *dict.fromkeys(re.sub(r"Backward\d*$", "", name) for name in names)
        found[";".join(path)] += event.self_cpu_time_total / 1000
    return {path: round(spent, 3) for path, spent in found.most_common() if spent >= LEAST}


def draw(found: Mapping[str, Any], out: Path) -> None:
    """Draw a 6x384 step of each kind of training as a flame graph.

    The graph is above a bar with the minimum time of the step's products. The step is in bf16 if the processor has bf16
    products, otherwise in fp32.

    Args:
        found: the record.
        out: the file to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cases = {kind: found[PROFILED][kind] for kind in KINDS if kind in found[PROFILED]}
    figure, axes = pyplot.subplots(
        len(cases), 1, figsize=(6.5, 1.9 * len(cases) + 1.1), squeeze=False, layout="constrained"
    )
    shades = [f"C{number}" for number in (0, 1, 2, 3, 4, 5, 6)] + ["gold", "C8", "C9", "0.6"]
    colours = dict(zip((*OPERATIONS, REST), shades, strict=True))
    for axis, (kind, case) in zip(axes.flat, cases.items(), strict=True):
        ours, precision = ("ours_bf16", "bf16") if "bf16" in case["stacks"] else ("ours", "fp32")
        tree = {tuple(path.split(";")): spent for path, spent in case["stacks"][precision].items()}
        _flames(axis, tree, (), 0.0, colours)
        limit = 1000 * case["batch"] / case["limit"][ours]
        axis.barh(-1, limit, height=0.9, color="0.9")
        axis.text(
            limit / 2, -1, f"its products at the limit: {limit:.0f} ms", ha="center", va="center", fontsize=8
        )
        axis.set_title(
            f"a step of {kind} training, {PROFILED}, {precision}: {sum(tree.values()):.0f} ms", fontsize=9
        )
        axis.set_yticks([])
        axis.set_xlabel("milliseconds", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.margins(x=0)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour in colours.values()]
    figure.legend(handles, colours, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.savefig(out, dpi=190, metadata={"Software": None})


def _flames(
    axis: Any,
    tree: Mapping[tuple[str, ...], float],
    path: tuple[str, ...],
    left: float,
    colours: Mapping[str, Any],
) -> None:
    """Draw all operations below a path, the longest first.

    Phases keep their order.
    """
    depth = len(path)
    inner: dict[str, float] = {}
    below = {place: spent for place, spent in tree.items() if place[:depth] == path and len(place) > depth}
    for place, spent in below.items():
        inner[place[depth]] = inner.get(place[depth], 0.0) + spent
    for name in sorted(inner, key=(lambda name: -inner[name]) if depth else PHASES.index):
        spent = inner[name]
        has_parts = any(each[depth] == name and len(each) > depth + 1 for each in below)
        colour = "0.85" if has_parts else colours[KIND_OF.get(name, REST)]
        axis.barh(depth, spent, left=left, height=0.95, color=colour, edgecolor="white", linewidth=0.4)
        if len(name) < spent / sum(tree.values()) * LETTERS:
            axis.text(left + spent / 2, depth, name, ha="center", va="center", fontsize=8, clip_on=True)
        _flames(axis, tree, (*path, name), left, colours)
        left += spent


def both_cores(folder: Path, steps: int) -> dict[str, float]:
    """Compare one run on two threads with two parallel runs of one thread.

    Args:
        folder: the folder of the encoder.
        steps: the number of steps.

    Returns:
        Dict of rows per second.
    """

    def worker(threads: int) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, "--worker", str(folder), str(threads), str(steps)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def rate(workers: list[subprocess.Popen[str]]) -> float:
        return sum(float(each.communicate()[0].split()[-1]) for each in workers)

    one, both = rate([worker(2)]), rate([worker(1), worker(1)])
    return {"one_run_two_threads": round(one, 1), "two_runs_one_thread_each": round(both, 1)}


def work_alone(folder: str, threads: str, steps: str) -> None:
    """Print the rows per second of our loop in this process."""
    torch.set_num_threads(int(threads))
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(Path(folder), Path(work), "unsupervised", int(steps), clock=time.perf_counter)
        print(BATCH / median(bench.ours("fp32")))


def lines_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the record's table."""
    lines = []
    for (size, kind), (name, precision) in itertools.product(
        ((size, kind) for size, kinds in found.items() if size in SIZES for kind in kinds),
        PRECISIONS.items(),
    ):
        case = found[size][kind]
        ratio, share = case["times_sentence_transformers"][name], case["share"][name]
        if precision == "bf16":
            goal, met = f"{GOAL_SHARE_BF16:.0%}", share >= GOAL_SHARE_BF16
        else:
            goal, met = (
                f"{GOAL_RATIO:g}x, {GOAL_SHARE:.0%}",
                ratio >= GOAL_RATIO and share >= GOAL_SHARE,
            )
        if size == "2x128":
            goal, met = "", None
        rates = case["rows_per_second"]
        lines.append(
            row(
                f"training {size}, {kind}, {precision}: rows a CPU second",
                f"{rates[name]:.1f}",
                f"{rates['sentence_transformers']:.1f} (sentence-transformers), "
                f"{rates['plain_transformers']:.1f} (plain loop)",
                f"{case['limit'][name]:.0f} ({share:.0%})",
                f"{ratio:.2f}x",
                goal,
                met,
            )
        )
        if spent := case.get("step", {}).get(precision):
            products, limit = spent[PRODUCTS], 1000 * case["batch"] / case["limit"][name]
            outside = {kind: each for kind, each in spent.items() if kind != PRODUCTS}
            total = sum(outside.values())
            lines.append(
                row(
                    f"a step of it, {size}, {kind}, {precision}: milliseconds outside its products",
                    f"{total:.0f} ({', '.join(f'{what} {each:.0f}' for what, each in outside.items())})",
                    limit=f"{limit:.0f} of products, which take {products:.0f}",
                    ratio=f"at most {limit / (limit + total):.0%} of the limit",
                )
            )
    if cores := found.get("both_cores"):
        one, two = cores["one_run_two_threads"], cores["two_runs_one_thread_each"]
        lines.append(
            row(
                "training 6x384 on two cores: rows a second",
                f"{two:.1f} (a run on each)",
                f"{one:.1f} (one run on both)",
                ratio=f"{two / one:.2f}x",
            )
        )
    return lines


def cases(size: str, quick: bool) -> list[tuple[str, int]]:
    """Return a list of the kinds and batch sizes of an encoder's trainings.

    A quick run skips batches with steps of half a minute.

    Args:
        size: a key of `SIZES`.
        quick: whether this is a quick run.
    """
    small = [("unsupervised", SMALL)] if size == "12x768" else []
    return small if quick and small else [*small, *((kind, BATCH) for kind in KINDS)]


def main() -> None:
    """Measure all sizes and kinds in turn and write the record."""
    if sys.argv[1:2] == ["--worker"]:
        work_alone(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one round; of 12x768 only batch 16")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--figure", action="store_true", help="draw the record again")
    parser.add_argument("--out", type=Path, default=RESULTS / "training_limit.json")
    chosen = parser.parse_args()
    if chosen.figure:
        draw(json.loads(chosen.out.read_text()), chosen.out.with_suffix(".png"))
        return
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    found: dict[str, Any] = {
        "batch": BATCH, "length": LENGTH, "data": data_name(),
        "goals": {"ratio": GOAL_RATIO, "share": GOAL_SHARE, "share_bf16": GOAL_SHARE_BF16},
    }  # fmt: skip
    # Steps per turn, and number of turns. All sizes take about the same time.
    turns = {"2x128": (20, 3), "6x384": (6, 3), "12x768": (1, 2)}
    quick = {"2x128": (10, 1), "6x384": (3, 1), "12x768": (1, 2)}
    with tempfile.TemporaryDirectory(prefix="replicse-training-") as scratch:
        for size in chosen.sizes:
            layers, hidden, heads = SIZES[size]
            folder = write_encoder(Path(scratch) / size, layers, hidden, heads)
            steps, rounds = (quick if chosen.quick else turns)[size]
            for kind, batch in cases(size, chosen.quick):
                bench = Bench(folder, Path(scratch), kind, steps, batch)
                case = bench.compared(layers, hidden, rounds)
                if size == PROFILED:
                    profiled = {each: bench.profiled(each) for each in PRECISIONS.values()}
                    case["step"] = {each: spent for each, (spent, _) in profiled.items()}
                    case["stacks"] = {each: stack for each, (_, stack) in profiled.items()}
                name = kind if batch == BATCH else f"{kind}, batch {batch}"
                found.setdefault(size, {})[name] = case
                print(size, name, json.dumps(case), flush=True)
        if "6x384" in chosen.sizes:
            found["both_cores"] = both_cores(Path(scratch) / "6x384", 3 if chosen.quick else 10)
            print(found["both_cores"])
    write_record(chosen.out, found, lines_of(found))
    if PROFILED in found:
        draw(found, chosen.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
