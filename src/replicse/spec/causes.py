"""Load causes: reasons for differences from a reported number.

A cause has the threads that report it, and measured effects.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from replicse.checked import Checked, Id, Number, Text, checked_entries, read_yaml
from replicse.files import read_rows

Kind = Literal["trained", "released", "untrained"]
# Who confirmed the cause in a thread; `suspected`: not confirmed.
Confirmed = Literal["author and reporter", "author", "reporter", "measured here", "suspected"]
Thread = Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+#\d+$", strict=True)]
CAUSES, MEASURED, PAGE = "causes.yaml", "causes-measured.csv", "causes-page.yaml"
MEASURED_FIELDS = ("cause", "variant", "encoder", "kind", "metric", "effect", "low", "high", "n")


def address(thread: str) -> str:
    """Return the web address of a thread.

    Args:
        thread: a string such as "princeton-nlp/SimCSE#24".
    """
    return "https://github.com/" + thread.replace("#", "/issues/")


class Observation(Checked):
    """A report of a thread, with numbers multiplied by 100.

    A report contains the reported number and the obtained numbers, or their differences.
    """

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
        """Return the obtained minus the reported numbers, in points."""
        return self.delta or tuple(got - (self.printed or 0) for got in self.got)


class Measured(Checked):
    """The effect of a variant with the cause, in points.

    By default, the effect is the exact effect on a single encoder. Otherwise, it is a mean over seeds.
    """

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
        """Return the effect and, if known, the interval.

        The format is `-1.20 [-1.50, -0.90]`.
        """
        if self.low is None or self.high is None:
            return f"{self.effect:+.2f}"
        return f"{self.effect:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


class Cause(Checked):
    """A cause: description, symptoms, fix, test, and threads that report it.

    `kinds`, `metrics` (suites) and `models` (parts of a model's name) specify the encoders that can have the cause;
    `facts` are the relevant facts of a user. `threads` is a dict from threads to who confirmed the cause there;
    numbers of threads in which the cause was only suspected are not effects of it. `checks` are variants of an
    evaluation, `protocols` variants of a training that have the cause. By default, the cause can occur in all suites
    and models of these kinds.
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
            raise ValueError(f'reports of threads of the cause, not of "{other}"')
        if "measured here" in self.threads.values() and not (self.checks or self.protocols):
            raise ValueError("checks or protocols next to a thread in which it was measured here")
        return self

    @property
    def deltas(self) -> tuple[tuple[str, float], ...]:
        """Return the differences of confirmed reports: thread, and points."""
        deltas = []
        for report in self.confirmed:
            deltas += [(report.thread, delta) for delta in report.deltas]
        return tuple(deltas)

    @property
    def confirmed(self) -> list[Observation]:
        """Return the reports of threads in which the cause was confirmed."""
        return [report for report in self.reports if self.threads[report.thread] != "suspected"]

    def excluded(self, kind: str | None, metric_path: str, model: str) -> str:
        """Return why an encoder cannot have the cause.

        Args:
            kind: the kind of the encoder, or None if it is not known.
            metric_path: the metric path of the number, or an empty string.
            model: the name of the encoder, or an empty string.

        Returns:
            A clause; an empty string if the encoder can have the cause.
        """
        if kind and kind not in self.kinds:
            return f"the encoder is {kind}"
        suite = metric_path.partition("/")[0]
        if suite and self.metrics and suite not in self.metrics:
            return f"the number is of {suite}"
        if self.models and model.strip() and not any(part in model.lower() for part in self.models):
            return f"the encoder is not {' or '.join(self.models)}"
        return ""


class CausesPage(Checked):
    """The page of causes.

    It has a title, papers that contain the page, paragraphs, and the text above the measured effects.
    """

    title: Text
    papers: tuple[Id, ...]
    text: tuple[Text, ...]
    measured: Text


def load_causes_page(workflow: Path) -> CausesPage:
    """Load the texts of the page of causes.

    Args:
        workflow: the folder of papers and scales.

    Raises:
        BadInput: if the file is not valid.
    """
    return CausesPage.of(read_yaml(workflow / PAGE), str(workflow / PAGE))


def load_causes(workflow: Path) -> tuple[Cause, ...]:
    """Load all causes.

    Args:
        workflow: the folder of papers and scales.

    Raises:
        BadInput: if a cause is not valid; the error names file, cause and key.
    """
    return tuple(checked_entries(workflow / CAUSES, Cause))


def load_measured(workflow: Path) -> tuple[Measured, ...]:
    """Load the measured effects of causes.

    Args:
        workflow: the folder of papers and scales.

    Returns:
        The effects in the order of the file; empty if the file does not exist.

    Raises:
        BadInput: if a row is not valid; the error names the line.
    """
    file = workflow / MEASURED
    if not file.is_file():
        return ()
    effects = []
    for number, row in enumerate(read_rows(file), 2):
        values = {key: text for key, text in row.items() if text}
        effects.append(Measured.of(values, f"{file}:{number}"))
    return tuple(effects)
