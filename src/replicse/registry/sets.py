"""Your own evaluation datasets: scored pairs or labelled sentences.

Each is a table with a header.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from replicse.checked import Checked, Id, Number, Text, UserMessage
from replicse.registry.ranges import COUNT, Range
from replicse.registry.table_files import TableFile

SET_SPLITS = ("train", "dev", "test")
# The required keys of each kind of dataset, and the optional keys.
KINDS = {("first", "second", "score", "range"): {"subset", "positive_above"}, ("text", "label"): {"split"}}
GEOMETRY = {"alignment": Range(0, 4), "uniformity": Range(-8, 0), "n_positive": COUNT}
# Names that the results of a suite use for other datasets.
RESERVED = ("failures", "pairs")


def _name(name: str) -> str:
    if name in RESERVED:
        raise UserMessage(f'the name "{name}" is reserved; choose another name for the dataset')
    return name


SetName = Annotated[Id, AfterValidator(_name)]


class EvaluationSet(Checked):
    """A table, and the headings of the columns: pairs with scores, or labels.

    Scores are in `range`, including both ends. `subset` is the heading of subsets with separate correlations.
    `split` is the heading of the split of labelled sentences (`train`, `dev` or `test`); without it they are
    cross-validated.

    Attributes:
        format: `table`.
        file: the file, absolute or relative to the workspace.
        first: the heading of the first sentence of a pair.
        second: the heading of the second sentence.
        score: the heading of the score.
        range: the lowest and the highest possible score.
        subset: the heading of subsets, which are also correlated separately.
        positive_above: pairs with a higher score are positive pairs. If this is set, the alignment of the positive
            pairs and the uniformity of all sentences are also computed. Default: None.
        text: the heading of labelled sentences.
        label: the heading of their labels.
        split: the heading of `train`, `dev` or `test`. Without it, the sentences are cross-validated.
    """

    format: Literal["table"] = "table"
    file: TableFile
    first: Text | None = None
    second: Text | None = None
    score: Text | None = None
    range: tuple[Number, Number] | None = None
    subset: Text | None = None
    positive_above: Number | None = None
    text: Text | None = None
    label: Text | None = None
    split: Text | None = None

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        keys = self.plain().keys() - {"file"}
        if not any(keys - optional == set(required) for required, optional in KINDS.items()):
            raise ValueError(
                "first, second, score and range, optionally subset and positive_above; or text and label, optionally"
                " split"
            )
        if self.range and self.range[0] >= self.range[1]:
            raise UserMessage(f"range is {list(self.range)}; it should be the lowest score, then the highest")
        if (
            self.range
            and self.positive_above is not None
            and not self.range[0] <= self.positive_above < self.range[1]
        ):
            raise UserMessage(
                f"positive_above is {self.positive_above}; it should be in the range, below the highest score"
            )
        return self

    @property
    def has_pairs(self) -> bool:
        """Return whether it has pairs with scores, not labelled sentences."""
        return self.score is not None

    @property
    def metrics(self) -> str:
        """Return the names of the metrics as a string."""
        if self.has_pairs:
            names = "spearman and pearson, each all, mean and wmean"
            return f"{names}; {', '.join(GEOMETRY)}" if self.positive_above is not None else names
        return "accuracy and dev_accuracy"

    def yields(self, metric: str) -> bool:
        """Return whether the evaluation of this kind of dataset has a metric.

        Args:
            metric: The path of the metric below the name of the dataset, such as "spearman/all".
        """
        if metric in GEOMETRY:
            return self.positive_above is not None
        return metric in ("n", "file", "sha256") or ("/" in metric) == self.has_pairs

    def recipe(self) -> dict[str, object]:
        """Return a dict with the format, like the recipe of a corpus."""
        return {"format": self.format, **self.plain()}
