"""Where everything of a study lies, relative to the working directory."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.registry.artefacts import AUDIT, CONFIG, DATA, JUDGEMENTS, RECORD, TOKENIZER
from replicse.registry.digests import digest
from replicse.registry.runs import Init
from replicse.spec.models import EncoderSource

FROM = ("hub", "revision", "folder", "vectors", "words")  # what names a released encoder


@dataclass(frozen=True)
class Paths:
    """Paths of one scale; every function takes an id and returns a relative path as text.

    `kept` names a committed study, whose results are next to its report, where no run of a user's own writes. `partial`
    is what is made of a study that failed before its end: no rule makes or reads it, so none can take it for done.
    `home` is where a committed study lies that the package contains.
    """

    scale: str
    kept: str = ""
    partial: bool = False
    home: str = ""

    @property
    def results(self) -> str:
        """Return the folder of all results of the scale, or of the committed study."""
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
        """Return the data record: where the data root is and what lies in it."""
        return f"{self.results}/{DATA}"

    @property
    def record(self) -> str:
        """Return the record of the study that the report prints: scale, seeds, papers."""
        return f"{self.results}/{RECORD}"

    @property
    def config(self) -> str:
        """Return the config of the study as it was started, for jobs that plan it again."""
        return f"{self.results}/{CONFIG}"

    def specification(self, stage: str, job: str) -> str:
        """Return the specification of a job, which may be the only one of its stage."""
        return "/".join(filter(None, [self.results, "jobs", stage, job])) + ".json"

    def throughput(self, *parts: str) -> str:
        """Return the folder of what `replicse benchmark` measured, a file per device, or a file in it."""
        return "/".join([self.results, "throughput", *parts])

    def judged(self, what: str) -> str:
        """Return what is drawn from all tables: `claims`, `adjudication`, `audit`, or the values of all `cells`."""
        return f"{self.results}/{what}.csv"

    @property
    def judgements(self) -> str:
        """Return claims, adjudication and audit as the report reads them."""
        return f"{self.results}/{JUDGEMENTS}"

    def tokenizer(self, name: str) -> str:
        """Return a trained tokenizer's file."""
        return f"{self.results}/tokenizers/{name}/{TOKENIZER}"

    def backbone(self, name: str, *parts: str) -> str:
        """Return the folder of a released encoder, or a file in it."""
        return "/".join([self.results, "backbones", name, *parts])

    def store(self, store_id: str, *parts: str) -> str:
        """Return the folder of a tokenised column, or a file in it."""
        return "/".join([self.results, "stores", store_id, *parts])

    def run(self, run_id: str, *parts: str) -> str:
        """Return the folder of a training run, that of its best or last checkpoint, or a file in it."""
        return "/".join([self.results, "runs", run_id, *parts])

    def state(self, run_id: str) -> str:
        """Return the folder of a run's resume state: never a declared output."""
        return f"{self.results}/state/{run_id}"

    def evaluation(self, encoder_id: str, what: str) -> str:
        """Return a JSON of an encoder: a group of suites, `trajectory`, or `counts`."""
        return f"{self.results}/encoders/{encoder_id}/{what}.json"

    def item(self, item: str) -> str:
        """Return an item's result: all that figures, claims, adjudication and report know of it."""
        return f"{self.results}/items/{item}.json"

    def table(self, item: str) -> str:
        """Return an item's tabulated cells."""
        return f"{self.results}/tables/{item}.csv"

    @property
    def figures(self) -> str:
        """Return the folder of all figures."""
        return f"{self.home}figures/{self._shown}"

    def figure(self, item: str, kind: str = "svg") -> str:
        """Return a figure's file."""
        return f"{self.figures}/{item}.{kind}"

    def report(self, kind: str) -> str:
        """Return a report's file."""
        return f"{self.reports}/report.{kind}"

    def paper(self, key: str) -> str:
        """Return the HTML page of one paper of the report."""
        return f"{self.reports}/{key}.html"

    @property
    def audit(self) -> str:
        """Return the HTML page of the audit of all papers."""
        return f"{self.reports}/{AUDIT}"

    def page(self, item: str, kind: str = "html") -> str:
        """Return the page of one item alone, or its table as LaTeX."""
        return f"{self.reports}/{item}.{kind}"

    def printed(self, name: str, kind: str) -> str:
        """Return a table of the report as a file of its own, or the macros of those in LaTeX."""
        return f"{self.reports}/tables/{name}.{kind}"


def drop_partial(scale: str) -> None:
    """Remove the report of what there was of a study, once all of it is there."""
    partial = Paths(scale, partial=True)
    for folder in (partial.results, partial.figures, Path(partial.report("html")).parent):
        shutil.rmtree(folder, ignore_errors=True)


def tokenizer_id(recipe: Mapping[str, Any]) -> str:
    """Return the name of a trained tokenizer and 8 hexadecimal digits of its recipe."""
    return f"{recipe['name']}-{digest(recipe, 8)}"


def backbone_id(source: EncoderSource | Init) -> str:
    """Return the name of a released encoder and 8 hexadecimal digits of its source."""
    name = source.hub or source.folder or getattr(source, "vectors", None) or ""
    recipe = {key: entry for key, entry in source.plain().items() if key in FROM}
    return f"{name.rstrip('/').rsplit('/', 1)[-1]}-{digest(recipe, 8)}"
