"""The training loop: one for every objective, resumable, with selection on a development set."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from replicse.data.store import open_store
from replicse.encoder.batch import TokenBatch
from replicse.encoder.folders import check_folder, record_folder
from replicse.encoder.products import matrix_products
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.task_heads import save_task_heads
from replicse.errors import BadInput, Failed
from replicse.files import link_equal, write_json
from replicse.objective import Step
from replicse.objective.kept import load_terms, save_terms
from replicse.registry.artefacts import METRICS, WEIGHTS
from replicse.registry.encoders import CHECKPOINTS
from replicse.registry.procedures import ScheduleParameters
from replicse.registry.run_options import Freeze
from replicse.runtime.devices import device_for
from replicse.runtime.memory import freed_memory_kept
from replicse.runtime.progress import Progress
from replicse.training.data import in_turn
from replicse.training.guards import Guard
from replicse.training.job import TrainJob
from replicse.training.memory import ChunkSize
from replicse.training.model import open_model
from replicse.training.optimiser import moved, rate_groups
from replicse.training.parts import Parts
from replicse.training.ppmi import ppmi_embeddings
from replicse.training.precision import autocast_to, check_precision
from replicse.training.selection import selection_of
from replicse.training.sources import TrainingSource, sources_of
from replicse.training.state import BrokenState, RunState, StopSignal

log = logging.getLogger(__name__)

SAVE_EVERY_SECONDS = 120.0
# Where that takes more than this share of the time (large encoder, slow disk) it is done less often, a tenth at least.
SAVE_SHARE, SAVE_LEAST = 0.02, 10
# A terminal's line and the heartbeat are renewed so often; to read a loss stalls a GPU.
TELL_EVERY_SECONDS = {"cpu": 1.0, "cuda": 10.0}
LOSSES = 50  # kept in the history of a run without selection


@dataclass
class Trainer:
    """One training run from its first step, or from its last saved state, to its checkpoints on disk.

    `parts` says how batches are split; of several processes the first evaluates and writes.
    `machine` is what `provenance.computed` says of this one; `machines` are all that the run was trained on.
    `code` is the digest of the code that the run's numbers come from: a state that other code saved is no start.
    `on_step` is given what the history would hold of each step.
    """

    job: TrainJob
    data_root: Path
    out: Path
    state_folder: Path
    device: torch.device = field(default_factory=device_for)
    machine: dict[str, Any] = field(default_factory=dict)
    save_every_seconds: float = SAVE_EVERY_SECONDS
    parts: Parts = field(default_factory=Parts)
    code: str = ""
    on_step: Callable[[dict[str, Any]], object] | None = None

    def __post_init__(self) -> None:
        spec = self.job.spec
        torch.manual_seed(spec.seed)
        try:
            check_precision(spec.precision, self.device)
        except BadInput as error:
            raise Failed(f"{self.job.run_id}: {error}") from None
        if self.job.init and spec.init.run:
            check_folder(self.job.init, spec.init.run)
        self.model = open_model(spec, self.job.init, self.job.tokenizer)
        if spec.init.fresh and spec.init.fresh.embeddings == "ppmi":
            self._set_embeddings()
        self.model.to(self.device)
        self.model.parts, self.first = self.parts, self.parts.processes.rank == 0
        self.sources = sources_of(self.job, self.model)
        self.objectives = nn.ModuleList(source.objective for source in self.sources).to(self.device)
        if spec.init.keep_terms and self.job.init:
            load_terms(self.job.init, [source.objective for source in self.sources])
        # Networks that terms have copied from the encoder are trained whole.
        self.model.freeze(spec.freeze)
        options, count = spec.optimisation, len(self.sources)
        self.steps = options.last_step(self.sources[0].data.rows, count) or 0
        # In the order in which the norms of their gradients are summed.
        self.parameters = [*self.model.trained(), *self.objectives.parameters()]
        groups = rate_groups(self.model, self.objectives.parameters(), options)
        self.optimiser = options.optimiser.made_by()(groups, options.optimiser)
        self.generator = torch.Generator().manual_seed(spec.seed)
        # Only fp16 needs loss scaling: bf16 has the range of fp32 (methods 1.4).
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=spec.precision == "fp16")
        self.guard = Guard(self.job.run_id, self.device, self.scaler.is_enabled())
        self.chunk_size = ChunkSize(self.job.run_id, self.model, self.objectives, self.generator, self.device)
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, Any] | None = None
        self.machines, self.progress = [self.machine], Progress()
        parts: dict[str, Any] = {"model": self.model, "objective": self.objectives}
        parts |= {"optimiser": self.optimiser, "scaler": self.scaler}
        self.state = RunState(self.state_folder, parts, self.generator, self.code, self.device)
        self.selection: Callable[[SentenceEncoder], float | None] | None = None
        self.scalars: dict[str, Tensor] = {}

    def _set_embeddings(self) -> None:
        """Start token embeddings from co-occurrence counts of the first view, where a token occurs in it."""
        backbone, seed = self.model.backbone, self.job.spec.seed
        special, table = set(astuple(backbone.special)), backbone.input_embeddings
        rows, width = table.shape
        ppmi = torch.from_numpy(ppmi_embeddings(open_store(self.job.stores[0]), rows, width, special, seed))
        with torch.no_grad():
            table.copy_(torch.where(ppmi.isnan(), table, ppmi))

    def run(self) -> None:
        """Train to the end and write best, last, metrics and trajectory below `out`."""
        start, step = time.monotonic(), 0
        with StopSignal() as stop, freed_memory_kept():
            step = self._resume()
            self.parts.processes.agree(step)
            first, last_report, saved = step, time.monotonic(), time.monotonic()
            pause = self.save_every_seconds
            if step == 0:
                self._visit(0, loss=None)
            batches = in_turn([source.data for source in self.sources], step, self.steps)
            for place, columns, labels in batches:
                if self._is_settled():
                    break
                loss, norm = self._update(step, self.sources[place], columns, labels)
                step += 1
                self.guard.see(step, loss, norm)
                self.guard.see_terms(step, self.sources[place].objective.named(self.scalars))
                if self.device.type == "cpu":
                    self.guard.check(step, loss)
                self._visit(step, loss)
                if self.on_step:
                    self.on_step({"step": step, **self._losses(loss)})
                now = time.monotonic()
                stop.asked = self.parts.processes.any(stop.asked)
                if self.first and (stop.asked or now - saved > pause):
                    self.guard.check(step, loss)
                    self.state.save(
                        step=step,
                        history=self.history,
                        best=self.best,
                        machines=self.machines,
                        skipped=self.guard.skipped,
                        chunks=self.chunk_size.changes,
                    )
                    saved = time.monotonic()
                    pause = pause_between_saves(saved - now, self.save_every_seconds)
                if stop.asked:
                    self.parts.processes.any(True)  # no one leaves before the first has saved
                    stop.leave_if_asked(step, self.steps)
                if step == self.steps or now - last_report > TELL_EVERY_SECONDS.get(self.device.type, 10.0):
                    last_report = now
                    self._tell(step, loss, (step - first) / max(now - start, 1e-9))
        if self.first:
            self._finish(step, time.monotonic() - start, step - first)

    def _update(
        self, step: int, source: TrainingSource, columns: list[TokenBatch], labels: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Change the weights by one batch; return its loss and the norm of its gradients before they are clipped."""
        options = self.job.spec.optimisation
        self.model.train()
        if self.job.spec.dropout.schedule != "constant":
            self.model.set_progress(step / self.steps)
        self.model.follow(step, self.steps)
        labels = None if labels is None else labels.to(self.device, non_blocking=True)
        gradients = matrix_products(self.job.spec.precision)(self._gradients)
        gradients = partial(gradients, step, source, self._moved(columns), labels)
        gradients = partial(self.chunk_size.compute, step, columns[0].rows, gradients)
        loss, norm = gradients()
        factor = schedule(step, self.steps, options.warmup, options.decay)
        for group in self.optimiser.param_groups:
            group["lr"] = group["rate"] * factor
        closures = [lambda: gradients()[0]] if options.optimiser.closure else []
        self.scaler.step(self.optimiser, *closures)
        self.scaler.update()
        return loss, norm

    def _gradients(
        self, step: int, source: TrainingSource, columns: list[TokenBatch], labels: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Compute the clipped gradients of a step; return its loss and their norm before they are clipped.

        Both are those of the mean over the batches that the step accumulates.
        """
        size, rows = self.job.spec.optimisation.batch_size, columns[0].rows
        losses, scalars = [], list[dict[str, Tensor]]()
        self.optimiser.zero_grad()
        for start in range(0, rows, size):
            # A column that is read twice stays one object.
            batch = {id(column): column.slice(start, start + size) for column in columns}
            own_labels = None if labels is None else labels[start : start + size]
            loss = self._loss(step, source, [batch[id(column)] for column in columns], own_labels)
            self.scaler.scale(loss / math.ceil(rows / size)).backward()
            losses.append(loss.detach())
            scalars.append(self.scalars)
        for name in self.scalars:
            values = [each[name].double() for each in scalars if name in each]
            self.scalars[name] = torch.stack(values).mean()
        self.parts.processes.mean_gradients(self.parameters)
        self.scaler.unscale_(self.optimiser)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.job.spec.optimisation.clip)
        return torch.stack(losses).mean(), norm

    def _loss(
        self, step: int, source: TrainingSource, columns: list[TokenBatch], labels: Tensor | None
    ) -> Tensor:
        """Return the loss of a batch, and keep those of its terms; BadInput if it depends on no trained weight."""
        edited = source.objective.edit(columns, self.model, self.generator)
        with autocast_to(self.job.spec.precision, self.device):
            pooled: dict[int, Tensor] = {}
            vectors = self.model.vectors(edited, source.poolings, source.repeated, source.encoded, pooled)
            parts = vectors, edited, self.model, self.generator, labels, source.poolings
            seen = Step(*parts, step, self.steps, pooled)
            loss = source.objective(seen)
        self.scalars = {name: value.detach() for name, value in seen.scalars.items()}
        if not loss.requires_grad:
            problem = "no weight is left to train; take something out of freeze"
            if self.job.spec.freeze == Freeze():
                terms = " and ".join(source.objective.named(self.scalars))
                problem = f"the loss of {terms} depends on no trained weight; compute it from step.vectors_of"
            raise BadInput(f"{self.job.run_id}: {problem}")
        return loss

    def _moved(self, columns: list[TokenBatch]) -> list[TokenBatch]:
        moved = {id(column): column.to(self.device) for column in columns}
        return [moved[id(column)] for column in columns]

    def _visit(self, step: int, loss: Tensor | None) -> None:
        """Measure and keep what the spec asks for after `step` updates; the first of several processes does."""
        if not self.first:
            return
        spec = self.job.spec
        if step in spec.trajectory.steps():
            self._save_encoder(f"trajectory/step-{step}")
        every = spec.selection.every
        at_end = spec.selection.at_end and step == self.steps
        if loss is None or (step % (every or math.ceil(self.steps / LOSSES)) and not at_end):
            return
        self.guard.check(step, loss)
        losses = self._losses(loss)
        if not every:
            self.history.append({"step": step, **losses})
            return
        value = self._dev_score()
        if reason := self.vectors.collapsed():
            raise Failed(
                f"{self.job.run_id}: {reason} at step {step}; change the objective or lower the rate"
            )
        self.history.append({"step": step, "dev": value, **losses})
        log.info("step=%d dev=%s loss=%.4f", step, value, float(loss))
        if value is not None and (self.best is None or spec.selection.prefers(value, self.best["dev"])):
            self.best = {"step": step, "dev": value}
            self.state.save_best(step)

    def _losses(self, loss: Tensor) -> dict[str, Any]:
        losses = {"loss": float(loss), "terms": {name: float(each) for name, each in self.scalars.items()}}
        return losses | ({"skipped": self.guard.skipped} if self.guard.scaled else {})

    def _is_settled(self) -> bool:
        """Return whether the last readings, as many as the patience, are no better than the best; all processes ask."""
        patience = self.job.spec.selection.patience
        if not patience:
            return False
        since = [
            each
            for each in self.history
            if "dev" in each and each["step"] > (self.best or {"step": 0})["step"]
        ]
        return self.parts.processes.any(len(since) >= patience)

    def _save_encoder(self, name: str) -> None:
        # A head that no objective trained is noise: the next run of a chain must draw its own.
        encoded = any(source.encoded for source in self.sources)
        trained = encoded and self.job.spec.trains_head
        self.model.backbone.save(self.out / name, self.model.head if trained else None)
        save_task_heads(self.out / name, self.model.task_heads)
        if name in CHECKPOINTS:
            save_terms(self.out / name, [source.objective for source in self.sources])
        record_folder(self.out / name, self.job.run_id, name)

    def _dev_score(self) -> float | None:
        if self.selection is None:
            spec = self.job.spec
            model = self.model
            self.selection = selection_of(self.data_root, spec.selection, dict(model.task_heads.items()))
            pooling = spec.pooling.selection or spec.pooling.test
            self.vectors = SentenceEncoder(model.backbone, model.head, self.job.tokenizer, pooling)
        return self.selection(self.vectors)

    def _resume(self) -> int:
        progress = self.state.load()
        if progress is None:
            return 0
        self.history, self.best = progress["history"], progress["best"]
        self.guard.skipped, self.chunk_size.changes = progress["skipped"], progress["chunks"]
        before = progress["machines"]
        self.machines = before if self.machine in before else [*before, self.machine]
        log.info("resumed step=%d of=%d", progress["step"], self.steps)
        return progress["step"]

    def _tell(self, step: int, loss: Tensor, per_second: float) -> None:
        self.guard.check(step, loss)
        rate = per_second * self.job.spec.optimisation.rows_per_step
        left = (self.steps - step) / per_second
        self.progress.tell(step=step, steps=self.steps, loss=float(loss), rate=rate, left=left)

    def _finish(self, step: int, seconds: float, done: int) -> None:
        spec = self.job.spec
        self.model.eval()
        self._save_encoder("last")
        if self.best is not None:
            self.state.load_best(self.best["step"])
        self._save_encoder("best")
        if self.best is None or self.best["step"] == step:
            link_equal(self.out / "last" / WEIGHTS, self.out / "best" / WEIGHTS)
        kept = [f"trajectory/step-{each}" for each in spec.trajectory.steps() if each <= step]
        rate = done * spec.optimisation.rows_per_step / seconds if done else None
        write_json(
            self.out / METRICS,
            {
                "steps": step,
                "rows": sum(source.data.rows for source in self.sources),
                "parameters": moved(self.optimiser),
                "skipped": self.guard.skipped,
                **({"out_of_memory": self.chunk_size.changes} if self.chunk_size.changes else {}),
                "history": self.history,
                "best": self.best,
                "checkpoints": kept,
                "seconds": round(seconds, 3),
                "sentences_per_second": rate and round(rate, 1),
                "device": str(self.device),
                "precision": spec.precision,
                "threads": torch.get_num_threads(),
            },
        )
        self.state.remove()


def train(*arguments: Any, **options: Any) -> Trainer:
    """Return the trainer of these arguments at the end of its run, started again where its saved state is broken."""
    trainer = Trainer(*arguments, **options)
    try:
        trainer.run()
    except BrokenState as error:
        log.warning("event=begun-again reason=%s", error)
        trainer.state.remove()
        if trainer.parts.processes.count > 1:  # the others may be elsewhere
            raise
        trainer = Trainer(*arguments, **options)
        trainer.run()
    return trainer


def pause_between_saves(spent: float, every: float = SAVE_EVERY_SECONDS) -> float:
    """Return how many seconds pass until the next state is saved: `every`, or more where saving is slow."""
    return max(every, min(spent / SAVE_SHARE, SAVE_LEAST * every))


def schedule(step: int, steps: int, warmup: float, decay: ScheduleParameters) -> float:
    """Return the learning-rate factor of a 0-based step: linear warm-up share, then a schedule of the steps left."""
    rising = math.ceil(warmup * steps)
    return step / rising if step < rising else decay.factor(step - rising, max(1, steps - rising))
