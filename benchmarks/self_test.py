"""Is this device right? Small checks of what training rests on, each with the range that it is expected in.

    python benchmarks/self_test.py [--device cuda] [--name NAME] [--steps 200] [--seconds 30] [--threads 1] [--out FILE]

All of them run on any device; what only a GPU has is skipped elsewhere, with the reason. The record is
build/self-test/<device>.json unless --out names another file. The exit code is 1 where a row is out of its range.
"""

import argparse
import contextlib
import os
import re
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import torch
from peer import SentenceTransformersPeer
from products import Rates, operations
from record import ROOT
from term_errors import NOT_FINITE, SCALE, TermErrors, relative_error, spread
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from replicse.compile.compiler import compile_study
from replicse.data.store import write_store
from replicse.encoder.backbone import ALL_TOKENS, Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.fresh import fresh_backbone
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.printable import columns
from replicse.provenance.record import commit, computed, versions
from replicse.registry.runs import Run
from replicse.registry.terms import Term
from replicse.runtime.devices import device_for, waited_for
from replicse.training.benchmark import Bench, Enough, Timed, architecture_of
from replicse.training.data import alternate_sources
from replicse.training.job import TrainJob
from replicse.training.parts import Parts
from replicse.training.precision import DTYPES, autocast_to, check_precision
from replicse.training.processes import start_processes

# Largest relative error of a term's loss and gradients. Similarities are computed in fp32 in every precision.
ERRORS = {"fp32": 1e-5, "tf32": 2e-3, "bf16": 2e-3, "fp16": 2e-3}
# That of a term with layers of its own, whose products round as the precision does: about twice what CPUs have.
ERRORS_OF_LAYERS = ERRORS | {"bf16": 4e-2}
# Of what is the same but for the order of its sums: CPUs have a few 1e-6.
EQUAL = 1e-4
# Of a step in fp16 from one in fp32; skipped steps until the scale of the loss fits, which halves at each.
SCALED, SKIPPED = 2e-2, 12
MESSAGE = 300  # characters of an error that are shown
WAITING, UTILISATION = 0.05, 0.2
LENGTH, SMALL, TWICE = 32, (2, 128), 20
KERNELS = {
    "flash_attention": "flash",
    "efficient_attention": "efficient",
    "cudnn_attention": "cudnn",
    "attention_math": "math",
}


Verdict = Literal["ok", "outside", "skipped"]


@dataclass(frozen=True)
class Row:
    """A check: what it was, the range expected, the value here, and the verdict with what there is to say of it."""

    what: str
    expected: str
    value: str
    verdict: Verdict
    note: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Extent:
    """How large the training is that is compared: layers, width, rows a batch, and steps in at most so long."""

    layers: int
    hidden: int
    rows: int
    steps: int = 200
    seconds: float = 30.0


# About a minute for both sides on two cores, seconds on a GPU, which has to be full to be measured.
EXTENTS = {"cpu": Extent(6, 384, 32), "cuda": Extent(12, 768, 128)}


def within(what: str, value: float, limit: float, note: str = "", **numbers: Any) -> Row:
    """Return the row of a value that is expected to be at most a limit."""
    verdict: Verdict = "ok" if value <= limit else "outside"
    text = f"{value:.2g}" if value < NOT_FINITE else "not finite"
    return Row(what, f"≤ {limit:.3g}", text, verdict, note, {"value": value, **numbers})


def skipped(what: str, expected: str, why: str) -> Row:
    """Return the row of what was not checked."""
    return Row(what, expected, "", "skipped", why)


class _Noted(Timed):
    """A trainer that keeps the loss of each step and the gradients of the first one."""

    def _tell(self, *_: Any) -> None:
        pass

    def _visit(self, step: int, loss: Tensor | None) -> None:
        super()._visit(step, loss)
        if loss is not None:
            self.losses = [*getattr(self, "losses", []), float(loss)]
        if step == 1:
            trained = [one for group in self.optimiser.param_groups for one in group["params"]]
            found = [one.grad.flatten().double().cpu() for one in trained if one.grad is not None]
            self.gradients = torch.cat(found)


@dataclass
class SelfTest:
    """The checks of a device, with a folder for what they write."""

    work: Path
    device: torch.device
    extent: Extent

    def __post_init__(self) -> None:
        if self.on_gpu and not torch.cuda.is_available():
            raise BadInput(f"device {self.device}: torch sees no GPU here; say --device cpu")
        self.bench = Bench(self.work, self.device)

    @property
    def on_gpu(self) -> bool:
        """Return whether the device is a GPU of CUDA or ROCm: the one switch of all that needs one."""
        return self.device.type == "cuda"

    @property
    def precision(self) -> str:
        """Return the precision to train in: fp32 on a CPU, bf16 on a GPU, fp16 where that has none."""
        if not self.on_gpu:
            return "fp32"
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all checks, in the order of the table; a check that cannot be made is out of its range."""
        checks: dict[str, Callable[[], Iterable[Row]]] = {
            "loss terms": lambda: map(self.terms, ERRORS),
            "gradient caching": lambda: [self.chunks()],
            "loss scaling": self.loss_scaling,
            "encoder": self.encoder,
            "attention kernel": self.kernels,
            "training": self.training,
            "the same steps twice": lambda: [self.repeated()],
            "two processes": lambda: [self.processes()],
        }
        for name, check in checks.items():
            try:
                yield from check()
            except Exception as error:  # whatever a driver or a kernel raises is what is wanted to be known
                text = " ".join(f"{type(error).__name__}: {error}".split())
                yield Row(name, "no error", "failed", "outside", text[:MESSAGE])

    def terms(self, precision: str) -> Row:
        """Compare loss and gradients of every registered term with fp64 on the CPU."""
        what = f"{len(Term.known())} loss terms in {precision} against fp64"
        if precision == "tf32":
            try:
                check_precision(precision, self.device)
            except BadInput as error:
                return skipped(what, f"≤ {ERRORS[precision]:.3g}", str(error))
        errors, limits, left_out = {}, {}, {}
        for name in Term.known():
            try:
                errors[name] = self.term_errors.error(name, self.device, precision)
                has_layers = self.term_errors.has_layers(name)
            except BadInput as error:
                left_out[name] = str(error)
                continue
            limits[name] = (ERRORS_OF_LAYERS if has_layers else ERRORS)[precision]
        worst = max(errors, key=lambda name: errors[name] / limits[name])
        outside = [name for name, error in errors.items() if error > limits[name]]
        note = f"outside: {', '.join(outside)}" if outside else f"nearest to its limit: {worst}"
        note += "".join(f"; {name} left out: {why}" for name, why in left_out.items())
        return within(
            what, errors[worst], limits[worst], note, terms=errors, limits=limits, left_out=left_out
        )

    @cached_property
    def term_errors(self) -> TermErrors:
        """Return what the terms are measured with."""
        return TermErrors(self.work / "terms")

    def chunks(self) -> Row:
        """Hold a step that encodes chunks of rows to one that encodes the batch at once."""
        whole, parts = (self.noted(Parts(chunk=chunk)) for chunk in (0, 5))
        return within(
            "gradient caching against one pass", _difference(parts, whole), EQUAL, "chunks of 5 rows"
        )

    def loss_scaling(self) -> Iterator[Row]:
        """Compare a step in fp16 with one in fp32, and count the steps that loss scaling skips at first."""
        gradient, skips = "a step in fp16 with loss scaling against fp32", f"{TWICE} steps in fp16: skipped"
        if not self.on_gpu:
            why = "fp16 is trained on GPUs alone: it needs --device cuda"
            yield skipped(gradient, f"≤ {SCALED:.3g}", why)
            yield skipped(skips, f"≤ {SKIPPED}", why)
            return
        # A scale at which the first step does not overflow.
        half = self.prepared(Parts(), precision="fp16")
        half.scaler = torch.amp.GradScaler(self.device.type, init_scale=SCALE)
        half.run()
        yield within(gradient, _difference(half, self.noted(Parts())), SCALED, f"scale {SCALE:.0f}")
        usual = self.noted(Parts(), TWICE, 0.1, "fp16")
        note = f"the scale begins at 65,536 and ends at {usual.scaler.get_scale():,.0f}"
        yield within(skips, usual.guard.skipped, SKIPPED, note)

    def encoder(self) -> Iterator[Row]:
        """Hold the packed encoder, as it trains and as it evaluates, to the padded one of `transformers`."""
        from transformers import AutoModel, logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        theirs: Any = AutoModel.from_pretrained(self.folder(*SMALL), add_pooling_layer=False)
        theirs.eval().to(self.device)
        batch = self.tokens([9, 32, 17, 1, 32, 5]).to(self.device)
        noise = torch.randn(len(batch.tokens), SMALL[1], generator=torch.Generator().manual_seed(0)).to(
            self.device
        )
        padded = batch.fill(0)
        mask = padded.attention_mask
        assert mask is not None
        ids = padded.tokens.view(batch.rows, -1)
        wanted = batch.unpad(theirs(input_ids=ids, attention_mask=mask.long()).last_hidden_state)
        (wanted * noise).sum().backward()
        gradient = theirs.embeddings.word_embeddings.weight.grad
        ours = self.opened(SMALL)
        ours.set_dropout(0, 0)
        found = ours.train()(batch, ALL_TOKENS).last
        (found * noise).sum().backward()
        own: Any = ours.input_embeddings
        pairs = ((found, wanted), (own.grad, gradient))
        error = max(relative_error(one.detach().cpu(), other.detach().cpu().double()) for one, other in pairs)
        yield within("encoder against transformers, training", error, EQUAL)
        with torch.inference_mode():
            found = ours.eval()(batch, ALL_TOKENS).last
        error = relative_error(found.cpu(), wanted.detach().cpu().double())
        yield within("encoder against transformers, at test", error, EQUAL)

    def kernels(self) -> Iterator[Row]:
        """Say which kernel of attention torch chooses, for rows of one length and of several, and why not flash."""
        even, uneven = self.tokens([LENGTH] * 8), self.tokens([LENGTH, 9] * 4)
        model = self.opened(SMALL)
        for training, precision in ((True, self.precision), (False, "fp32")):
            batches = [batch.to(self.device) for batch in (even, uneven)]
            chosen = [_kernel(model.train(training), batch, precision) for batch in batches]
            what = f"attention kernel {'in training' if training else 'at test'}, {precision}"
            note = self._reason(training, precision, chosen)
            verdict: Verdict = "outside" if "math" in chosen else "ok"
            yield Row(what, "not math", "/".join(dict.fromkeys(chosen)), verdict, note, {"kernels": chosen})

    def _reason(self, training: bool, precision: str, chosen: list[str]) -> str:
        """Return why torch's flash kernel was not chosen for rows of one length and of several."""
        if "packed" in chosen:
            return "a CPU trains with the packed attention of this package: with dropout faster than torch's"
        if chosen == ["flash", "flash"]:
            return ""
        shape = (8, SMALL[1] // 64, LENGTH, 64)
        query = torch.randn(shape, device=self.device, dtype=DTYPES[precision], requires_grad=training)
        mask = torch.ones(8, 1, 1, LENGTH, dtype=torch.bool, device=self.device)
        even = chosen[0] != "flash"
        why = refusal(SDPBackend.FLASH_ATTENTION, query, None if even else mask, 0.1 if training else 0.0)
        return f"not flash{'' if even else ' for rows of several lengths'}: {why}"

    def training(self) -> Iterator[Row]:
        """Train next to sentence-transformers: throughput, memory, share of the products' rate, waiting for batches."""
        extent, precision = self.extent, self.precision
        size = f"{extent.layers}x{extent.hidden}, {precision}"
        texts = self.bench.texts(LENGTH, extent.rows * min(extent.steps, 64))
        rates = Rates(extent.hidden, extent.rows * 2 * LENGTH * 3 // 4, backward=True, device=self.device)
        rates.measure((precision,))
        ours, trainer = self._ours(texts, precision)
        rates.measure((precision,))
        try:
            theirs = self._theirs(texts, precision)
        except ImportError:
            theirs = None
        rates.measure((precision,))
        yield from self._beside(size, ours, theirs)
        lengths = [
            int(length) for column in trainer.sources[0].data.columns for length in np.diff(column.offsets)
        ]
        each = 3 * operations(lengths, extent.layers, extent.hidden, True) / len(lengths) * 2
        reached = each * ours["rows_per_second"] / rates.rate(precision)
        yield Row(
            "model-flops utilisation", f"≥ {UTILISATION:.0%}", f"{reached:.0%}",
            "ok" if reached >= UTILISATION else "outside",
            f"of the {rates.rate(precision) / 1e12:.3g} TFLOP/s that products of its sizes reach here, {size}",
            {"value": reached, "operations_per_row": each, "products_flops": rates.rate(precision)},
        )  # fmt: skip
        yield self._waiting(trainer, ours)

    def _beside(self, size: str, ours: Mapping[str, Any], theirs: Mapping[str, Any] | None) -> Iterator[Row]:
        what, memory = "rows a second / sentence-transformers", "peak memory / sentence-transformers"
        if theirs is None:
            for name, expected in ((what, "≥ 1"), (memory, "≤ 1.1")):
                yield skipped(
                    name, expected, "sentence-transformers is not installed (requirements/bench.txt)"
                )
            return
        ratio = ours["rows_per_second"] / theirs["rows_per_second"]
        note = (
            f"{ours['rows_per_second']:.3g} and {theirs['rows_per_second']:.3g} rows a second, in {ours['steps']} and"
            f" {theirs['steps']} steps of {self.extent.rows} rows (at most {self.extent.seconds:g} s), {size}"
        )
        numbers = {"value": ratio, "ours": ours, "sentence_transformers": theirs}
        yield Row(what, "≥ 1", f"{ratio:.2f}", "ok" if ratio >= 1 else "outside", note, numbers)
        if self.on_gpu:
            used = ours["peak_mib"], theirs["peak_mib"]
            yield within(memory, used[0] / used[1], 1.1, f"{used[0]:,.0f} and {used[1]:,.0f} MiB", mib=used)
        else:
            yield skipped(
                memory, "≤ 1.1", "only a GPU counts the memory of a step apart (benchmarks/memory.py)"
            )

    def _ours(self, texts: list[str], precision: str) -> tuple[dict[str, Any], Timed]:
        extent = self.extent
        run = self.run(
            (extent.layers, extent.hidden), extent.rows, extent.steps, ("text", "text"), precision=precision
        )
        trainer = self.trainer(Timed, run, {"text": texts}, extent.seconds)
        self._forget_peak()
        with contextlib.suppress(Enough):
            trainer.run()
        return self._measures(trainer.times), trainer

    def _theirs(self, texts: list[str], precision: str) -> dict[str, Any]:
        extent, folder = self.extent, self.folder(self.extent.layers, self.extent.hidden)
        self._forget_peak()
        peer = SentenceTransformersPeer(folder, self.device, precision, LENGTH, self.work / "peer")
        return self._measures(peer.times([texts] * 2, extent.rows, extent.steps, extent.seconds))

    def _forget_peak(self) -> None:
        if self.on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)

    def _measures(self, times: list[float]) -> dict[str, Any]:
        """Return rows a second of steps that ended at some times, but for the first ones, and the memory they took."""
        seconds = [later - before for before, later in pairwise(times)]
        step = median(seconds[min(3, len(seconds) - 1) :])
        peak = torch.cuda.max_memory_allocated(self.device) / 2**20 if self.on_gpu else None
        return {
            "rows_per_second": self.extent.rows / step,
            "seconds_per_step": step,
            "steps": len(seconds),
            "peak_mib": peak,
        }

    def _waiting(self, trainer: Timed, ours: Mapping[str, Any]) -> Row:
        """Take batches alone, as the loop takes them between two steps."""
        count = max(2, min(trainer.steps, 20))
        start = waited_for(self.device)
        for _ in islice(
            alternate_sources([source.data for source in trainer.sources], 0, trainer.steps), count
        ):
            pass
        share = (waited_for(self.device) - start) / count / ours["seconds_per_step"]
        note = "as if nothing of it were done while the GPU works" if self.on_gpu else ""
        return within("share of a step that waits for its batch", share, WAITING, note)

    def repeated(self) -> Row:
        """Hold some steps, with dropout, to the same ones again, bit by bit."""
        # Kernels that sum in any order are fast, and no fault of a GPU.
        torch.use_deterministic_algorithms(self.on_gpu, warn_only=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one, other = (self.noted(Parts(), TWICE, 0.1, self.precision) for _ in range(2))
        finally:
            torch.use_deterministic_algorithms(False)
        weights = zip(one.model.parameters(), other.model.parameters(), strict=True)
        differing = sum(not torch.equal(*pair) for pair in weights)
        differing += sum(left != right for left, right in zip(one.losses, other.losses, strict=True))
        what = f"{TWICE} steps twice: tensors that differ"
        note = f"{self.precision}{', by deterministic kernels of torch' if self.on_gpu else ''}"
        return Row(what, "0", str(differing), "outside" if differing else "ok", note, {"value": differing})

    def processes(self) -> Row:
        """Hold the steps of two processes, hard negatives gathered over both, to those of one."""
        device = self.device.type
        several = self.on_gpu and torch.cuda.device_count() > 1
        how = "nccl, a GPU each" if several else f"gloo, {'one GPU' if self.on_gpu else 'the CPU'} for both"
        how = f"each loss sees the hard negatives of both; {how}"
        what = "two processes against one"
        whole, run = self.noted(Parts()), self.small_run()
        job = self.job(run, self.texts_of(run))
        document = {
            "run": run.plain(), "run_id": run.run_id, "init": str(job.init), "tokenizer": str(job.tokenizer),
            "stores": [str(store) for store in job.stores],
        }  # fmt: skip
        from job_files import write_job  # below tests, which `record` has put on the path

        weights = self.work / "other" / "last" / "model.safetensors"
        words = write_job(self.work, "train", document, [weights], self.work)
        words += [f"--threads={torch.get_num_threads()}", f"--device={device}"]
        with start_processes(2, words) as processes:
            parted = self.noted(Parts(processes))
        return within(what, _difference(parted, whole), EQUAL, how)

    def noted(self, parts: Parts, steps: int = 2, dropout: float = 0.0, precision: str = "fp32") -> "_Noted":
        """Return the trainer of a small run with hard negatives, after its last step."""
        trainer = self.prepared(parts, steps, dropout, precision)
        trainer.run()
        return trainer

    def prepared(
        self, parts: Parts, steps: int = 2, dropout: float = 0.0, precision: str = "fp32"
    ) -> "_Noted":
        """Return the trainer of a small run with hard negatives, before its first step."""
        run = self.small_run(steps, dropout, precision)
        return self.trainer(_Noted, run, self.texts_of(run), float("inf"), parts)

    def small_run(self, steps: int = 2, dropout: float = 0.0, precision: str = "fp32") -> Run:
        """Return a run of a small encoder on anchors, positives and hard negatives."""
        rates = {"dropout": {"hidden": dropout, "attention": dropout}}
        views = ("anchor", "positive", "negative")
        return self.run(SMALL, 16, steps, views, precision=precision, **rates)

    def texts_of(self, run: Run) -> dict[str, list[str]]:
        """Return made-up sentences for each view of a run."""
        count = run.optimisation.batch_size * 4
        columns = [view.column for view in run.views]
        return {column: self.bench.texts(LENGTH, count, place) for place, column in enumerate(columns)}

    def run(self, size: tuple[int, int], rows: int, steps: int, columns: tuple[str, ...], **more: Any) -> Run:
        """Return a run of InfoNCE on some columns, of an encoder of a size."""
        return Run.of(
            {
                "init": {"folder": str(self.folder(*size))},
                "corpus": {"name": "made-up"},
                "views": [{"column": column} for column in columns],
                "objective": [{"term": "infonce"}],
                "pooling": {"train": "cls", "test": "cls"},
                "optimisation": {"batch_size": rows, "steps": steps, "epochs": steps, "max_length": LENGTH},
                "selection": {"every": 0},
                **more,
            },
            "self-test",
        )

    def job(self, run: Run, texts: Mapping[str, list[str]]) -> TrainJob:
        """Return the job of a run, its stores written."""
        stores = {name: self.work / f"store-{name}" for name in texts}
        for name, column in texts.items():
            write_store(stores[name], column, self.bench.tokenizer, LENGTH, {})
        folder = Path(str(run.init.folder))
        return TrainJob(
            run, run.run_id, folder, self.bench.tokenizer, [stores[view.column] for view in run.views or ()]
        )

    def trainer(
        self,
        kind: type[Any],
        run: Run,
        texts: Mapping[str, list[str]],
        seconds: float,
        parts: Parts | None = None,
    ) -> Any:
        """Return a trainer of a run on some texts, in at most so many seconds."""
        return kind(
            self.job(run, texts), self.work, self.work / "out", self.work / "state", self.device,
            save_every_seconds=float("inf"), seconds=seconds, parts=parts or Parts(),
        )  # fmt: skip

    def folder(self, layers: int, hidden: int) -> Path:
        """Return the folder of a random encoder, the same one at each call."""
        folder = self.work / f"encoder-{layers}-{hidden}"
        if not folder.exists():
            torch.manual_seed(0)
            backbone = fresh_backbone(architecture_of(layers, hidden), self.bench.tokenizer)
            backbone.drop_token_head()
            spread(backbone)
            backbone.save(folder)
        return folder

    def opened(self, size: tuple[int, int]) -> Backbone:
        """Return that encoder on the device."""
        return open_backbone(self.folder(*size)).to(self.device)

    def tokens(self, lengths: list[int]) -> TokenBatch:
        """Return rows of these lengths, of tokens drawn at random, on the CPU."""
        drawn = np.random.default_rng(0)
        return TokenBatch.from_rows([drawn.integers(5, 1000, length) for length in lengths])


def refusal(backend: SDPBackend, values: Tensor, mask: Tensor | None, dropout: float) -> str:
    """Return why a backend of torch's attention does not take query, key and value like these; blank where it does."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            with sdpa_kernel(backend):
                torch.nn.functional.scaled_dot_product_attention(
                    values, values, values, attn_mask=mask, dropout_p=dropout
                )
        except RuntimeError as error:
            texts = [str(each.message) for each in told] or [str(error)]
            return " ".join(texts[-1].split("(Triggered")[0].split())
    return ""


def _kernel(model: Backbone, batch: TokenBatch, precision: str) -> str:
    """Return which kernel of torch's attention an encoder was given, `packed` where it asked for none."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler says on stderr that it starts
    with (
        torch.profiler.profile() as profile,
        torch.set_grad_enabled(model.training),
        autocast_to(precision, batch.tokens.device),
    ):
        model(batch, ALL_TOKENS)
    called = " ".join(event.key for event in profile.key_averages())
    return next((name for key, name in KERNELS.items() if f"scaled_dot_product_{key}" in called), "packed")


def _difference(found: "_Noted", whole: "_Noted") -> float:
    """Return the larger of the relative differences of loss and gradients of the first step.

    Later steps tell less: Adam makes steps of full length of gradients that are 0 but for rounding.
    """
    losses = (torch.tensor(each.losses[:1], dtype=torch.float64) for each in (found, whole))
    return max(relative_error(*losses), relative_error(found.gradients, whole.gradients))


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a table of 80 columns, the notes of a row below it."""
    lines: list[tuple[str, ...] | str] = [("", "check", "here", "expected")]
    for row in rows:
        lines.append((row.verdict, row.what, row.value, row.expected))
        lines += textwrap.wrap(row.note, 80, initial_indent=" " * 9, subsequent_indent=" " * 9)
    return columns(lines)


def use_all_terms() -> None:
    """Have the terms of every paper and plug-in in the registry: planning all papers loads what they bring."""
    compile_study({"scale": "micro", "papers": "all", "seeds": [0]}, ROOT / "workflow")


def main(words: list[str] | None = None) -> int:
    """Check a device row by row, write the record, and return 1 where a row is out of its range."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")
    parser.add_argument("--name", help="how the record is called (default: the processor's or GPU's name)")
    parser.add_argument("--steps", type=int, help="so many steps of training next to sentence-transformers")
    parser.add_argument("--seconds", type=float, help="at most so long a side")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(words)
    use_all_terms()
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    device = device_for(chosen.device)
    usual = EXTENTS.get(device.type, EXTENTS["cpu"])
    extent = replace(usual, steps=chosen.steps or usual.steps, seconds=chosen.seconds or usual.seconds)
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as scratch:
        for row in SelfTest(Path(scratch), device, extent).rows():
            rows.append(row)
            print(f"{row.verdict:8}{row.what}", file=sys.stderr, flush=True)
    machine, (revision, dirty) = computed(device, "fp32"), commit()
    name = chosen.name or machine["accelerator"] or machine["hardware"]["processor"]
    out = (
        chosen.out
        or ROOT / "build" / "self-test" / f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
    )
    document = {
        "device": name,
        "seconds": round(time.monotonic() - start),
        "when": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "commit": revision,
        "dirty": dirty,
        "versions": versions(),
        "machine": machine,
        "rows": [asdict(row) for row in rows],
    }
    write_json(out, document)
    print("\n".join(table(rows)))
    outside = sum(row.verdict == "outside" for row in rows)
    print(f"out of range: {outside or 'none'}; wrote {out}")
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main())
