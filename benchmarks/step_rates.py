"""Rates and memory of a device: steps, kernels, waits and suites.

Measures training steps, kernels and synchronisations of a step, and suites of evaluation.
"""

import contextlib
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from peer import SentenceTransformersPeer
from pretended import pretended_gpu
from products import Rates, operations
from random_runs import LENGTH, RandomRuns
from rehearsal_rows import Check, Row, judge, skipped, within
from torch.profiler import ProfilerActivity, profile

from replicse.compile.cost import row_operations
from replicse.compile.sizes import UNSURE, training_bytes
from replicse.compile.speed import PUBLISHED, Speed
from replicse.data.sets import data_folder
from replicse.errors import BadInput
from replicse.evaluation.suites import prepare_all, run_suites, suite
from replicse.library.evaluation import open_encoder
from replicse.registry.encoders import Precision
from replicse.registry.runs import Init, Run
from replicse.runtime.devices import read_clock
from replicse.runtime.machine import hardware
from replicse.training.benchmark import Enough, Timed, architecture_of
from replicse.training.data import alternate_sources
from replicse.training.parts import Parts
from replicse.training.precision import check_precision

WAITING, UTILISATION = 0.05, 0.2
# Maximum kernels of a layer in a step, and of the rest of the step. On a simulated GPU, a layer in bf16 has 99
# (tests/unit/training/test_waits.py).
LAYER_KERNELS, OTHER_KERNELS = 110, 250
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "hipLaunchKernel")


@dataclass(frozen=True)
class Shape:
    """Sizes of training steps.

    Args:
        layers: the number of layers.
        hidden: the width of the encoder.
        rows: the batch size.
        chunk: the number of rows of a chunk. Default: 0, for no chunks.
    """

    layers: int
    hidden: int
    rows: int
    chunk: int = 0

    @property
    def text(self) -> str:
        """Return a description such as "2x128, batch 64"."""
        chunks = f" in chunks of {self.chunk}" if self.chunk else ""
        return f"{self.layers}x{self.hidden}, batch {self.rows}{chunks}"


@dataclass(frozen=True)
class Extent:
    """Sizes of all measurements.

    Args:
        peer: the shape to compare with sentence-transformers.
        steps: the maximum number of steps of this comparison, for each side.
        seconds: the maximum seconds of this comparison, for each side.
        shapes: the shapes to measure.
        precisions: the precisions to measure.
        measured: the number of steps of each shape and precision.
        study: the shape of the encoder of the study.
        study_steps: the number of steps of the study.
        suites: dict from the suites to evaluate with the study's initial encoder to their options.
    """

    peer: Shape
    steps: int
    seconds: float
    shapes: tuple[Shape, ...]
    precisions: tuple[Precision, ...]
    measured: int
    study: Shape
    study_steps: int
    suites: Mapping[str, Mapping[str, Any]]


@dataclass
class StepRates(RandomRuns):
    """Rates and memory of a device.

    Args:
        extent: the sizes of the measurements.
        speeds: the estimates of `replicse plan`. Default: empty.
        device_name: the name of the device, used to find its estimate. Default: empty.
    """

    extent: Extent
    speeds: tuple[Speed, ...] = ()
    device_name: str = ""
    measured: dict[Precision, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bench.steps = self.extent.measured
        self.bench.memory_gib = hardware()["memory_gib"]

    @property
    def checks(self) -> dict[str, Check]:
        """Return the checks by name, in the order of the table."""
        return {
            "training": self.training,
            "rates and memory": self.rates,
            "kernels of a step": self.launches,
        }

    def rates(self) -> Iterator[Row]:
        """Yield rate and peak memory of each shape and precision.

        Rates are in rows per second, and compared with the estimates of `replicse plan`.
        """
        for shape in self.extent.shapes:
            for precision in self.extent.precisions:
                try:
                    check_precision(precision, self.device)
                except BadInput as error:
                    yield skipped(f"{shape.text}, {precision}: rows a second", "", str(error))
                    continue
                yield from self._rates_of(shape, precision)

    def _rates_of(self, shape: Shape, precision: Precision) -> Iterator[Row]:
        run = self._fresh_run(shape, precision)
        self._forget_peak()
        rate = self.bench.rate(run, (shape.layers, shape.hidden), [], Parts(chunk=shape.chunk))
        flops = rate * (row_operations(run, {}) or 0)
        self.measured.setdefault(precision, []).append(flops)
        numbers = {**asdict(shape), "precision": precision, "rows_per_second": rate, "flops": flops}
        yield self._rate_row(f"{shape.text}, {precision}: rows a second", rate, flops, precision, numbers)
        what = f"{shape.text}, {precision}: peak GB"
        estimate = (training_bytes(run, {}, shape.chunk or None) or 0) / 1e9
        expected = f"{estimate / UNSURE:.2g} to {estimate * UNSURE:.2g}"
        if not self.on_gpu:
            yield skipped(
                what, expected, "only a GPU counts the memory of a step apart (benchmarks/memory.py)"
            )
            return
        peak = torch.cuda.max_memory_allocated(self.device) / 1e9
        is_near = estimate / UNSURE <= peak <= estimate * UNSURE
        note = "the estimate of plan and doctor"
        yield Row(what, expected, f"{peak:.2g}", judge(is_near), note, {"value": peak, "estimate": estimate})

    def _rate_row(
        self, what: str, rate: float, flops: float, precision: Precision, numbers: Mapping[str, Any]
    ) -> Row:
        """Create the row of a rate, which should be near the device's estimate.

        If there is no estimate, the row is skipped.
        """
        known = [speed for speed in self.speeds if _is_named(speed.device, self.device_name)]
        if not known:
            note = (
                "no estimate of this device; numbers of a CPU or another GPU are recorded without a verdict"
            )
            return Row(what, "", f"{rate:.3g}", "skipped", note, numbers)
        expected = rate * known[0].flops_in(precision) / flops
        is_near = expected / PUBLISHED <= rate <= expected * PUBLISHED
        interval = f"{expected / PUBLISHED:.3g} to {expected * PUBLISHED:.3g}"
        note = f"the estimate of plan for {known[0].device}"
        return Row(what, interval, f"{rate:.3g}", judge(is_near), note, numbers)

    def _fresh_run(self, shape: Shape, precision: Precision) -> Run:
        fresh = {
            "architecture": architecture_of(shape.layers, shape.hidden).plain(),
            "tokenizer": {"kind": "made up"},
        }
        run = self.run((1, 64), shape.rows, 2, ("text", "text"), precision=precision)
        return run.replace(init=Init.of({"fresh": fresh}, "rehearsal"))

    def launches(self) -> Iterator[Row]:
        """Count kernels and synchronisations of a step.

        Without a GPU, they are counted on a simulated one.
        """
        shape, precision = self.extent.shapes[0], self.precision if self.on_gpu else "bf16"
        count, waits = self._count_on_gpu(shape, precision) if self.on_gpu else self._count_pretended(shape)
        note = f"{shape.text}, {precision}" + ("" if self.on_gpu else ", on a pretended GPU")
        yield within("kernels of a step", count, OTHER_KERNELS + LAYER_KERNELS * shape.layers, note)
        yield within("synchronisations of a step", len(waits), 0, "; ".join([note, *waits[:3]]))

    def _count_on_gpu(self, shape: Shape, precision: str) -> tuple[int, list[str]]:
        trainer = self._stepping(shape, precision)
        step = self._third_step(trainer)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            step()
            torch.cuda.synchronize(self.device)
        launches = sum(each.count for each in seen.key_averages() if each.key.startswith(LAUNCHES))
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        waits = [str(each.message).partition("\n")[0] for each in caught if "synchroniz" in str(each.message)]
        return launches, waits

    def _count_pretended(self, shape: Shape) -> tuple[int, list[str]]:
        with pretended_gpu() as work:
            trainer = type(self)(self.work / "pretended", torch.device("cuda"), self.extent)._stepping(
                shape, "bf16"
            )
            step = self._third_step(trainer)
            work.kernels.clear()
            work.waits.clear()
            step()
            return sum(work.kernels.values()), list(work.waits)

    def _stepping(self, shape: Shape, precision: str) -> Timed:
        run = self.run((shape.layers, shape.hidden), 4, 8, ("text", "text"), precision=precision)
        trainer: Timed = self.trainer(Timed, run, {"text": self.bench.texts(LENGTH, 64)}, float("inf"))
        return trainer

    def _third_step(self, trainer: Timed) -> Any:
        """Run two steps, and return a function that runs the third.

        In the first steps, torch chooses kernels and allocates memory.
        """
        source = trainer.sources[0]
        batches = [columns for columns, _ in islice(source.data.batches(0, 4), 4)]

        def step() -> None:
            loss, norm = trainer._update(2, source, batches.pop(), None)
            trainer.guard.see(2, loss, norm)

        step()
        step()
        return step

    def training(self) -> Iterator[Row]:
        """Compare training with sentence-transformers.

        The rows are throughput, memory, share of the products' rate, and waits for batches.
        """
        shape, precision = self.extent.peer, self.precision
        texts = self.bench.texts(LENGTH, shape.rows * min(self.extent.steps, 64))
        products = Rates(shape.hidden, shape.rows * 2 * LENGTH * 3 // 4, backward=True, device=self.device)
        products.measure((precision,))
        ours, trainer = self._train_ours(texts, precision)
        products.measure((precision,))
        try:
            theirs = self._train_theirs(texts, precision)
        except ImportError:
            theirs = None
        products.measure((precision,))
        yield from self._compare(ours, theirs)
        lengths: list[int] = []
        for column in trainer.sources[0].data.columns:
            lengths += np.diff(column.offsets).tolist()
        each = 3 * operations(lengths, shape.layers, shape.hidden, True) / len(lengths) * 2
        reached = each * ours["rows_per_second"] / products.rate(precision)
        note = f"of the {products.rate(precision) / 1e12:.3g} TFLOP/s that products of its sizes reach here"
        numbers = {"value": reached, "operations_per_row": each, "products_flops": products.rate(precision)}
        verdict = judge(reached >= UTILISATION)
        what = "model-flops utilisation"
        yield Row(what, f"≥ {UTILISATION:.0%}", f"{reached:.0%}", verdict, f"{note}, {shape.text}", numbers)
        yield self._waiting(trainer, ours)

    def _compare(self, ours: Mapping[str, Any], theirs: Mapping[str, Any] | None) -> Iterator[Row]:
        what, memory = "rows a second / sentence-transformers", "peak memory / sentence-transformers"
        if theirs is None:
            reason = "sentence-transformers is not installed (requirements/bench.txt)"
            yield skipped(what, "≥ 1", reason)
            yield skipped(memory, "≤ 1.1", reason)
            return
        ratio = ours["rows_per_second"] / theirs["rows_per_second"]
        note = (
            f"{ours['rows_per_second']:.3g} and {theirs['rows_per_second']:.3g} rows a second, in {ours['steps']} and"
            f" {theirs['steps']} steps of at most {self.extent.seconds:g} s, {self.extent.peer.text}, {self.precision}"
        )
        numbers = {"value": ratio, "ours": ours, "sentence_transformers": theirs}
        yield Row(what, "≥ 1", f"{ratio:.2f}", judge(ratio >= 1), note, numbers)
        if self.on_gpu:
            used = ours["peak_mib"], theirs["peak_mib"]
            yield within(memory, used[0] / used[1], 1.1, f"{used[0]:,.0f} and {used[1]:,.0f} MiB", mib=used)
        else:
            yield skipped(
                memory, "≤ 1.1", "only a GPU counts the memory of a step apart (benchmarks/memory.py)"
            )

    def _train_ours(self, texts: list[str], precision: str) -> tuple[dict[str, Any], Timed]:
        shape, extent = self.extent.peer, self.extent
        size, views = (shape.layers, shape.hidden), ("text", "text")
        run = self.run(size, shape.rows, extent.steps, views, precision=precision)
        trainer = self.trainer(Timed, run, {"text": texts}, extent.seconds)
        self._forget_peak()
        with contextlib.suppress(Enough):
            trainer.run()
        return self._measures(trainer.times), trainer

    def _train_theirs(self, texts: list[str], precision: str) -> dict[str, Any]:
        shape, extent = self.extent.peer, self.extent
        folder = self.folder(shape.layers, shape.hidden)
        self._forget_peak()
        peer = SentenceTransformersPeer(folder, self.device, precision, LENGTH, self.work / "peer")
        return self._measures(peer.times([texts] * 2, shape.rows, extent.steps, extent.seconds))

    def _forget_peak(self) -> None:
        if self.on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)

    def _measures(self, times: list[float]) -> dict[str, Any]:
        """Return a dict of rows per second and peak memory.

        The first steps are skipped.

        Args:
            times: list of the times at the ends of the steps.
        """
        seconds = [later - before for before, later in pairwise(times)]
        step = median(seconds[min(3, len(seconds) - 1) :])
        peak = torch.cuda.max_memory_allocated(self.device) / 2**20 if self.on_gpu else None
        return {
            "rows_per_second": self.extent.peer.rows / step,
            "seconds_per_step": step,
            "steps": len(seconds),
            "peak_mib": peak,
        }

    def _waiting(self, trainer: Timed, ours: Mapping[str, Any]) -> Row:
        """Measure the time to create batches, as a share of a step."""
        count = max(2, min(trainer.steps, 20))
        start = read_clock(self.device)
        for _ in islice(
            alternate_sources([source.data for source in trainer.sources], 0, trainer.steps), count
        ):
            pass
        share = (read_clock(self.device) - start) / count / ours["seconds_per_step"]
        note = "as if nothing of it were done while the GPU works" if self.on_gpu else ""
        return within("share of a step that waits for its batch", share, WAITING, note)


def suite_rates(
    encoder: Path, data: Path, device: torch.device, options: Mapping[str, Mapping[str, Any]]
) -> Iterator[Row]:
    """Yield the encoding rate and the scoring time of each suite.

    Rates are in sentences per second. No number of a suite should be missing.

    Args:
        encoder: the folder of the encoder.
        data: the data folder.
        device: the device.
        options: dict from suites to their options.
    """
    root = data_folder(data)
    for name, given in options.items():
        vectors = open_encoder(encoder, "cls", LENGTH, str(device))
        module, keywords = suite(name, given)
        sentences = dict.fromkeys(module.sentences(root, **keywords))
        start = read_clock(device)
        prepare_all(vectors, [sentences])
        encoded = read_clock(device)
        outcome = run_suites(root, vectors, [name], {name: given})
        scored = time.perf_counter()
        rate = len(sentences) / (encoded - start)
        what = f"suite {name}: sentences a second; numbers that are missing"
        failed = len(outcome["failures"])
        numbers = {"sentences": len(sentences), "rate": rate, "scoring_seconds": scored - encoded}
        note = f"{len(sentences):,} sentences encoded in {encoded - start:.1f} s, scored in {scored - encoded:.1f} s"
        yield Row(what, "0 missing", f"{rate:.3g}; {failed} missing", judge(not failed), note, numbers)


def _is_named(device: str, name: str) -> bool:
    """Return whether an estimate applies to a device.

    For example, `one RTX 3090` applies to `NVIDIA GeForce RTX 3090`.
    """
    return bool(name) and device.split()[-1].lower() in name.lower().split()
