"""Load scales: the definitions of the papers' symbolic names.

Symbolic names are bert-base, wiki or one epoch, for example.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator

from replicse.checked import Checked, Count, Id, Text, UserMessage, excerpt, read_yaml
from replicse.errors import BadInput, check_known, nearest
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.corpora import Corpus, DataFile, HubDataset
from replicse.registry.downloads import Download
from replicse.registry.encoders import Precision, WordVectors
from replicse.registry.registry import current
from replicse.registry.sets import EvaluationSet
from replicse.registry.suites import SuiteOptions
from replicse.spec.layers import mappings, merge_layers, named_files
from replicse.spec.lock import Lock
from replicse.spec.models import Grid
from replicse.spec.scale_entries import (
    Adjust,
    BackboneSource,
    DataSource,
    ReferenceDevice,
    Released,
    ScaleNeeds,
    TokenizerRecipe,
)

WORKSPACE = Path("scales")  # the folder where a workspace stores scales


class OfAnotherScale(BadInput):
    """The error for a name defined only in a scale of the workspace.

    The item with the name belongs to this other scale.
    """


def _as_list(value: object) -> object:
    return [value] if isinstance(value, Mapping) else value


class Scale(Checked):
    """A scale: backbones, tokenizers, corpora, and adjustments of runs.

    The adjustments fit runs to the size of the scale. `adjust` does not change values in a paper of the workspace, and
    `grids` and `draws` do not limit its searches, unless a scale of the workspace sets these keys.

    `cost` is a device or several, the default first. `weights` is the size in bytes of encoders of the hub whose size
    does not follow from their name. `precision: papers` trains the runs of each paper in the precision of the paper,
    by default fp32. A grid uses only the values in `grids`; only the first `draws` jobs of a random search are run. An
    item with a search of more jobs than `largest_search` is left out of a study that does not name it.

    Attributes:
        name: the name of the scale, equal to the name of the file.
        title: the title in the report.
        shows: a sentence about what numbers of this scale can show.
        comparable: whether numbers are compared with the papers' and get verdicts.
        judges_orders: whether orders of rows and signs of differences are compared.
        cost: the device, or list of devices, for estimates of hours. The first is the default.
        needs: what the jobs and the machine need.
        data: the default source of the datasets.
        precision: the precision of training; `papers` uses each paper's own, by default fp32.
        backbones: the encoders that training starts from, by name.
        corpora: the corpora (training datasets) by name.
        tokenizers: the tokenizers of backbones that are trained from random weights, by name.
        released: the released checkpoints by name.
        vectors: the word vectors by name.
        downloads: the sources of files below the data root.
        weights: the size in bytes of encoders of the hub if it does not follow from the name.
        options: the options of suites by name.
        augmentations: changed parameters of augmentations by name.
        adjust: rules that adapt runs to the scale. Values that a paper of the workspace writes are kept.
        recipes: the recipe that is used instead of another one at this scale.
        grids: the values that a search tries at this scale, by path.
        draws: the number of jobs of a random search that are run.
        largest_search: the largest number of jobs of a search. An item with a larger one is run only if it is named.
    """

    name: Id
    title: Text
    shows: Text
    comparable: bool
    judges_orders: bool
    cost: Annotated[tuple[ReferenceDevice, ...], BeforeValidator(_as_list), Field(min_length=1)]
    needs: ScaleNeeds = ScaleNeeds()
    data: DataSource
    precision: Precision | Literal["papers"] = "fp32"
    backbones: dict[Id, BackboneSource]
    corpora: dict[Id, Corpus]
    tokenizers: dict[Id, TokenizerRecipe] = {}
    released: dict[Id, Released] = {}
    vectors: dict[Id, WordVectors] = {}
    downloads: dict[DataFile, Download] = {}
    weights: dict[Text, Count] = {}
    options: dict[str, dict[str, Any]] = {}
    augmentations: Annotated[
        dict[str, dict[str, Any]], AugmentationParameters.check_changes("augmentation")
    ] = {}
    adjust: tuple[Adjust, ...] = ()
    recipes: dict[Text, Text] = {}
    grids: Grid = {}
    draws: Count | None = None
    largest_search: Count | None = None
    _file: Path = PrivateAttr(default=Path())
    _files: Mapping[str, Path] = PrivateAttr(default_factory=dict)
    _own: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def file(self) -> Path:
        """Return the file of the scale."""
        return self._file

    @property
    def workspace_keys(self) -> frozenset[str]:
        """Return the keys from files of the workspace.

        The files are this scale and its base scales.
        """
        return self._own

    def suite_options(self, name: str) -> SuiteOptions:
        """Return the options of a suite.

        Args:
            name: the name of the suite.

        Raises:
            BadInput: if a required option is missing.
        """
        return current().suites[name].options.of(self.options.get(name, {}), f"{self.file}: options.{name}")

    def check_name(self, location: str, suite: str, name: str, metric: str) -> None:
        """Raise BadInput unless the options of a suite contain a name.

        An evaluation dataset should also have the metric of the cell.

        Args:
            location: the location in error messages.
            suite: the suite.
            name: the name of a task or set in the options.
            metric: the metric of the cell.

        Raises:
            BadInput: if the name is unknown or the set does not have the metric.
        """
        entry = current().suites[suite]
        names = self.options.get(suite, {}).get(entry.named_by, {})
        home = "papers and config" if suite == "sets" else self.file
        check_known(name, names, f'{location}: {entry.named_by} of {home} do not contain "{name}"')
        if suite == "sets" and not (wanted := EvaluationSet.of(names[name], location)).yields(metric):
            raise BadInput(
                f'{location}: dataset "{name}" has {wanted.metrics}, not {metric}; use a metric of the dataset'
            )

    @field_validator("options")
    @classmethod
    def _are_options(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        known = current().suites
        for name, options in value.items():
            check_known(name, known, f'suite "{name}" does not exist', UserMessage)
            problem = known[name].options.problem(options)
            if problem:
                raise UserMessage(f"{name}: {problem}")
        return value

    @model_validator(mode="after")
    def _is_comparable(self) -> Self:
        """Allow `comparable` only with the papers' encoders and datasets."""
        trained = next((name for name, backbone in self.backbones.items() if backbone.run), None)
        if self.comparable and (self.data.source == "embedded" or trained):
            reason = "data.source is embedded"
            if trained:
                reason = f"backbones.{trained} is pre-trained by the scale"
            raise UserMessage(
                f"comparable: true, but {reason}; only the papers' own encoders and data get a verdict"
            )
        return self

    @model_validator(mode="after")
    def _tokenizers_have_corpora(self) -> Self:
        for name, recipe in self.tokenizers.items():
            if recipe.corpus is not None:
                problem = f'a corpus for tokenizer {name}, not "{recipe.corpus}"'
                check_known(recipe.corpus, self.corpora, problem, ValueError)
        return self

    @model_validator(mode="after")
    def _downloads_are_read(self) -> Self:
        read = [each.plain() for kind in (self.corpora, self.vectors) for each in kind.values()]
        files = [*self.data.files, *named_files(mappings([read, self.options]))]
        for name in self.downloads:
            check_known(name, files, f'downloads: corpora do not use the file "{name}"', UserMessage)
        return self

    def corpus(self, name: str, location: str) -> dict[str, Any]:
        """Return the recipe of a corpus with the symbolic name, as a dict.

        Expected rows are not included.

        Args:
            name: the name in the scale.
            location: the location in error messages.

        Raises:
            BadInput: if the scale has no such corpus.
        """
        recipe = self.named("corpora", name, location).plain()
        kept = {key: entry for key, entry in recipe.items() if key not in ("rows", "about")}
        return {"name": name.rpartition("/")[2], **kept}

    def expected(self, recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recipe of a corpus with expected rows, as a dict.

        Expected rows are not part of the id of a run.

        Args:
            recipe: a dict that `corpus` has returned.
        """
        keys = [key for key in self.corpora if key.rpartition("/")[2] == recipe["name"]]
        if len(keys) > 1:  # corpora of several papers
            keys = [key for key in keys if self.corpus(key, "corpora") == recipe]
        return {**recipe, **self.corpora[keys[0]].plain()}

    def pin_commits(self, lock: Lock) -> Self:
        """Return the scale with hub datasets at locked commits.

        Args:
            lock: the lock.
        """
        return self.model_copy(
            update={kind: _pinned(getattr(self, kind), lock) for kind in ("corpora", "options")}
        )

    def rows(self, name: str) -> int | None:
        """Return the expected number of rows of a corpus.

        Args:
            name: the name in the scale.

        Returns:
            The rows; None if the scale does not specify them.
        """
        return self.corpora[name].rows if name in self.corpora else None

    def tokenizer(self, name: str, location: str) -> dict[str, Any]:
        """Return the recipe of a tokenizer, including the corpus, as a dict.

        Args:
            name: the name in the scale.
            location: the location in error messages.

        Raises:
            BadInput: if the scale has no such tokenizer or corpus.
        """
        recipe = {"lowercase": True, **self.named("tokenizers", name, location).plain()}
        if "corpus" in recipe:
            recipe["corpus"] = self.corpus(recipe["corpus"], location)
        return {"name": name, **recipe}

    def named(self, kind: str, name: str, location: str) -> Any:
        """Return an entry of the scale.

        Args:
            kind: `backbones`, `corpora`, `tokenizers`, `released` or `vectors`.
            name: the name of the entry.
            location: the location in error messages.

        Raises:
            OfAnotherScale: if only scales of the workspace have the entry.
            BadInput: if no scale has the entry; the error suggests the most similar name.
        """
        entries = getattr(self, kind)
        if name in entries:
            return entries[name]
        missing = f'{location}: {kind} of {self.file} do not contain "{name}"'
        others = {key: load_scale(file, self._files) for key, file in self._files.items()}
        homes = [key for key, other in others.items() if name in getattr(other, kind)]
        if homes and all(self._files[key].parent == WORKSPACE for key in homes):
            raise OfAnotherScale(f"{missing}; use it at scale {' or '.join(homes)}")
        raise BadInput(f"{missing}{nearest(name, entries)}")

    def recipe(self, paper: str, name: str) -> str:
        """Return the replacement of a paper's recipe.

        Args:
            paper: the key of the paper.
            name: the recipe, which is also the default result.
        """
        full = name if "/" in name else f"{paper}/{name}"
        return self.recipes.get(full, name)


def _pinned(value: Any, lock: Lock) -> Any:
    """Return corpora, or dicts with corpora, at the commits of a lock."""
    if isinstance(value, Corpus):
        return value.pin_commits(lock.revision)
    if not isinstance(value, Mapping):
        return value
    if value.get("format") == "hub-dataset":
        return HubDataset.of(value, "corpora").pin_commits(lock.revision).plain()
    return {key: _pinned(entry, lock) for key, entry in value.items()}


def load_scale(path: Path, files: Mapping[str, Path] | None = None) -> Scale:
    """Load a scale from a YAML file, merged over its base scale.

    Args:
        path: the file.
        files: a dict from names to the files of all scales. Default: the scales in the same folder.

    Raises:
        BadInput: if the file is not valid; the error names file and key.
    """
    beside = files or {file.stem: file for file in sorted(path.parent.glob("*.yaml"))}
    document, own = _document(path, beside, (path.stem,))
    scale = Scale.of(document, str(path))
    if scale.name != path.stem:
        if "name" not in read_yaml(path):
            raise BadInput(f"{path}: the key name is missing; add name: {path.stem}")
        raise BadInput(f'{path}: name is "{scale.name}"; expected "{path.stem}"')
    scale._file, scale._files, scale._own = path, beside, own
    return scale


def _document(path: Path, files: Mapping[str, Path], above: tuple[str, ...]) -> tuple[Any, frozenset[str]]:
    """Return a scale's merged dict, and its keys from the workspace.

    The dict is merged over the base scale in `extends`.

    Args:
        path: the file.
        files: a dict from names to the files of all scales.
        above: the scales that extend this scale.
    """
    document = read_yaml(path)
    is_own = isinstance(document, dict) and path.parent == WORKSPACE
    own = frozenset(document) if is_own else frozenset()
    if not isinstance(document, dict) or "extends" not in document:
        return document, own
    base = document.pop("extends")
    others = [name for name in files if name not in above]
    if base not in others:
        near = nearest(base, others) if isinstance(base, str) else ""
        raise BadInput(f"{path}: extends is {excerpt(base)}, which is not another scale{near}")
    below, keys = _document(files[base], files, (*above, base))
    return merge_layers(below, document), own | keys
