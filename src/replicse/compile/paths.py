"""The paths of the files of a study, relative to the working directory."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.registry.artefacts import AUDIT, CONFIG, DATA, JUDGEMENTS, RECORD, TOKENIZER
from replicse.registry.digests import digest
from replicse.registry.runs import Init
from replicse.spec.models import EncoderSource

FROM = ("hub", "revision", "folder", "vectors", "words")  # the keys that identify a released encoder


@dataclass(frozen=True)
class Paths:
    """The paths of a scale.

    A method takes an id and returns a relative path as a string.

    Args:
        scale: the name of the scale.
        kept: the name of a committed study, whose results are next to its report; no run writes there.
        partial: whether they are the paths of the report of an unfinished study, which no rule writes or reads.
        home: the folder of committed studies in the package, with a final slash.
    """

    scale: str
    kept: str = ""
    partial: bool = False
    home: str = ""

    @property
    def results(self) -> str:
        """Return the folder of all results of the scale or committed study."""
        return self.reports if self.kept else f"results/{self._shown}"

    @property
    def reports(self) -> str:
        """Return the folder of the pages of the report."""
        return f"{self.home}reports/{self._shown}"

    @property
    def logs(self) -> str:
        """Return the folder of the logs of all jobs."""
        return f"logs/{self.scale}"

    @property
    def _shown(self) -> str:
        folder = f"{self.scale}/partial" if self.partial else self.scale
        return f"studies/{self.kept}" if self.kept else folder

    @property
    def data(self) -> str:
        """Return the data record: the data root and the files in it."""
        return f"{self.results}/{DATA}"

    @property
    def record(self) -> str:
        """Return the record of the study in the report: scale, seeds, papers."""
        return f"{self.results}/{RECORD}"

    @property
    def config(self) -> str:
        """Return the config of the study as it was started.

        Jobs that load the study read this file.
        """
        return f"{self.results}/{CONFIG}"

    def specification(self, stage: str, job: str) -> str:
        """Return the specification of a job.

        The job is empty if the stage has only one job.
        """
        return "/".join(filter(None, [self.results, "jobs", stage, job])) + ".json"

    def throughput(self, *parts: str) -> str:
        """Return the folder of `replicse benchmark`, or a device's file in it."""
        return "/".join([self.results, "throughput", *parts])

    def judged(self, name: str) -> str:
        """Return a CSV of judgements or values.

        The name is `claims`, `adjudication`, `audit`, or `cells` for the values of all cells.
        """
        return f"{self.results}/{name}.csv"

    @property
    def judgements(self) -> str:
        """Return the JSON of claims, adjudication and audit for the report."""
        return f"{self.results}/{JUDGEMENTS}"

    def tokenizer(self, name: str) -> str:
        """Return the file of a trained tokenizer."""
        return f"{self.results}/tokenizers/{name}/{TOKENIZER}"

    def backbone(self, name: str, *parts: str) -> str:
        """Return the folder of a released encoder, or a file in it."""
        return "/".join([self.results, "backbones", name, *parts])

    def store(self, store_id: str, *parts: str) -> str:
        """Return the folder of a tokenised column, or a file in it."""
        return "/".join([self.results, "stores", store_id, *parts])

    def run(self, run_id: str, *parts: str) -> str:
        """Return the folder of a run or checkpoint, or a file in the folder.

        The checkpoint is the best or the last checkpoint.
        """
        return "/".join([self.results, "runs", run_id, *parts])

    def state(self, run_id: str) -> str:
        """Return the folder of the resume state of a run.

        The folder is not an output of a job.
        """
        return f"{self.results}/state/{run_id}"

    def evaluation(self, encoder_id: str, group: str) -> str:
        """Return an evaluation file of an encoder.

        The group is a group of suites, `trajectory` or `counts`.
        """
        return f"{self.results}/encoders/{encoder_id}/{group}.json"

    def item(self, item: str) -> str:
        """Return the JSON of the result of an item.

        Figures, claims, adjudication and the report read this file.
        """
        return f"{self.results}/items/{item}.json"

    def table(self, item: str) -> str:
        """Return the CSV of the cells of an item."""
        return f"{self.results}/tables/{item}.csv"

    @property
    def figures(self) -> str:
        """Return the folder of all figures."""
        return f"{self.home}figures/{self._shown}"

    def figure(self, item: str, kind: str = "svg") -> str:
        """Return the file of a figure."""
        return f"{self.figures}/{item}.{kind}"

    def report(self, kind: str) -> str:
        """Return a file of the report."""
        return f"{self.reports}/report.{kind}"

    def paper(self, key: str) -> str:
        """Return the HTML page of a paper in the report."""
        return f"{self.reports}/{key}.html"

    @property
    def audit(self) -> str:
        """Return the HTML page of the audit of all papers."""
        return f"{self.reports}/{AUDIT}"

    def page(self, item: str, kind: str = "html") -> str:
        """Return the page of an item, or the table as LaTeX."""
        return f"{self.reports}/{item}.{kind}"

    def printed(self, name: str, kind: str) -> str:
        """Return a separate file of a table of the report, or of the LaTeX macros."""
        return f"{self.reports}/tables/{name}.{kind}"


def drop_partial(scale: str) -> None:
    """Remove the report of an unfinished study after it has finished."""
    partial = Paths(scale, partial=True)
    for folder in (partial.results, partial.figures, Path(partial.report("html")).parent):
        shutil.rmtree(folder, ignore_errors=True)


def tokenizer_id(recipe: Mapping[str, Any]) -> str:
    """Return the id of a trained tokenizer.

    The id is the name and 8 hexadecimal digits of the recipe's hash.
    """
    return f"{recipe['name']}-{digest(recipe, 8)}"


def backbone_id(source: EncoderSource | Init) -> str:
    """Return the id of a released encoder.

    The id is the name and 8 hexadecimal digits of the source's hash.
    """
    name = source.hub or source.folder or getattr(source, "vectors", None) or ""
    recipe = {key: entry for key, entry in source.plain().items() if key in FROM}
    return f"{name.rstrip('/').rsplit('/', 1)[-1]}-{digest(recipe, 8)}"
