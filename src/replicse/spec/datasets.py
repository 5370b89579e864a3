"""What the numbers of a table are numbers of: sizes, what averages and percentages are made of, paths to one number."""

from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from replicse.checked import Checked, Count, Positive, Text, checked_yaml
from replicse.errors import nearest
from replicse.registry.suites import groups, is_metric, known_paths


def _path(value: str) -> str:
    if not is_metric(value):
        raise ValueError(f"a metric path that some suite yields{nearest(value, known_paths())}")
    return value


def _counted(value: str) -> str:
    if not value.startswith("data/"):
        raise ValueError("a metric path below data/, which is counted on the data")
    return value


def _pattern(value: str) -> str:
    if not matching(value):
        raise ValueError(f"a pattern of metric paths that some suite yields{nearest(value, known_paths())}")
    return value


@cache
def matching(pattern: str) -> tuple[str, ...]:
    """Return the metric paths that a pattern stands for."""
    return tuple(path for path in known_paths() if fnmatchcase(path, pattern))


MetricPath = Annotated[Text, AfterValidator(_path)]
CountedPath = Annotated[MetricPath, AfterValidator(_counted)]
PathPattern = Annotated[Text, AfterValidator(_pattern)]


def _several(value: object) -> object:
    """Return a single pattern as a list of one."""
    return [value] if isinstance(value, str) else value


class TaskAverage(Checked):
    """The paths that an average is the mean of, by one pattern or several, and how many they are."""

    patterns: Annotated[
        tuple[PathPattern, ...],
        BeforeValidator(_several, json_schema_input_type=PathPattern | tuple[PathPattern, ...]),
        Field(alias="of", min_length=1),
    ]
    parts: Count

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Return the paths, sorted."""
        return tuple(sorted({path for pattern in self.patterns for path in matching(pattern)}))

    @model_validator(mode="after")
    def _has_its_parts(self) -> Self:
        count = len(self.paths)
        if count != self.parts:
            raise ValueError(f"{count} parts, as many paths as {' and '.join(self.patterns)} stands for")
        return self


class ShareOf(Checked):
    """Of how many items a percentage is a share, and what they are."""

    items: Count
    what: Text


class Datasets(Checked):
    """The document of datasets.yaml; sizes of a set of several files are given by file.

    `tokens` is about how many tokens a suite of long texts encodes, of all its sets or of each by its name.
    """

    sizes: dict[CountedPath, Count | Annotated[dict[Text, Count], Field(min_length=1)]]
    tokens: dict[Text, Positive | Annotated[dict[Text, Positive], Field(min_length=1)]] = {}
    averages: dict[MetricPath, TaskAverage]
    same: tuple[Annotated[tuple[MetricPath, ...], Field(min_length=2)], ...]
    percentages: dict[PathPattern, Annotated[tuple[ShareOf, ...], Field(min_length=1)]]

    def parts(self, path: str) -> dict[str, int]:
        """Return the sizes of the files of a set, the complete set under "" where it is a single one."""
        size = self.sizes.get(path, {})
        return {"": size} if isinstance(size, int) else size

    @cached_property
    def sentences(self) -> dict[str, int]:
        """Return how many sentences an evaluation encodes, by its group, as far as its suites say it."""

        def rows(pattern: str) -> int:
            return sum(sum(self.parts(path).values()) for path in self.sizes if fnmatchcase(path, pattern))

        encoded = {
            name: {part for suite in suites for part in suite.encodes.items()}
            for name, suites in groups().items()
        }
        return {name: sum(times * rows(path) for path, times in parts) for name, parts in encoded.items()}

    def readings(self, path: str) -> tuple[ShareOf, ...]:
        """Return of how many items the number at a path may be a percentage; none where it is no share."""
        return next((entry for name, entry in self.percentages.items() if fnmatchcase(path, name)), ())

    def related(self, path: str) -> set[str]:
        """Return the paths of the same number, of averages that it is a part of, and of all their parts."""
        groups = [{average, *wanted.paths} for average, wanted in self.averages.items()]
        linked = {path}.union(*(group for group in groups if path in group))
        return {self.one_name(name) for name in linked}

    def one_name(self, path: str) -> str:
        """Return the first of all paths that lead to the same number."""
        return next((group[0] for group in self.same if path in group), path)


def load_datasets(workflow: Path) -> Datasets:
    """Return datasets.yaml; BadInput names a mistake in it."""
    return checked_yaml(workflow / "datasets.yaml", Datasets)
