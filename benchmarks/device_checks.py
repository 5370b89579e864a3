"""Checks of a device, each with an expected range.

The checks cover loss terms, the encoder, attention kernels, gradient caching, resuming and several processes. They run
on any device. If a check needs a GPU, it is skipped on a CPU, with the reason.
"""

import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from random_runs import LENGTH, SMALL, RandomRuns, RecordingTrainer
from rehearsal_rows import Check, Row, Verdict, skipped, within
from term_errors import SCALE, TermErrors, relative_error
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from replicse.encoder.backbone import ALL_TOKENS, Backbone
from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput
from replicse.registry.terms import Term
from replicse.training.parts import Parts
from replicse.training.precision import DTYPES, autocast_to, check_precision
from replicse.training.processes import start_processes

# Maximum relative error of a term's loss and gradients. Similarities are computed in fp32 in every precision.
ERRORS = {"fp32": 1e-5, "tf32": 2e-3, "bf16": 2e-3, "fp16": 2e-3}
# The bound for a term with layers, whose products are rounded to the precision: about twice the error on CPUs.
ERRORS_OF_LAYERS = ERRORS | {"bf16": 4e-2}
# The bound for two computations that sum in a different order. On CPUs, the difference is a few 1e-6.
EQUAL = 1e-4
# The bound for a step in fp16 against fp32, and for the number of skipped steps, each of which halves the loss scale.
SCALED, SKIPPED = 2e-2, 12
# The bound for the losses of a run that resumes on another device: Adam takes full steps on gradients near 0.
RESUMED = 1e-2
TWICE, STOPPED = 20, 7
KERNELS = {
    "flash_attention": "flash",
    "efficient_attention": "efficient",
    "cudnn_attention": "cudnn",
    "attention_math": "math",
}


class DeviceChecks(RandomRuns):
    """The checks of a device."""

    @property
    def checks(self) -> dict[str, Check]:
        """Return the checks by name, in the order of the table."""
        return {
            "loss terms": lambda: map(self.terms, ERRORS),
            "gradient caching": lambda: [self.chunks()],
            "loss scaling": self.loss_scaling,
            "encoder": self.encoder,
            "attention kernel": self.kernels,
            "CPU against GPU": lambda: [self.other_device()],
            "the same steps twice": lambda: [self.repeated()],
            "resuming": lambda: [self.resumed()],
            "resuming on another device": lambda: [self.resumed_elsewhere()],
            "two processes": lambda: [self.processes()],
        }

    def terms(self, precision: str) -> Row:
        """Compare loss and gradients of each term with fp64 on the CPU.

        Args:
            precision: a key of `ERRORS`, such as "bf16".
        """
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
        """Return the object that measures the errors of terms."""
        return TermErrors(self.work / "terms")

    def chunks(self) -> Row:
        """Compare a step that encodes chunks with one that encodes the batch."""
        whole, parts = (self.train_small(Parts(chunk=chunk)) for chunk in (0, 5))
        return within(
            "gradient caching against one pass", _difference(parts, whole), EQUAL, "chunks of 5 rows"
        )

    def loss_scaling(self) -> Iterator[Row]:
        """Compare an fp16 step with fp32, and count the skipped steps.

        Loss scaling skips the first steps of a training, until the scale is small enough.
        """
        gradient, skips = "a step in fp16 with loss scaling against fp32", f"{TWICE} steps in fp16: skipped"
        if not self.on_gpu:
            why = "fp16 is trained on GPUs alone: it needs --device cuda"
            yield skipped(gradient, f"≤ {SCALED:.3g}", why)
            yield skipped(skips, f"≤ {SKIPPED}", why)
            return
        # With this scale, the first step does not overflow.
        half = self.small_trainer(Parts(), precision="fp16")
        half.step_gradients.scaler = torch.amp.GradScaler(self.device.type, init_scale=SCALE)
        half.run()
        yield within(gradient, _difference(half, self.train_small(Parts())), SCALED, f"scale {SCALE:.0f}")
        usual = self.train_small(Parts(), TWICE, 0.1, "fp16")
        note = f"the scale begins at 65,536 and ends at {usual.scaler.get_scale():,.0f}"
        yield within(skips, usual.guard.skipped, SKIPPED, note)

    def encoder(self) -> Iterator[Row]:
        """Compare our packed encoder with the padded encoder of `transformers`.

        Both training and evaluation mode are compared.
        """
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
        ours = self.open(SMALL)
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
        """Yield the attention kernels that torch uses, with a note if not flash.

        Batches with rows of one length and of several lengths are tested.
        """
        even, uneven = self.tokens([LENGTH] * 8), self.tokens([LENGTH, 9] * 4)
        model = self.open(SMALL)
        for training, precision in ((True, self.precision), (False, "fp32")):
            batches = [batch.to(self.device) for batch in (even, uneven)]
            chosen = [_kernel(model.train(training), batch, precision) for batch in batches]
            what = f"attention kernel {'in training' if training else 'at test'}, {precision}"
            note = self._reason(training, precision, chosen)
            verdict: Verdict = "outside" if "math" in chosen else "ok"
            yield Row(what, "not math", "/".join(dict.fromkeys(chosen)), verdict, note, {"kernels": chosen})

    def _reason(self, training: bool, precision: str, chosen: list[str]) -> str:
        """Return why torch did not use the flash kernel, or "".

        Args:
            training: whether the model was in training mode.
            precision: the precision of the products.
            chosen: list of the kernels for rows of one length and of several lengths.
        """
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

    def other_device(self) -> Row:
        """Compare a step on the GPU with the same step on the CPU."""
        what = "a step on the CPU against the GPU, fp32"
        if not self.on_gpu:
            return skipped(what, f"≤ {EQUAL:.3g}", "it needs --device cuda")
        return within(what, _difference(self.train_small(Parts()), self.trained_on_cpu), EQUAL)

    @cached_property
    def trained_on_cpu(self) -> RecordingTrainer:
        """Return the trainer of the small run on the CPU, after the last step."""
        return DeviceChecks(self.work / "cpu", torch.device("cpu")).train_small(Parts())

    def resumed(self) -> Row:
        """Resume a run after SIGTERM, and compare it with an uninterrupted run.

        The weights and losses should be equal.
        """
        with deterministic(self.on_gpu):
            whole = self.train_small(Parts(), TWICE, 0.1, self.precision)
            with self.interrupted_run(0.1, self.precision):
                rest = self.train_small(Parts(), TWICE, 0.1, self.precision)
        differing = _count_differing(rest, whole) + int(rest.losses != whole.losses[STOPPED:])
        what = f"SIGTERM after {STOPPED} of {TWICE} steps, then resumed: tensors that differ"
        return within(what, differing, 0, self.precision)

    def resumed_elsewhere(self) -> Row:
        """Resume a GPU run on the CPU.

        The state contains the random generator of a GPU, which is then not available.
        """
        what = f"SIGTERM on a GPU after {STOPPED} of {TWICE} steps, then resumed without one: losses"
        if not self.on_gpu:
            return skipped(what, f"≤ {RESUMED:.3g}", "it needs --device cuda")
        whole = self.train_small(Parts(), TWICE)
        with self.interrupted_run(0.0, "fp32"):
            on_cpu = replace(self, device=torch.device("cpu"))
            losses = on_cpu.train_small(Parts(), TWICE).losses
        if len(losses) != TWICE - STOPPED:
            return Row(what, f"{TWICE - STOPPED} steps", f"{len(losses)} steps", "outside")
        pair = (torch.tensor(each, dtype=torch.float64) for each in (losses, whole.losses[STOPPED:]))
        return within(what, relative_error(*pair), RESUMED, "fp32")

    @contextmanager
    def interrupted_run(self, dropout: float, precision: str) -> Iterator[None]:
        """Train until SIGTERM, and keep the saved state during the block."""
        trainer = self.small_trainer(Parts(), TWICE, dropout, precision)
        trainer.on_step = _send_sigterm
        try:
            with suppress(KeyboardInterrupt):
                trainer.run()
            yield
        finally:
            trainer.state.remove()

    def repeated(self) -> Row:
        """Run the same steps twice with dropout, and compare the bits."""
        with deterministic(self.on_gpu):
            one, other = (self.train_small(Parts(), TWICE, 0.1, self.precision) for _ in range(2))
        differing = _count_differing(one, other)
        differing += sum(left != right for left, right in zip(one.losses, other.losses, strict=True))
        note = f"{self.precision}{', by deterministic kernels of torch' if self.on_gpu else ''}"
        return within(f"{TWICE} steps twice: tensors that differ", differing, 0, note)

    def processes(self) -> Row:
        """Compare a step of two processes with a step of one process.

        The two processes share their hard negatives.
        """
        device = self.device.type
        several = self.on_gpu and torch.cuda.device_count() > 1
        how = "nccl, a GPU each" if several else f"gloo, {'one GPU' if self.on_gpu else 'the CPU'} for both"
        how = f"each loss sees the hard negatives of both; {how}"
        what = "two processes against one"
        whole, run = self.train_small(Parts()), self.small_run()
        job = self.job(run, self.texts_of(run))
        document = {
            "run": run.plain(), "run_id": run.run_id, "init": str(job.init), "tokenizer": str(job.tokenizer),
            "stores": [str(store) for store in job.stores],
        }  # fmt: skip
        from job_files import write_job  # a module of the tests; `record` adds their folder to the path

        weights = self.work / "other" / "last" / "model.safetensors"
        words = write_job(self.work, "train", document, [weights], self.work)
        words += [f"--threads={torch.get_num_threads()}", f"--device={device}"]
        with start_processes(2, words) as processes:
            parted = self.train_small(Parts(processes))
        return within(what, _difference(parted, whole), EQUAL, how)


def refusal(backend: SDPBackend, values: Tensor, mask: Tensor | None, dropout: float) -> str:
    """Return why an attention backend of torch refuses some inputs, or "".

    Args:
        backend: the backend.
        values: the tensor to use as query, key and value, (rows, heads, length, width).
        mask: the attention mask, or None.
        dropout: the dropout rate.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with sdpa_kernel(backend):
                torch.nn.functional.scaled_dot_product_attention(
                    values, values, values, attn_mask=mask, dropout_p=dropout
                )
        except RuntimeError as error:
            texts = [str(each.message) for each in caught] or [str(error)]
            return " ".join(texts[-1].split("(Triggered")[0].split())
    return ""


def _kernel(model: Backbone, batch: TokenBatch, precision: str) -> str:
    """Return the name of torch's attention kernel that an encoder uses.

    It is "packed" if the encoder uses its own attention.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise the profiler logs a line to stderr
    with (
        torch.profiler.profile() as profile,
        torch.set_grad_enabled(model.training),
        autocast_to(precision, batch.tokens.device),
    ):
        model(batch, ALL_TOKENS)
    called = " ".join(event.key for event in profile.key_averages())
    return next((name for key, name in KERNELS.items() if f"scaled_dot_product_{key}" in called), "packed")


def _difference(found: RecordingTrainer, whole: RecordingTrainer) -> float:
    """Return the relative difference of loss or gradients in the first step.

    The larger of both is returned. Later steps are less informative, because Adam takes full steps on gradients that
    are 0 except for rounding.
    """
    losses = (torch.tensor(each.losses[:1], dtype=torch.float64) for each in (found, whole))
    return max(relative_error(*losses), relative_error(found.gradients, whole.gradients))


def _send_sigterm(entry: dict[str, Any]) -> None:
    if entry["step"] == STOPPED:
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def deterministic(on_gpu: bool) -> Iterator[None]:
    """Use deterministic kernels on a GPU within the block.

    Other kernels are faster and also correct, but they sum in a random order.
    """
    torch.use_deterministic_algorithms(on_gpu, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.use_deterministic_algorithms(False)


def _count_differing(one: RecordingTrainer, other: RecordingTrainer) -> int:
    """Return the number of parameters that differ between two runs."""
    pairs = zip(one.model.parameters(), other.model.parameters(), strict=True)
    return sum(not torch.equal(*pair) for pair in pairs)
