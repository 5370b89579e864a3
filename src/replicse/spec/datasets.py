"""The meaning of numbers in tables.

Contains dataset sizes, parts of averages, bases of percentages, and equal metric paths.
"""

from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from replicse.checked import Checked, Count, Positive, Text, checked_yaml
from replicse.errors import nearest
from replicse.registry.suites import groups, is_metric, known_paths


def _path(value: str) -> str:
    if not is_metric(value):
        raise ValueError(f"a metric path of a suite{nearest(value, known_paths())}")
    return value


def _counted(value: str) -> str:
    if not value.startswith("data/"):
        raise ValueError("a metric path below data/")
    return value


def _pattern(value: str) -> str:
    if not matching(value):
        raise ValueError(f"a pattern for metric paths of a suite{nearest(value, known_paths())}")
    return value


@cache
def matching(pattern: str) -> tuple[str, ...]:
    """Return the metric paths for a pattern.

    Args:
        pattern: a string such as "sts/*/all".
    """
    return tuple(path for path in known_paths() if fnmatchcase(path, pattern))


MetricPath = Annotated[Text, AfterValidator(_path)]
CountedPath = Annotated[MetricPath, AfterValidator(_counted)]
PathPattern = Annotated[Text, AfterValidator(_pattern)]


def _several(value: object) -> object:
    """Return a list of patterns if the value is a single pattern."""
    return [value] if isinstance(value, str) else value


class TaskAverage(Checked):
    """The parts of an average, and their number.

    The parts are one or more patterns of metric paths.

    Attributes:
        of: one or more patterns of metric paths.
        parts: the number of parts.
    """

    patterns: Annotated[
        tuple[PathPattern, ...],
        BeforeValidator(_several, json_schema_input_type=PathPattern | tuple[PathPattern, ...]),
        Field(alias="of", min_length=1),
    ]
    parts: Count

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Return the metric paths, sorted."""
        paths: set[str] = set()
        for pattern in self.patterns:
            paths.update(matching(pattern))
        return tuple(sorted(paths))

    @model_validator(mode="after")
    def _has_its_parts(self) -> Self:
        count = len(self.paths)
        if count != self.parts:
            raise ValueError(f"{count} parts, the number of paths that match {' and '.join(self.patterns)}")
        return self


class ShareOf(Checked):
    """The base of a percentage: a number of items, and their name.

    Attributes:
        items: the number of items that are 100%.
        what: the name of the items, such as `sentences`.
    """

    items: Count
    what: Text


class Datasets(Checked):
    """The content of datasets.yaml.

    `sizes` are dataset sizes in rows, by file if a dataset has several files. `tokens` is the approximate number of
    tokens of a suite of long texts, in total or by dataset. `averages` are the parts of averages, `same` groups of
    metric paths with the same number, `percentages` the possible bases of percentages.

    Attributes:
        sizes: the number of rows of each dataset, by file if it has several.
        tokens: the approximate number of tokens of suites of long texts, in total or by dataset.
        averages: the parts of each average over tasks.
        same: groups of metric paths with the same number.
        percentages: the numbers of rows that a percentage may be based on.
    """

    sizes: dict[CountedPath, Count | Annotated[dict[Text, Count], Field(min_length=1)]]
    tokens: dict[Text, Positive | Annotated[dict[Text, Positive], Field(min_length=1)]] = {}
    averages: dict[MetricPath, TaskAverage]
    same: tuple[Annotated[tuple[MetricPath, ...], Field(min_length=2)], ...]
    percentages: dict[PathPattern, Annotated[tuple[ShareOf, ...], Field(min_length=1)]]

    def parts(self, path: str) -> dict[str, int]:
        """Return the sizes of a dataset.

        Args:
            path: the metric path below `data/`.

        Returns:
            A dict from files to rows; the key is "" if the dataset has only one file. It is empty for unknown paths.
        """
        size = self.sizes.get(path, {})
        return {"": size} if isinstance(size, int) else size

    @cached_property
    def sentences(self) -> dict[str, int]:
        """Return the number of encoded sentences of each group of suites.

        The number is 0 if the suites do not define it.
        """

        counts = {}
        for name, suites in groups().items():
            # Suites of a group share the sentences that they encode equally often.
            encoded = set(chain.from_iterable(suite.encodes.items() for suite in suites))
            counts[name] = sum(times * self.count_rows(pattern) for pattern, times in encoded)
        return counts

    def count_rows(self, pattern: str) -> int:
        """Return the number of rows of all datasets for a pattern.

        Args:
            pattern: metric paths with `*`, such as `data/sts/*/test`.
        """
        paths = [path for path in self.sizes if fnmatchcase(path, pattern)]
        return sum(sum(self.parts(path).values()) for path in paths)

    def readings(self, path: str) -> tuple[ShareOf, ...]:
        """Return the possible bases of a percentage at a path.

        Args:
            path: the metric path.

        Returns:
            The bases; empty if the path is not a percentage.
        """
        return next((entry for name, entry in self.percentages.items() if fnmatchcase(path, name)), ())

    def related(self, path: str) -> set[str]:
        """Return the paths related to a path.

        The related paths have the same number, are averages that contain it, or are the other parts of the averages.

        Args:
            path: the metric path.
        """
        groups = [{average, *wanted.paths} for average, wanted in self.averages.items()]
        linked = {path}.union(*(group for group in groups if path in group))
        return {self.one_name(name) for name in linked}

    def one_name(self, path: str) -> str:
        """Return the first of all paths with the same number.

        Args:
            path: the metric path.
        """
        return next((group[0] for group in self.same if path in group), path)


def load_datasets(workflow: Path) -> Datasets:
    """Load datasets.yaml.

    Args:
        workflow: the folder of papers and scales.

    Raises:
        BadInput: if the file is not valid.
    """
    return checked_yaml(workflow / "datasets.yaml", Datasets)
