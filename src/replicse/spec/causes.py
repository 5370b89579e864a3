"""Causes as data: why a number may not repeat, with the threads that met them, and what was measured of each."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from replicse.checked import Checked, Id, Number, Text, checked_entries, read_yaml
from replicse.files import read_rows

Kind = Literal["trained", "released", "untrained"]
# Who confirmed the cause in a thread; `suspected`: nobody did.
Confirmed = Literal["author and reporter", "author", "reporter", "measured here", "suspected"]
Thread = Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+#\d+$", strict=True)]
CAUSES, MEASURED, PAGE = "causes.yaml", "causes-measured.csv", "causes-page.yaml"
MEASURED_FIELDS = ("cause", "variant", "encoder", "kind", "metric", "effect", "low", "high", "n")


def address(thread: str) -> str:
    """Return the address of a thread `owner/repository#number`."""
    return "https://github.com/" + thread.replace("#", "/issues/")


class Observation(Checked):
    """What a thread says that somebody got, x 100: numbers next to the printed one, or only the difference to it."""

    thread: Thread
    model: Text
    quantity: Text
    printed: Number | None = None
    got: tuple[Number, ...] = ()
    delta: tuple[Number, ...] = ()

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if bool(self.delta) == bool(self.got) or bool(self.got) != (self.printed is not None):
            raise ValueError("printed and got, or delta")
        return self

    @property
    def deltas(self) -> tuple[float, ...]:
        """Return obtained less printed, in points."""
        return self.delta or tuple(got - (self.printed or 0) for got in self.got)


class Measured(Checked):
    """The effect of one variant that realises a cause, in points: exact for one encoder, else a mean over seeds."""

    cause: Id
    variant: Id
    encoder: Text
    kind: Kind
    metric: Text
    effect: FiniteFloat
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    n: int = 1

    @property
    def text(self) -> str:
        """Return the effect with its interval where it has one, as `-1.20 [-1.50, -0.90]`."""
        interval = "" if self.low is None or self.high is None else f" [{self.low:+.2f}, {self.high:+.2f}]"
        return f"{self.effect:+.2f}{interval}"


class Cause(Checked):
    """One cause: what it is, what people saw, how to fix and to test it, and where it was met.

    `kinds`, `metrics` (suites) and `models` (parts of a model's name) say who can have it; `facts` are what a user may
    say that bears on it. `threads` says of each who confirmed the cause there; numbers of those where it was only
    suspected are no effect of it. `checks` are variants of an evaluation, `protocols` those of a training that realise
    it.
    """

    id: Id
    title: Text
    sentence: Text
    seen: Text
    fix: Text
    test: Text
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)]
    facts: tuple[Id, ...] = ()
    metrics: tuple[Id, ...] = ()
    models: tuple[Text, ...] = ()
    checks: tuple[Id, ...] = ()
    protocols: tuple[Id, ...] = ()
    threads: Annotated[dict[Thread, Confirmed], Field(min_length=1)]
    reports: tuple[Observation, ...] = ()

    @model_validator(mode="after")
    def _reports_are_of_threads(self) -> Self:
        other = next((each.thread for each in self.reports if each.thread not in self.threads), None)
        if other:
            raise ValueError(f'reports of its threads, not of "{other}"')
        if "measured here" in self.threads.values() and not (self.checks or self.protocols):
            raise ValueError("checks or protocols next to a thread in which it was measured here")
        return self

    @property
    def deltas(self) -> tuple[tuple[str, float], ...]:
        """Return thread and difference in points of each number of the confirmed reports."""
        return tuple((report.thread, delta) for report in self.confirmed for delta in report.deltas)

    @property
    def confirmed(self) -> list[Observation]:
        """Return the reports of threads in which the cause was not only suspected."""
        return [report for report in self.reports if self.threads[report.thread] != "suspected"]

    def excluded(self, kind: str | None, metric_path: str, model: str) -> str:
        """Return why an encoder cannot have the cause; blank where it can, or where nothing is said against it."""
        if kind and kind not in self.kinds:
            return f"the encoder is {kind}"
        suite = metric_path.partition("/")[0]
        if suite and self.metrics and suite not in self.metrics:
            return f"the number is of {suite}"
        if self.models and model.strip() and not any(part in model.lower() for part in self.models):
            return f"the encoder is none of {', '.join(self.models)}"
        return ""


class CausesPage(Checked):
    """The page of causes: title, paragraphs, what is above the measured effects, and the papers that have it."""

    title: Text
    papers: tuple[Id, ...]
    text: tuple[Text, ...]
    measured: Text


def load_causes_page(workflow: Path) -> CausesPage:
    """Return what the page of causes says of itself; BadInput names a mistake in it."""
    return CausesPage.of(read_yaml(workflow / PAGE), str(workflow / PAGE))


def load_causes(workflow: Path) -> tuple[Cause, ...]:
    """Return all causes; BadInput names file, cause and key of a mistake."""
    return tuple(checked_entries(workflow / CAUSES, Cause))


def load_measured(workflow: Path) -> tuple[Measured, ...]:
    """Return what was measured of the causes; nothing where there is no such file yet."""
    file = workflow / MEASURED
    rows = read_rows(file) if file.is_file() else []
    filled = ({key: text for key, text in row.items() if text} for row in rows)
    return tuple(Measured.of(row, f"{file}:{number}") for number, row in enumerate(filled, 2))
