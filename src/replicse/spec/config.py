"""The config of a study: what to reproduce, from one file or several laid over each other."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field

from replicse.checked import Checked, Id, Text, Whole, one_of, read_yaml
from replicse.errors import BadInput
from replicse.files import check_there, read_json
from replicse.registry.corpora import Corpus
from replicse.registry.encoders import Precision
from replicse.registry.plugins import installed_plugins, use_plugins
from replicse.registry.poolings import Pooling
from replicse.registry.sets import EvaluationSet, SetName
from replicse.spec.layers import merge_layers

SHIPPED = Path("config.yaml")
Names = Literal["all"] | tuple[Text, ...]


def _seed(value: object) -> object:
    """Return a seed; the numbers of `--config seeds=[0,1]` are text to Snakemake."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


# torch takes no larger one.
Seed = Annotated[Whole, BeforeValidator(_seed), Field(ge=0, lt=2**64)]


def by_paper(items: Iterable[str]) -> dict[str, str | list[str]]:
    """Return items by paper, as a config names them; an item is given as paper/item or paper_item, a paper as it is."""
    papers: dict[str, str | list[str]] = {}
    for item in items:
        paper, mark, name = item.partition("/" if "/" in item else "_")
        if not mark:
            papers[paper] = "all"
        elif isinstance(names := papers.setdefault(paper, []), list):
            names.append(name)
    return papers


def _papers(value: Any) -> Any:
    """Return papers and their items; a list, or one name, is short for all items of these papers."""
    names = [value] if isinstance(value, str) and value != "all" else value
    short = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return by_paper(names) if short else value


Papers = Annotated[
    Literal["all"] | dict[Id, Names],
    BeforeValidator(_papers, json_schema_input_type=Literal["all"] | dict[Id, Names] | tuple[Text, ...]),
]


class DataChoice(Checked):
    """Where data comes from; nothing: the scale's own source, and REPLICSE_DATA for a local root."""

    source: Literal["embedded", "local", "hub"] | None = None
    root: Text | None = None


class Plugins(Checked):
    """Files or folders of the workspace that bring what papers name (`replicse.registry.plugins`)."""

    plugins: tuple[Text, ...] = ()


class OwnRow(Checked):
    """A row of your own: an encoder's folder (absolute, or from the workspace) or hub id, and how it is read."""

    folder: Text | None = None
    hub: Text | None = None
    pooling: Pooling | None = None
    label: str = ""

    _is_one_source = one_of("folder", "hub")


class Config(Plugins):
    """What to reproduce: `adjudicate` names items whose protocols are all run, `rows` the rows of others.

    Or `rows` gives rows of your own to an item: they alone are run, among what the paper prints.

    `crossed` names rows of items that are run under every seed on the backbone of every seed as well; `precision` is
    that of all training, instead of the scale's. `corpora` and `sets` are of your own, next to those of papers.
    `folders` names hub encoders that are read from a folder, absolute or from the workspace.
    """

    scale: Id
    papers: Papers
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    adjudicate: Names | None = ()
    data: DataChoice | None = None
    precision: Precision | None = None
    rows: dict[Text, tuple[Text, ...] | dict[Id, OwnRow]] | None = None
    crossed: dict[Text, tuple[Text, ...]] | None = None
    corpora: dict[Id, Corpus] | None = None
    sets: dict[SetName, EvaluationSet] | None = None
    folders: dict[Text, Text] | None = None

    def whole(self) -> dict[str, Any]:
        """Return plain data with every key, so that nothing of config.yaml is left where this is merged over it."""
        return self.model_dump(mode="json", by_alias=True)

    def adjudicates(self, item: str) -> bool:
        """Return whether the protocols of an item are run."""
        return self.adjudicate == "all" or item in (self.adjudicate or ())

    def holds(self, item: str) -> bool:
        """Return whether an item `paper/item` is one of the study."""
        paper, _, name = item.partition("/")
        wanted = "all" if self.papers == "all" else self.papers.get(paper, ())
        return wanted == "all" or name in wanted

    def bearing_on(self, item: str) -> dict[str, Any]:
        """Return as plain data what of the config changes the result of an item."""
        return {
            "scale": self.scale,
            "seeds": self.seeds,
            "source": self.data and self.data.source,
            "precision": self.precision,
            "adjudicate": self.adjudicates(item),
            "rows": self.model_dump(mode="json", include={"rows"})["rows"].get(item) if self.rows else None,
            "crossed": (self.crossed or {}).get(item),
        }

    def of_items(self, items: Iterable[str]) -> "Config":
        """Return the config of some items alone."""
        papers = by_paper(items).items()
        return self.replace(
            papers={paper: names if names == "all" else tuple(names) for paper, names in papers}
        )

    def names(self, item: str) -> bool:
        """Return whether an item is asked for by its own name, not only as one of all."""
        listed = self.papers != "all" and self.papers.get(item.partition("/")[0], "all") != "all"
        adjudicated = self.adjudicate != "all" and self.adjudicates(item)
        return listed or adjudicated or item in (self.rows or ()) or item in (self.crossed or ())


def checked_config(values: object, file: str) -> Config:
    """Return the config of plain data; BadInput names file, key and value of a mistake."""
    if isinstance(values, Mapping) and values.get("corpora"):
        # Before they are checked: their format may be one that a plug-in brings.
        use_all_plugins(_plugins(values, file))
    config = Config.of(values, file)
    if len(set(config.seeds)) < len(config.seeds):
        raise BadInput(f"{file}: seeds is {list(config.seeds)}; expected each seed once")
    return config


def read_config(
    files: Sequence[Path],
    scale: str | None = None,
    seeds: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the plain config of files, each merged over the one before, as Snakemake lays config files.

    `settings` (YAML by key, as Snakemake's `--config key=value`), then `scale` and `seeds` (how many, from 0) are
    above all of them.
    """
    config: dict[str, Any] = {}
    for file in files:
        if file == SHIPPED:
            check_there(file, "go to a folder with a study, or make one with replicse init")
        document = read_json(file) if file.suffix == ".json" else read_yaml(file)
        if not isinstance(document, dict):
            raise BadInput(f"{file}: the document is no mapping of keys, such as scale: micro")
        config = merge_layers(config, document)
    for key, text in (settings or {}).items():
        try:
            config = merge_layers(config, {key: yaml.safe_load(text)})
        except (yaml.YAMLError, ValueError):  # the latter for a date that is none
            raise BadInput(f"--config {key}={text}: no value of YAML, as in seeds=[0,1]") from None
    above = {"scale": scale, "seeds": None if seeds is None else list(range(seeds))}
    return {**config, **{key: entry for key, entry in above.items() if entry is not None}}


def _plugins(values: object, file: str) -> tuple[str, ...]:
    """Return the plug-ins that a config names, whose other keys are not looked at."""
    named = {"plugins": values["plugins"]} if isinstance(values, Mapping) and "plugins" in values else {}
    return Plugins.of(named, file).plugins


def use_all_plugins(plugins: Iterable[str] = (), workflow: Path | None = None) -> None:
    """Have in use the plug-ins of installed packages, of the config.yaml of this folder, and those that are given.

    Papers' methods are in use too: those of the workflow, and of the workspace.
    """
    workspace = _plugins(read_config([SHIPPED]), str(SHIPPED)) if SHIPPED.is_file() else ()
    use_plugins([*installed_plugins(), *workspace, *plugins], workflow)
