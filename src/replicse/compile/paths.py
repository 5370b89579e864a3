"""The paths of the files of a study, relative to the working directory."""

import re
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

    A method gets an id and returns a relative path as a string.

    Args:
        scale: the name of the scale.
        kept: the name of a committed study. The results are next to the report, and no run writes there. Default:
            empty.
        partial: whether the paths are for the report of an unfinished study, which no rule reads or writes. Default:
            False.
        home: the folder of committed studies in the package, with a final slash. Default: empty.
    """

    scale: str
    kept: str = ""
    partial: bool = False
    home: str = ""

    @property
    def results(self) -> str:
        """Return the folder where the scale or committed study stores results."""
        return self.reports if self.kept else f"results/{self._shown}"

    @property
    def reports(self) -> str:
        """Return the folder where the pages of the report are stored."""
        return f"{self.home}reports/{self._shown}"

    @property
    def logs(self) -> str:
        """Return the folder where all jobs write their logs."""
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
        """Return the config of the study at the time when it was started.

        Jobs use this file to load the study.
        """
        return f"{self.results}/{CONFIG}"

    def specification(self, stage: str, job: str) -> str:
        """Return the specification of a job.

        Args:
            stage: the stage.
            job: the id of the job; empty if the stage has a single job.
        """
        return "/".join(filter(None, [self.results, "jobs", stage, job])) + ".json"

    def throughput(self, *parts: str) -> str:
        """Return the folder where `replicse benchmark` writes, or a file in it."""
        return "/".join([self.results, "throughput", *parts])

    def judged(self, name: str) -> str:
        """Return a CSV file of judgements or values.

        Args:
            name: `claims`, `adjudication`, `audit`, or `cells` for the values of all cells.
        """
        return f"{self.results}/{name}.csv"

    @property
    def judgements(self) -> str:
        """Return the JSON file of claims, adjudication and audit for the report."""
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

        Args:
            run_id: the id of the run.
            parts: the checkpoint (`best` or `last`) or a file, or empty.
        """
        return "/".join([self.results, "runs", run_id, *parts])

    def state(self, run_id: str) -> str:
        """Return the folder where the resume state of a run is stored.

        The folder is not an output of a job.
        """
        return f"{self.results}/state/{run_id}"

    def evaluation(self, encoder_id: str, group: str) -> str:
        """Return an evaluation file of an encoder.

        Args:
            encoder_id: the id of the encoder.
            group: a group of suites, `trajectory` or `counts`.
        """
        return f"{self.results}/encoders/{encoder_id}/{group}.json"

    def item(self, item: str) -> str:
        """Return the JSON file of the result of an item.

        Figures, claims, adjudication and the report use this file.
        """
        return f"{self.results}/items/{item}.json"

    def table(self, item: str) -> str:
        """Return the CSV file of the cells of an item."""
        return f"{self.results}/tables/{item}.csv"

    @property
    def figures(self) -> str:
        """Return the folder where all figures are stored."""
        return f"{self.home}figures/{self._shown}"

    def figure(self, item: str, kind: str = "svg") -> str:
        """Return the file of a figure.

        Args:
            item: the item, `paper/item`.
            kind: the format, such as "png". Default: "svg".
        """
        return f"{self.figures}/{item}.{kind}"

    def report(self, kind: str) -> str:
        """Return a file of the report.

        Args:
            kind: `html`, `json`, `md` or `tex`.
        """
        return f"{self.reports}/report.{kind}"

    def paper(self, key: str) -> str:
        """Return the HTML page of a paper in the report."""
        return f"{self.reports}/{key}.html"

    @property
    def audit(self) -> str:
        """Return the HTML page of the audit of all papers."""
        return f"{self.reports}/{AUDIT}"

    def page(self, item: str, kind: str = "html") -> str:
        """Return the page of an item, or the table as LaTeX.

        Args:
            item: the item, `paper/item`.
            kind: `html` or `tex`. Default: "html".
        """
        return f"{self.reports}/{item}.{kind}"

    def printed(self, name: str, kind: str) -> str:
        """Return the file of a table of the report, or of the LaTeX macros.

        Args:
            name: the item, or `macros`.
            kind: the format, such as "tex".
        """
        return f"{self.reports}/tables/{name}.{kind}"


def drop_partial(scale: str) -> None:
    """Delete the report of an unfinished study after the study has finished.

    Args:
        scale: the name of the scale.
    """
    partial = Paths(scale, partial=True)
    for folder in (partial.results, partial.figures, Path(partial.report("html")).parent):
        shutil.rmtree(folder, ignore_errors=True)


def tokenizer_id(recipe: Mapping[str, Any]) -> str:
    """Compute the id of a trained tokenizer.

    Args:
        recipe: a dict with the name, and the corpus or vocabulary.

    Returns:
        The name and 8 hexadecimal digits of the recipe's hash.
    """
    return f"{recipe['name']}-{digest(recipe, 8)}"


def backbone_id(source: EncoderSource | Init) -> str:
    """Compute the id of a released encoder.

    Args:
        source: the hub id, folder or word vectors.

    Returns:
        The name and 8 hexadecimal digits of the source's hash.
    """
    name = source.hub or source.folder or getattr(source, "vectors", None) or ""
    recipe = {key: entry for key, entry in source.plain().items() if key in FROM}
    # The id is part of the names of files and of wildcards of Snakemake.
    last = re.sub(r"[^A-Za-z0-9._-]", "-", name.rstrip("/").rsplit("/", 1)[-1])
    return f"{last}-{digest(recipe, 8)}"
