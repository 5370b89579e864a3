"""Evaluation sets of your own: a table of scored pairs or of labelled sentences, by the headings of its columns."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from replicse.checked import Checked, Id, Number, Text, UserMessage
from replicse.registry.corpora import TableFile

SET_SPLITS = ("train", "dev", "test")
# What a set of each kind must say, and what it may say beside it.
KINDS = {("first", "second", "score", "range"): "subset", ("text", "label"): "split"}


# What a suite gives in addition to the numbers of sets.
RESERVED = ("failures", "pairs")


def _name(name: str) -> str:
    if name in RESERVED:
        raise UserMessage(f'no set can be named "{name}"; choose another name')
    return name


SetName = Annotated[Id, AfterValidator(_name)]


class EvaluationSet(Checked):
    """A table, and what its headings are: those of pairs with scores, or those of labels.

    Scores lie in `range`, both ends included; `subset` names the parts that are correlated by themselves as well.
    `split` says of labelled sentences which are `train`, `dev` and `test`; without it they are cross-validated.
    """

    format: Literal["table"] = "table"
    file: TableFile
    first: Text | None = None
    second: Text | None = None
    score: Text | None = None
    range: tuple[Number, Number] | None = None
    subset: Text | None = None
    text: Text | None = None
    label: Text | None = None
    split: Text | None = None

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        keys = self.plain().keys() - {"file"}
        if not any(keys - {beside} == set(wanted) for wanted, beside in KINDS.items()):
            raise ValueError(
                "first, second, score and range, perhaps subset; or text and label, perhaps split"
            )
        if self.range and self.range[0] >= self.range[1]:
            raise UserMessage(f"range is {list(self.range)}; expected the lowest score, then the highest")
        return self

    @property
    def has_pairs(self) -> bool:
        """Return whether it holds pairs with scores, not labelled sentences."""
        return self.score is not None

    @property
    def metrics(self) -> str:
        """Return in words what an evaluation on it yields."""
        return (
            "spearman and pearson, each all, mean and wmean"
            if self.has_pairs
            else "accuracy and dev_accuracy"
        )

    def yields(self, metric: str) -> bool:
        """Return whether an evaluation on it yields what some evaluation set has at a path."""
        return metric in ("n", "file", "sha256") or ("/" in metric) == self.has_pairs

    def recipe(self) -> dict[str, object]:
        """Return plain data of it that names its format, as that of a corpus does."""
        return {"format": self.format, **self.plain()}
