"""The encoders that a run saves, and their scores on the development set."""

from collections.abc import Callable, Sequence
from pathlib import Path

from replicse.encoder.folders import record_folder
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.task_heads import save_task_heads
from replicse.objective.kept import save_terms
from replicse.registry.encoders import CHECKPOINTS
from replicse.training.job import TrainJob
from replicse.training.model import SentenceModel
from replicse.training.selection import make_dev_score
from replicse.training.sources import TrainingSource


class Checkpoints:
    """The saved encoders of a run and their scores on the development set.

    Args:
        job: The training job.
        model: The model in training.
        sources: The sources of the run, with their objectives.
        data_root: The folder of the evaluation datasets.
        out: The folder in which encoders are saved.
    """

    def __init__(
        self,
        job: TrainJob,
        model: SentenceModel,
        sources: Sequence[TrainingSource],
        data_root: Path,
        out: Path,
    ) -> None:
        self.job, self.model, self.sources = job, model, sources
        self.data_root, self.out = data_root, out
        self._encoder: SentenceEncoder | None = None
        self._score: Callable[[SentenceEncoder], float | None] | None = None

    def save(self, name: str) -> None:
        """Save the encoder with head and task heads.

        `best` and `last` contain the weights of the terms too.

        Args:
            name: The name of the checkpoint, which is the subfolder.
        """
        folder = self.out / name
        # A head that no objective trained is noise: the next run of a chain must initialise a new one.
        is_encoded = any(source.encoded for source in self.sources)
        is_trained = is_encoded and self.job.spec.trains_head
        self.model.backbone.save(folder, self.model.head if is_trained else None)
        save_task_heads(folder, self.model.task_heads)
        if name in CHECKPOINTS:
            save_terms(folder, [source.objective for source in self.sources])
        record_folder(folder, self.job.run_id, name)

    def score(self) -> float | None:
        """Return the development score of the encoder, or None if undefined."""
        spec, model = self.job.spec, self.model
        if self._score is None or self._encoder is None:
            heads = dict(model.task_heads.items())
            self._score = make_dev_score(self.data_root, spec.selection, heads)
            pooling = spec.pooling.selection or spec.pooling.test
            self._encoder = SentenceEncoder(model.backbone, model.head, self.job.tokenizer, pooling)
        return self._score(self._encoder)

    def collapse(self) -> str:
        """Return an error message if vectors have collapsed.

        Returns:
            A message about the vectors that `score` computed last, empty if they have not collapsed.
        """
        return "" if self._encoder is None else self._encoder.describe_collapse()
