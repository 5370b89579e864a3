"""The config of a study, merged from one or more files."""

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
from replicse.yaml_text import check_nesting

SHIPPED = Path("config.yaml")
Names = Literal["all"] | tuple[Text, ...]


def _seed(value: object) -> object:
    """Parse a seed, a string if it is from Snakemake's `--config seeds=[0,1]`."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


# The maximum of torch.
Seed = Annotated[Whole, BeforeValidator(_seed), Field(ge=0, lt=2**64)]


def by_paper(items: Iterable[str]) -> dict[str, str | list[str]]:
    """Return the `papers` of a config for items and complete papers.

    Args:
        items: a list of `paper/item`, `paper_item` or `paper`.

    Returns:
        A dict from papers to "all" or a list of items.
    """
    papers: dict[str, str | list[str]] = {}
    for item in items:
        separator = "/" if "/" in item else "_"
        paper, mark, name = item.partition(separator)
        if not mark:
            papers[paper] = "all"
        elif isinstance(names := papers.setdefault(paper, []), list):
            names.append(name)
    return papers


def _papers(value: Any) -> Any:
    """Expand the key of a paper, or a list of keys, to all of their items."""
    names = [value] if isinstance(value, str) and value != "all" else value
    short = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return by_paper(names) if short else value


Papers = Annotated[
    Literal["all"] | dict[Id, Names],
    BeforeValidator(_papers, json_schema_input_type=Literal["all"] | dict[Id, Names] | tuple[Text, ...]),
]


class DataChoice(Checked):
    """The source of the datasets.

    Default: the source of the scale, with REPLICSE_DATA as local root.

    Attributes:
        source: `embedded` generates the datasets, `local` loads a folder, `hub` downloads.
        root: the folder of a local source. The default is the environment variable REPLICSE_DATA.
    """

    source: Literal["embedded", "local", "hub"] | None = None
    root: Text | None = None


class Plugins(Checked):
    """Plug-ins: files or folders of the workspace.

    `replicse.registry.plugins` loads them.

    Attributes:
        plugins: the files or folders of the workspace that register entries.
    """

    plugins: tuple[Text, ...] = ()


class OwnRow(Checked):
    """A user's row: an encoder and the pooling.

    The encoder is a hub id, or a folder that is absolute or relative to the workspace.

    Attributes:
        folder: the folder of the encoder, absolute or relative to the workspace.
        hub: the hub id of the encoder.
        pooling: the pooling. The default is the pooling of the encoder's folder, else `cls`.
        label: the label of the row. The default is its id.
    """

    folder: Text | None = None
    hub: Text | None = None
    pooling: Pooling | None = None
    label: str = ""

    _is_one_source = one_of("folder", "hub")


class Config(Plugins):
    """The config of a study.

    `adjudicate` lists items of which all protocols are run. `rows` selects rows of an item, or adds the user's rows:
    then only the user's rows are run, next to the reported numbers. `crossed` lists rows of items that are also run
    with every seed on the backbone of every seed. `precision` replaces the scale's precision of training. `corpora`
    and `sets` are used in addition to the corpora and evaluation datasets of papers. `folders` is a dict from encoders
    of the hub to folders, absolute or relative to the workspace.

    Attributes:
        scale: the name of the scale: the models, the datasets and the number of steps.
        papers: the papers and items to reproduce: `all`, a list, or a dict from papers to items.
        seeds: the seeds of each run. Three or more give an interval.
        adjudicate: the items of which all protocols are run.
        data: the source of the datasets. The default is the source of the scale.
        precision: the precision of all training, instead of the scale's.
        rows: the rows to use by item: a list of their ids, or a dict of your own rows, which are then run alone.
        crossed: the rows by item that are also run with every seed on the backbone of every seed.
        corpora: your own corpora (training datasets) by name, in addition to the corpora of papers.
        sets: your own evaluation datasets by name, in addition to the datasets of papers.
        folders: the folders of encoders by hub id, absolute or relative to the workspace.
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
        """Return a dict with every key.

        Merged over config.yaml, it replaces all values.
        """
        return self.model_dump(mode="json", by_alias=True)

    def adjudicates(self, item: str) -> bool:
        """Return whether all protocols of an item are run.

        Args:
            item: the item, `paper/item`.
        """
        return self.adjudicate == "all" or item in (self.adjudicate or ())

    def holds(self, item: str) -> bool:
        """Return whether the study contains an item.

        Args:
            item: the item, `paper/item`.
        """
        paper, _, name = item.partition("/")
        if self.papers == "all":
            return True
        wanted = self.papers.get(paper, ())
        return wanted == "all" or name in wanted

    def settings_of_item(self, item: str) -> dict[str, Any]:
        """Return the settings that change the result of an item, as a dict.

        Args:
            item: the item, `paper/item`.
        """
        rows = None
        if self.rows:
            rows = self.model_dump(mode="json", include={"rows"})["rows"].get(item)
        return {
            "scale": self.scale,
            "seeds": self.seeds,
            "source": self.data and self.data.source,
            "precision": self.precision,
            "adjudicate": self.adjudicates(item),
            "rows": rows,
            "crossed": (self.crossed or {}).get(item),
        }

    def of_items(self, items: Iterable[str]) -> "Config":
        """Return the config with a subset of the items.

        Args:
            items: a list of `paper/item` or `paper`.
        """
        papers: dict[str, Names] = {}
        for paper, names in by_paper(items).items():
            papers[paper] = "all" if names == "all" else tuple(names)
        return self.replace(papers=papers)

    def names(self, item: str) -> bool:
        """Return whether the config lists an item explicitly, not with `all`.

        Args:
            item: the item, `paper/item`.
        """
        listed = self.papers != "all" and self.papers.get(item.partition("/")[0], "all") != "all"
        adjudicated = self.adjudicate != "all" and self.adjudicates(item)
        return listed or adjudicated or item in (self.rows or ()) or item in (self.crossed or ())


def checked_config(values: object, file: str) -> Config:
    """Validate a dict as a config.

    Args:
        values: the dict.
        file: the file in error messages.

    Raises:
        BadInput: if the config is not valid; the error names file, key and value.
    """
    if isinstance(values, Mapping) and values.get("corpora"):
        # A plug-in can define the format of a corpus.
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
    """Merge config files in order, as Snakemake does.

    By default, scale and seeds are those of the files.

    Args:
        files: YAML or JSON files; a later file overrides earlier files.
        scale: overrides the scale. Default: None.
        seeds: overrides the seeds by this number of seeds, from 0. Default: None.
        settings: YAML by key, as in Snakemake's `--config key=value`; overrides the files. Default: None.

    Returns:
        The config as a dict.

    Raises:
        BadInput: if a file or a setting is not valid.
    """
    config: dict[str, Any] = {}
    for file in files:
        if file == SHIPPED:
            check_there(file, "go to a folder with a study, or use replicse init to create a folder")
        document = read_json(file) if file.suffix == ".json" else read_yaml(file)
        if not isinstance(document, dict):
            raise BadInput(f"{file}: expected a dict from keys to values, such as scale: micro")
        config = merge_layers(config, document)
    for key, text in (settings or {}).items():
        try:
            check_nesting(text)
            config = merge_layers(config, {key: yaml.safe_load(text)})
        except (yaml.YAMLError, ValueError):  # YAML raises ValueError for an invalid date
            raise BadInput(
                f"--config {key}={text}: cannot parse YAML; expected a value such as seeds=[0,1]"
            ) from None
    if scale is not None:
        config["scale"] = scale
    if seeds is not None:
        config["seeds"] = list(range(seeds))
    return config


def _plugins(values: object, file: str) -> tuple[str, ...]:
    """Return the plug-ins of a config without checking other keys."""
    if not isinstance(values, Mapping) or "plugins" not in values:
        return ()
    return Plugins.of({"plugins": values["plugins"]}, file).plugins


def use_all_plugins(plugins: Iterable[str] = (), workflow: Path | None = None) -> None:
    """Load all plug-ins, and the methods of papers.

    Plug-ins are loaded from installed packages, from config.yaml in this folder, and from `plugins`; methods from the
    papers of the workflow and of the workspace.

    Args:
        plugins: the plug-ins of a config. Default: empty.
        workflow: the folder of papers and scales. Default: the workflow of this process.
    """
    use_plugins([*installed_plugins(), *_own_plugins(), *plugins], workflow)


def _own_plugins() -> tuple[str, ...]:
    """Return the plug-ins of config.yaml in this folder."""
    return _plugins(read_config([SHIPPED]), str(SHIPPED)) if SHIPPED.is_file() else ()


def refuse_foreign_plugins(record: Path) -> None:
    """Raise BadInput if a record names plug-ins that config.yaml does not.

    Results can be from somebody else, and loading a plug-in runs its code.

    Args:
        record: the file config.json of a results folder.
    """
    own = _own_plugins()
    foreign = [name for name in _plugins(read_json(record), str(record)) if name not in own]
    if foreign:
        raise BadInput(
            f"{record}: plugins are {', '.join(foreign)}, which {SHIPPED} of this folder does not contain; if you trust"
            " their code, add them there"
        )
