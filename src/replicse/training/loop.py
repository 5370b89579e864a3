"""The resumable training loop, with selection on a development set."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from replicse.encoder.batch import TokenBatch
from replicse.encoder.folders import check_folder
from replicse.encoder.products import matrix_products
from replicse.errors import BadInput, Failed
from replicse.files import link_equal, write_json
from replicse.objective.kept import load_terms
from replicse.registry.artefacts import METRICS, WEIGHTS
from replicse.runtime.devices import device_for
from replicse.runtime.memory import freed_memory_kept
from replicse.runtime.progress import Progress
from replicse.training.checkpoints import Checkpoints
from replicse.training.data import alternate_sources
from replicse.training.gradients import StepGradients, map_columns
from replicse.training.guards import Guard
from replicse.training.job import TrainJob
from replicse.training.memory import ChunkSize
from replicse.training.model import open_model
from replicse.training.optimiser import count_updated_parameters, group_by_rate, learning_rate_factor
from replicse.training.parts import Parts
from replicse.training.ppmi import set_ppmi_embeddings
from replicse.training.precision import check_precision
from replicse.training.sources import TrainingSource, open_sources
from replicse.training.state import (
    SAVE_EVERY_SECONDS,
    BrokenState,
    RunState,
    StopSignal,
    pause_between_saves,
)

log = logging.getLogger(__name__)

# The interval between updates of the progress line and the heartbeat. Reading a loss stalls a GPU.
TELL_EVERY_SECONDS = {"cpu": 1.0, "cuda": 10.0}
# The number of losses in the history of a run without selection.
LOSSES = 50


@dataclass
class Trainer:
    """A training run, from the first or last saved step to its checkpoints.

    Attributes:
        job: The run and its files.
        data_root: The folder of the evaluation datasets, for selection.
        out: The folder of the results: `best`, `last`, `trajectory` and the metrics.
        state_folder: The folder of the resume state.
        device: The device to train on. Default: the first GPU if there is one.
        machine: The record of this machine from `provenance.computed`. `machines` lists all machines of the
            run.
        save_every_seconds: The interval between saved states in seconds. Default: 120.
        parts: How batches are split. Of several processes, only the first evaluates and writes. Default: not
            split.
        code: The digest of the code on which the run's numbers depend. A state saved by other code is not
            used.
        on_step: Called after each step with a dict of step and losses, as in the history. Default: None.
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
        self._open_model()
        options = spec.optimisation
        self.steps = options.last_step(self.sources[0].data.rows, len(self.sources)) or 0
        # This is also the order in which the norms of their gradients are summed.
        self.parameters = [*self.model.trained_parameters(), *self.objectives.parameters()]
        groups = group_by_rate(self.model, self.objectives.parameters(), options)
        self.optimiser = options.optimiser.made_by()(groups, options.optimiser)
        self.generator = torch.Generator().manual_seed(spec.seed)
        self.step_gradients = StepGradients(
            job=self.job,
            model=self.model,
            parameters=self.parameters,
            optimiser=self.optimiser,
            # Only fp16 needs loss scaling: bf16 has the range of fp32 (methods 1.4).
            scaler=torch.amp.GradScaler(self.device.type, enabled=spec.precision == "fp16"),
            generator=self.generator,
            processes=self.parts.processes,
            device=self.device,
            steps=self.steps,
        )
        self.guard = Guard(self.job.run_id, self.device, self.scaler.is_enabled())
        self.chunk_size = ChunkSize(self.job.run_id, self.model, self.objectives, self.generator, self.device)
        self.checkpoints = Checkpoints(self.job, self.model, self.sources, self.data_root, self.out)
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, Any] | None = None
        self.machines, self.progress = [self.machine], Progress()
        stateful: dict[str, Any] = {"model": self.model, "objective": self.objectives}
        stateful |= {"optimiser": self.optimiser, "scaler": self.scaler}
        self.state = RunState(self.state_folder, stateful, self.generator, self.code, self.device)

    @property
    def scaler(self) -> torch.amp.GradScaler:
        """Return the loss scaler, which is enabled for fp16."""
        return self.step_gradients.scaler

    def _open_model(self) -> None:
        """Set `model`, `sources` and `objectives`, with their initial weights."""
        spec = self.job.spec
        self.model = open_model(spec, self.job.init, self.job.tokenizer)
        if spec.init.fresh and spec.init.fresh.embeddings == "ppmi":
            set_ppmi_embeddings(self.model.backbone, self.job.stores[0], spec.seed)
        self.model.to(self.device)
        self.model.parts, self.first = self.parts, self.parts.processes.rank == 0
        self.sources = open_sources(self.job, self.model)
        self.objectives = nn.ModuleList(source.objective for source in self.sources).to(self.device)
        if spec.init.keep_terms and self.job.init:
            load_terms(self.job.init, [source.objective for source in self.sources])
        # Terms are prepared before, so that networks that they copy from the encoder are trained completely.
        self.model.freeze(spec.freeze)

    def run(self) -> None:
        """Train to the end and write checkpoints and metrics below `out`.

        Raises:
            Failed: If the loss is not finite or a gradient explodes.
            BrokenState: If the saved state cannot be loaded.
            KeyboardInterrupt: If the run was stopped; the state is saved.
        """
        start = time.monotonic()
        with StopSignal() as stop, freed_memory_kept():
            first = self._resume()
            self.parts.processes.check_same_step(first)
            step = self._train(first, start, stop)
        if self.first:
            self._finish(step, time.monotonic() - start, step - first)

    def _train(self, first: int, start: float, stop: StopSignal) -> int:
        """Train from a step to the end and return the last step."""
        step, last_report, saved = first, time.monotonic(), time.monotonic()
        pause = self.save_every_seconds
        if step == 0:
            self._visit(0, loss=None)
        for place, columns, labels in alternate_sources(
            [source.data for source in self.sources], step, self.steps
        ):
            # Selection with patience can end the training early.
            if self._is_settled():
                break
            source = self.sources[place]
            loss, norm = self._update(step, source, columns, labels)
            step += 1
            self._guard_step(step, source, loss, norm)
            self._visit(step, loss)
            if self.on_step:
                self.on_step({"step": step, **self._losses(loss)})
            now = time.monotonic()
            stop.requested = self.parts.processes.any(stop.requested)
            if self.first and (stop.requested or now - saved > pause):
                self._save_state(step, loss)
                saved = time.monotonic()
                pause = pause_between_saves(saved - now, self.save_every_seconds)
            if stop.requested:
                self.parts.processes.any(True)  # wait until the first process has saved the state
                stop.raise_if_requested(step, self.steps)
            if step == self.steps or now - last_report > TELL_EVERY_SECONDS.get(self.device.type, 10.0):
                last_report = now
                self._tell(step, loss, (step - first) / max(now - start, 1e-9))
        return step

    def _guard_step(self, step: int, source: TrainingSource, loss: Tensor, norm: Tensor) -> None:
        """Record the loss of a step and, on a CPU, check it immediately."""
        self.guard.see(step, loss, norm)
        self.guard.see_terms(step, source.objective.named(self.step_gradients.scalars))
        # Reading the loss would stall a GPU.
        if self.device.type == "cpu":
            self.guard.check(step, loss)

    def _save_state(self, step: int, loss: Tensor) -> None:
        self.guard.check(step, loss)
        self.state.save(
            step=step,
            history=self.history,
            best=self.best,
            machines=self.machines,
            skipped=self.guard.skipped,
            chunks=self.chunk_size.changes,
        )

    def _update(
        self, step: int, source: TrainingSource, columns: list[TokenBatch], labels: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Update the weights; return the loss and the norm before clipping."""
        options = self.job.spec.optimisation
        self.model.train()
        if self.job.spec.dropout.schedule != "constant":
            self.model.set_progress(step / self.steps)
        self.model.follow(step, self.steps)
        if labels is not None:
            labels = labels.to(self.device, non_blocking=True)
        compute = matrix_products(self.job.spec.precision)(self.step_gradients.compute)
        columns = map_columns(columns, methodcaller("to", self.device))
        compute_step = partial(compute, step, source, columns, labels)
        gradients = partial(self.chunk_size.compute, step, columns[0].rows, compute_step)
        loss, norm = gradients()
        factor = learning_rate_factor(step, self.steps, options.warmup, options.decay)
        for group in self.optimiser.param_groups:
            group["lr"] = group["rate"] * factor
        closures = [lambda: gradients()[0]] if options.optimiser.closure else []
        self.scaler.step(self.optimiser, *closures)
        self.scaler.update()
        return loss, norm

    def _visit(self, step: int, loss: Tensor | None) -> None:
        """Evaluate and save in the first process if the spec requests it."""
        if not self.first:
            return
        spec = self.job.spec
        if step in spec.trajectory.steps():
            self.checkpoints.save(f"trajectory/step-{step}")
        if loss is None or not self._is_noted(step):
            return
        self.guard.check(step, loss)
        losses = self._losses(loss)
        if not spec.selection.every:
            self.history.append({"step": step, **losses})
            return
        value = self.checkpoints.score()
        if reason := self.checkpoints.collapse():
            raise Failed(
                f"{self.job.run_id}: {reason} at step {step}; change the objective or lower the rate"
            )
        self.history.append({"step": step, "dev": value, **losses})
        log.info("step=%d dev=%s loss=%.4f", step, value, float(loss))
        if value is not None and (self.best is None or spec.selection.prefers(value, self.best["dev"])):
            self.best = {"step": step, "dev": value}
            self.state.save_best(step)

    def _is_noted(self, step: int) -> bool:
        """Return whether a step gets an entry in the history."""
        rule = self.job.spec.selection
        if rule.at_end and step == self.steps:
            return True
        return step % (rule.every or math.ceil(self.steps / LOSSES)) == 0

    def _losses(self, loss: Tensor) -> dict[str, Any]:
        """Return the loss of a step and of each term as floats, as in the history."""
        terms = {name: float(value) for name, value in self.step_gradients.scalars.items()}
        losses: dict[str, Any] = {"loss": float(loss), "terms": terms}
        if self.guard.scaled:
            losses["skipped"] = self.guard.skipped
        return losses

    def _is_settled(self) -> bool:
        """Return whether the last `patience` scores are no better than the best.

        The result is the same in all processes.
        """
        patience = self.job.spec.selection.patience
        if not patience:
            return False
        best_step = self.best["step"] if self.best else 0
        later = [entry for entry in self.history if "dev" in entry and entry["step"] > best_step]
        return self.parts.processes.any(len(later) >= patience)

    def _resume(self) -> int:
        """Load the saved state, if any, and return the number of finished steps."""
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
        self.model.eval()
        self.checkpoints.save("last")
        if self.best is not None:
            self.state.load_best(self.best["step"])
        self.checkpoints.save("best")
        if self.best is None or self.best["step"] == step:
            link_equal(self.out / "last" / WEIGHTS, self.out / "best" / WEIGHTS)
        write_json(self.out / METRICS, self._metrics(step, seconds, done))
        self.state.remove()

    def _metrics(self, step: int, seconds: float, done: int) -> dict[str, Any]:
        """Return the content of the metrics file; `done` counts new steps."""
        spec = self.job.spec
        rate = done * spec.optimisation.rows_per_step / seconds if done else None
        metrics: dict[str, Any] = {
            "steps": step,
            "rows": sum(source.data.rows for source in self.sources),
            "parameters": count_updated_parameters(self.optimiser),
            "skipped": self.guard.skipped,
        }
        if self.chunk_size.changes:
            metrics["out_of_memory"] = self.chunk_size.changes
        return metrics | {
            "history": self.history,
            "best": self.best,
            "checkpoints": [f"trajectory/step-{each}" for each in spec.trajectory.steps() if each <= step],
            "seconds": round(seconds, 3),
            "sentences_per_second": rate and round(rate, 1),
            "device": str(self.device),
            "precision": spec.precision,
            "threads": torch.get_num_threads(),
        }


def train(*arguments: Any, **options: Any) -> Trainer:
    """Train a run, and start it again if the saved state is broken.

    Args:
        *arguments: The arguments of `Trainer`.
        **options: The keyword arguments of `Trainer`.

    Returns:
        The trainer, at the end of the run.
    """
    trainer = Trainer(*arguments, **options)
    try:
        trainer.run()
    except BrokenState as error:
        log.warning("event=begun-again reason=%s", error)
        trainer.state.remove()
        if trainer.parts.processes.count > 1:  # other processes can be at another step
            raise
        trainer = Trainer(*arguments, **options)
        trainer.run()
    return trainer
