"""Corpora from hub datasets at a pinned commit, loaded with `datasets`."""

from collections.abc import Callable, Iterator
from itertools import chain, combinations
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import DatasetCard

from replicse.data.corpora import Row, by_premise
from replicse.data.hub import CARD, cached_folder, matching_files
from replicse.data.sts import one_spaced
from replicse.errors import BadInput, MissingData, check_known, nearest
from replicse.registry.corpora import HubDataset, HubPart

if TYPE_CHECKING:
    from datasets import Dataset

READERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".arrow": "arrow"}


def hub_dataset(root: Path, corpus: HubDataset) -> Iterator[Row]:
    """Yield the rows of a hub corpus, part by part.

    Args:
        root: Not used.
        corpus: The keys of the corpus.
    """
    rows = chain.from_iterable(_part_rows(part, corpus) for part in corpus.parts)
    names = list(corpus.read.values())
    match corpus.map:
        case "by-premise":
            order = [names.index(name) for name in ("premise", "hypothesis", "label")]
            ordered: Iterator[Any] = map(itemgetter(*order), rows)
            yield from by_premise(ordered, list(corpus.classes.values()))
        case "caption-pairs":
            for (captions,) in rows:
                yield from combinations(captions, 2)
        case "lines":
            for row in rows:
                yield from _single_texts(row)
        case "lists":
            for row in rows:
                yield from zip(*row, strict=True)
        case _:
            kept = [place for place, name in enumerate(names) if name != "label"]
            for row in rows:
                yield tuple(row[place] for place in kept)


def _single_texts(row: tuple[Any, ...]) -> Iterator[Row]:
    """Yield a row of its own for each text in the cells of a row."""
    for cell in row:
        for text in [cell] if isinstance(cell, str) else cell:
            yield (text,)


def part_files(part: HubPart) -> list[Path]:
    """List the data files of a part in the hub's cache, sorted by name.

    They are downloaded if necessary. If `files` is not set, the card of the dataset lists the files of a
    split.

    Args:
        part: A part of a corpus.

    Raises:
        MissingData: If there are no such files.
    """
    patterns = [part.files] if part.files else _card_patterns(part)
    files = matching_files(cached_folder(part.path, part.revision, patterns), patterns)
    if not files:
        raise MissingData(
            f"{part.path} at {part.revision} does not contain {' or '.join(patterns)}; fix files, name or split of the"
            " corpus"
        )
    return files


def _card_patterns(part: HubPart) -> list[str]:
    """Return the patterns of a split's files from the dataset's card."""
    card = cached_folder(part.path, part.revision, [CARD]) / CARD
    configs: list[Any] = []
    if card.is_file():
        configs = DatasetCard.load(card).data.to_dict().get("configs") or []
    location = f"{part.path} at {part.revision}"
    by_name = {config["config_name"]: config.get("data_files") or [] for config in configs}
    if not by_name:
        raise BadInput(
            f"{location}: the dataset card does not list files; add the key files to the corpus, with a pattern"
        )
    if part.name not in by_name and (part.name or len(by_name) > 1):
        raise BadInput(
            f'{location}: configuration "{part.name or ""}" does not exist{nearest(part.name, by_name)}'
        )
    files = by_name[part.name] if part.name in by_name else next(iter(by_name.values()))
    splits = {entry["split"]: entry["path"] for entry in files if isinstance(entry, dict)}
    check_known(part.split, splits, f'{location}: split "{part.split}" does not exist')
    paths = splits[part.split]
    return [paths] if isinstance(paths, str) else list(paths)


def open_part(part: HubPart) -> "Dataset":
    """Load a part as a `datasets.Dataset`, from the Arrow cache if possible.

    Args:
        part: A part of a corpus.

    Raises:
        BadInput: If the files cannot be loaded.
    """
    import datasets  # importing it takes seconds, and other corpora do not need it

    files = part_files(part)
    kinds = {READERS.get(Path(path.name.removesuffix(".gz")).suffix) for path in files}
    if len(kinds) > 1 or None in kinds:
        raise BadInput(f"{files[0]}: unknown kind of data file; use {', '.join(READERS)}")
    datasets.utils.logging.set_verbosity_error()
    try:
        return datasets.load_dataset(kinds.pop(), data_files=[str(path) for path in files], split="train")
    except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
        reason = " ".join(str(error.__cause__ or error).split())
        problem = f"{part.path}: cannot load {files[0].name} ({reason})"
        raise BadInput(f"{problem}; specify other files, or another revision") from None


def _part_rows(part: HubPart, corpus: HubDataset) -> Iterator[tuple[Any, ...]]:
    """Yield the requested columns of a part.

    Texts and lists of texts have single spaces; labels are names, and rows with other labels are skipped.
    """
    dataset = open_part(part)
    for name in corpus.read:
        check_known(name, dataset.column_names, f'{part.path}: column "{name}" does not exist')
    values = [_values(part, corpus, dataset, name) for name in corpus.read]
    # A row of lists contains tens of thousands of texts.
    size = 1 if corpus.map == "lists" else 10_000
    for batch in dataset.select_columns(list(corpus.read)).iter(size):
        columns = [map(value, batch[name]) for name, value in zip(corpus.read, values, strict=True)]
        for row in zip(*columns, strict=True):
            if None not in row:
                yield row


def _values(part: HubPart, corpus: HubDataset, dataset: "Dataset", name: str) -> Callable[[Any], Any]:
    """Return a function that converts a value of a hub column.

    The function returns None if the row should be skipped.
    """
    if corpus.read[name] != "label":

        def spaced(value: Any) -> Any:
            if value is None:
                raise BadInput(
                    f"{part.path}: column {name} is empty in a row; check the commit of the dataset"
                )
            if isinstance(value, str):
                return one_spaced(value)
            return [one_spaced(text) for text in value]

        return spaced
    labels = getattr(dataset.features[name], "names", None)
    if labels and tuple(labels) != corpus.labels:
        raise BadInput(
            f"{part.path}: the labels are {', '.join(labels)}; expected {', '.join(corpus.labels)}"
        )
    wanted = corpus.keep or corpus.labels
    named: dict[Any, str] = dict(enumerate(corpus.labels))
    named |= {label: label for label in corpus.labels}

    def wanted_label(value: Any) -> str | None:
        label = named.get(value)
        return label if label in wanted else None

    return wanted_label
