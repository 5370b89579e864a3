"""Corpora of the hub: their files at a pinned commit, read by the library `datasets` through its Arrow cache."""

from collections.abc import Callable, Iterator
from itertools import combinations
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
    """Yield the rows of a hub corpus, its parts after each other; nothing of it lies below the data root."""
    rows = (row for part in corpus.parts for row in _part_rows(part, corpus))
    match corpus.map:
        case "by-premise":
            order = [list(corpus.read.values()).index(name) for name in ("premise", "hypothesis", "label")]
            ordered = (tuple(row[place] for place in order) for row in rows)
            return by_premise(ordered, list(corpus.classes.values()))
        case "caption-pairs":
            return (pair for (captions,) in rows for pair in combinations(captions, 2))
        case "lines":
            texts = (
                text for row in rows for each in row for text in ([each] if isinstance(each, str) else each)
            )
            return ((text,) for text in texts)
        case "lists":
            return (place for row in rows for place in zip(*row, strict=True))
    kept = [place for place, name in enumerate(corpus.read.values()) if name != "label"]
    return (tuple(row[place] for place in kept) for row in rows)


def part_files(part: HubPart) -> list[Path]:
    """Return the data files of a part in the hub's cache, fetched where they are not there; sorted by name.

    The split's files are those that the card of the data set names, or `files`. Raises BadInput where there are none.
    """
    patterns = [part.files] if part.files else _card_patterns(part)
    files = matching_files(cached_folder(part.path, part.revision, patterns), patterns)
    if not files:
        raise MissingData(
            f"{part.path} at {part.revision}: no file {' or '.join(patterns)}; fix files, name or split of the corpus"
        )
    return files


def _card_patterns(part: HubPart) -> list[str]:
    """Return the patterns of a split's files, as the card of the data set gives them by configuration and split."""
    card = cached_folder(part.path, part.revision, [CARD]) / CARD
    configs = DatasetCard.load(card).data.to_dict().get("configs") or [] if card.is_file() else []
    where = f"{part.path} at {part.revision}"
    by_name = {config["config_name"]: config.get("data_files") or [] for config in configs}
    if not by_name:
        raise BadInput(f"{where}: its card names no files; give the corpus files, a pattern of them")
    if part.name not in by_name and (part.name or len(by_name) > 1):
        raise BadInput(f'{where}: no configuration "{part.name or ""}"{nearest(part.name, by_name)}')
    files = by_name[part.name] if part.name in by_name else next(iter(by_name.values()))
    splits = {entry["split"]: entry["path"] for entry in files if isinstance(entry, dict)}
    check_known(part.split, splits, f'{where}: no split "{part.split}"')
    paths = splits[part.split]
    return [paths] if isinstance(paths, str) else list(paths)


def open_part(part: HubPart) -> "Dataset":
    """Return a part as a data set of the library, from its Arrow cache where it is there."""
    import datasets  # seconds that no other corpus needs

    files = part_files(part)
    plain = [path.with_suffix("") if path.suffix == ".gz" else path for path in files]
    kinds = {READERS.get(path.suffix) for path in plain}
    if len(kinds) > 1 or None in kinds:
        raise BadInput(f"{files[0]}: no data file that is known here; expected {', '.join(READERS)}")
    datasets.utils.logging.set_verbosity_error()
    try:
        return datasets.load_dataset(kinds.pop(), data_files=[str(path) for path in files], split="train")
    except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
        what = (
            f"{part.path}: {files[0].name} cannot be read ({' '.join(str(error.__cause__ or error).split())})"
        )
        raise BadInput(f"{what}; name other files of it, or another revision") from None


def _part_rows(part: HubPart, corpus: HubDataset) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of a part that are read: single-spaced texts, lists of them, names of wanted labels."""
    dataset = open_part(part)
    for name in corpus.read:
        check_known(name, dataset.column_names, f'{part.path}: no column "{name}"')
    values = [_values(part, corpus, dataset, name) for name in corpus.read]
    # A row of lists holds tens of thousands of texts.
    size = 1 if corpus.map == "lists" else 10_000
    for batch in dataset.select_columns(list(corpus.read)).iter(size):
        columns = [map(value, batch[name]) for name, value in zip(corpus.read, values, strict=True)]
        yield from (row for row in zip(*columns, strict=True) if None not in row)


def _values(part: HubPart, corpus: HubDataset, dataset: "Dataset", name: str) -> Callable[[Any], Any]:
    """Return what makes our value of one of a hub column; None drops the row."""
    if corpus.read[name] != "label":

        def spaced(value: Any) -> Any:
            if value is None:
                raise BadInput(f"{part.path}: a row has nothing in the column {name}; look at its commit")
            return one_spaced(value) if isinstance(value, str) else [one_spaced(text) for text in value]

        return spaced
    labels = getattr(dataset.features[name], "names", None)
    if labels and tuple(labels) != corpus.labels:
        raise BadInput(
            f"{part.path}: its labels are {', '.join(labels)}; expected {', '.join(corpus.labels)}"
        )
    wanted = corpus.keep or corpus.labels
    named = dict(enumerate(corpus.labels)) | {label: label for label in corpus.labels}
    return lambda value: label if (label := named.get(value)) in wanted else None
