"""One mistake at a time, planted in every kind of file that a person writes: `validate` must refuse each of them.

The mistakes are made from the files of the repository: for every place in a kind of file its key is misspelt, its
name replaced and its type changed; what a machine does not think of is in mistakes.yaml. `make test` plants one of the
latter for each file, and one of the former for each kind of file; `make check` plants all.
"""

import contextlib
import io
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import ROOT

from replicse import cli
from replicse.checked import read_yaml

PAPERS = "workflow/papers"
KINDS = {
    "paper": f"{PAPERS}/*/paper.yaml",
    "table": f"{PAPERS}/*/tables/*.yaml",
    "recipes": f"{PAPERS}/*/recipes.yaml",
    "protocols": f"{PAPERS}/*/protocols.yaml",
    "claims": f"{PAPERS}/*/claims.yaml",
    "scale": "workflow/scales/*.yaml",
    "datasets": "workflow/datasets.yaml",
    "lock": "workflow/hub.lock.yaml",
    "further config": "config/*.yaml",
    "config": "config.yaml",
}
WRITTEN_DOWN = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))
NAMED, REFERRING, FREE = (set(WRITTEN_DOWN.pop(name)) for name in ("chosen", "referring", "free"))
# Short spellings, of which the key above is told.
SHORT = defaultdict(
    set,
    table={"percentile", "argmax", "choice"},
    claims={"difference", "share", "change", "mean", "wins", "pareto", "dominance", "item", "column"},
)
SIGNED = {"right", "left", "weight", "alpha", "beta"}  # numbers that may stand below zero


@dataclass(frozen=True)
class Mistake:
    """Files that are written over (None: a folder in the place of a file), and what the sentence must name.

    `item` is one whose plan, with the options after it, refuses the mistake too: `validate` plans everything first.
    What is `late` only `validate` finds, once it has planned everything: `make check` plants it.
    """

    what: str
    files: dict[str, Callable[[], bytes] | bytes | None]
    told: tuple[str, ...]
    item: str = ""
    late: bool = False

    def __str__(self) -> str:
        return self.what


# Mistakes that are made from the files

Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
WRITTEN: dict[str, bytes] = {}


def misspelt(name: str) -> str:
    """Return a name with two neighbouring letters exchanged, or one more letter where they are alike."""
    place = max(len(name) // 2 - 1, 0)
    turned = name[:place] + name[place : place + 2][::-1] + name[place + 2 :]
    return turned if turned != name else f"{name}x"


def nodes(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Yield every place of a document and what stands there."""
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from nodes(each, (*path, key))


def copied(value: Any) -> Any:
    """Return a document in which no two places share what stands there, as aliases do."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


def pattern(kind: str, path: tuple) -> tuple:
    """Return a place with a star for numbers of a list and for names that a person chose."""
    named = NAMED | REFERRING
    chosen = (kind == "recipes", *(key in named for key in path[:-1]))
    return tuple("*" if isinstance(key, int) or free else key for key, free in zip(path, chosen, strict=True))


def entry(document: Any, kind: str, path: tuple) -> str:
    """Return the id of the row, column, protocol, claim or recipe that a place lies in; blank where it has none."""
    if kind == "recipes":
        return str(path[0])
    for upto in range(1, len(path)):
        document = document[path[upto - 1]]
        name = document.get("id") if isinstance(document, dict) and path[upto:] != ("id",) else None
        if isinstance(path[upto - 1], int) and isinstance(name, str):
            return "" if "{" in name else name
    return ""


def at(document: Any, path: tuple) -> Any:
    """Return what holds the last part of a path."""
    for key in path[:-1]:
        document = document[key]
    return document


def changed(document: Any, path: tuple, value: Any) -> bytes:
    """Return a document as YAML with one place replaced."""
    document = copied(document)
    at(document, path)[path[-1]] = value
    return dumped(document)


def renamed(document: Any, path: tuple, key: str) -> bytes:
    """Return a document as YAML with one key replaced, its place among the others kept."""
    document = copied(document)
    inner = at(document, path)
    entries = [(key if name == path[-1] else name, value) for name, value in inner.items()]
    inner.clear()
    inner.update(entries)
    return dumped(document)


def dumped(document: Any) -> bytes:
    """Return a document as YAML; parts that did not change are written once."""
    is_mapping = isinstance(document, dict)
    parts = [{key: value} for key, value in document.items()] if is_mapping else [[each] for each in document]
    for part in parts:
        if repr(part) not in WRITTEN:
            WRITTEN[repr(part)] = yaml.dump(part, Dumper=Dumper, sort_keys=False, allow_unicode=True).encode()
    return b"".join(WRITTEN[repr(part)] for part in parts)


def wrong_types(key: object, value: Any) -> dict[str, Any]:
    """Return values of other types that can stand nowhere in the place of a value, by what they are."""
    if isinstance(value, bool):
        return {"no yes or no": "perhaps"}
    if isinstance(value, int | float):
        below = {} if key in SIGNED else {"below zero": -3}
        return {"a word for a number": "abc", "not a number": float("nan"), **below}
    if isinstance(value, str):
        return {"a mapping for text": {"text": value}}
    if isinstance(value, list):
        return {"a mapping for a list": {"first": 1}}
    return {"a list for a mapping": [3]}


def from_files() -> Iterator[Mistake]:
    """Yield a misspelt key, a replaced name and changed types for each distinct place of each kind of file."""
    for kind, glob in KINDS.items():
        seen: set[tuple] = set()
        for file in sorted(ROOT.glob(glob)):
            document = copied(read_yaml(file))
            for path, value in nodes(document):
                if pattern(kind, path) not in seen and "for_each" not in path:
                    seen.add(pattern(kind, path))
                    yield from at_a_place(kind, str(file.relative_to(ROOT)), document, path, value)


def at_a_place(kind: str, name: str, document: Any, path: tuple, value: Any) -> Iterator[Mistake]:
    """Yield the mistakes at one place of a file."""
    shown, told = ".".join(map(str, path)), (Path(name).name, entry(document, kind, path))
    if is_known_key(kind, path):
        wrong = misspelt(path[-1])
        content = partial(renamed, document, path, wrong)
        yield Mistake(f"{name}: key {shown} misspelt as {wrong}", {name: content}, (*told, wrong))
    if isinstance(value, str) and not any(part in FREE for part in path):
        # Of an expression the first cell or column that is named in it.
        cell = re.search(
            r"(?<=\{)[^{}]+(?=\})" if path[-1] == "formula" else r"(?<=\{)[^{}]+/[^{}]+(?=\})", value
        )
        name_in = cell[0] if cell else value
        wrong = value.replace(name_in, misspelt(name_in), 1)
        content = partial(changed, document, path, wrong)
        # A block of rows and `over` of a claim fill in what stands in braces.
        told_name = misspelt(name_in).partition("{")[0]
        yield Mistake(f"{name}: name {shown} misspelt as {wrong}", {name: content}, (*told, told_name))
    keys = [part for part in path if isinstance(part, str) and part not in SHORT[kind]]
    for what, other in wrong_types(keys[-1] if keys else "", value).items():
        content = partial(changed, document, path, other)
        # A word in the place of a number that a claim compares with is taken for a cell.
        last = [other] if kind == "claims" and other == "abc" else keys[-1:]
        yield Mistake(f"{name}: {shown} is {what}", {name: content}, (*told, *last))


def is_known_key(kind: str, path: tuple) -> bool:
    """Return whether a place has a key that the machine knows: no number of a list, no name that a person chose."""
    if not isinstance(path[-1], str) or (kind == "recipes" and len(path) == 1):
        return False
    if kind == "datasets" and path[0] in ("sizes", "percentages"):
        # Below the paths stand the files of a set; a percentage is told apart by a pattern.
        return len(path) == 1 or (path[0] == "sizes" and len(path) == 2) or len(path) > 3
    return len(path) < 2 or path[-2] not in NAMED


# Mistakes that are written down in mistakes.yaml

NEW_TABLE = """
id: simcse/table9
kind: table
title: A
place: B
setting: {metric: spearman}
columns: [COLUMNS]
rows:
  - {id: first, encoder: ENCODER}
  - {id: second, encoder: {use: unsup}}
"""
# What no file of YAML may be, whatever it says.
NO_DOCUMENTS = {
    "not UTF-8": b"title: \xff\xfe\n",
    "a tag that makes objects": b"!!python/object/apply:os.system [echo]",
    "a broken document": b"a: [1, 2",
    "two documents": b"a: 1\n---\nb: 2\n",
    "nothing": b"",
    "a text": b"only words\n",
    "a folder": None,
}


def written() -> Iterator[Mistake]:
    """Yield the mistakes of mistakes.yaml, and files that are no document at all."""
    simcse = f"{PAPERS}/simcse"
    for entry in WRITTEN_DOWN["recipes"]:
        yield added(f"{simcse}/recipes.yaml", f"planted: {{like: unsup, {entry['recipe']}}}\n", entry["told"])
    for entry in WRITTEN_DOWN["rows"]:
        last = "masks: fixed}}}"
        new = f"{last}\n    {entry['row']}"
        yield edited(f"{simcse}/tables/table3.yaml", last, new, entry["told"], "simcse/table3")
    for entry in WRITTEN_DOWN["tables"]:
        text = NEW_TABLE.replace("COLUMNS", entry["columns"])
        text = text.replace("ENCODER", entry.get("encoder", "{use: unsup}"))
        yield added(f"{simcse}/tables/table9.yaml", text, entry["told"], "simcse/table9")
    for file, entries in WRITTEN_DOWN["files"].items():
        for entry in entries:
            if "add" in entry:
                yield added(file, entry["add"], entry["told"])
            else:
                further = {key: entry[key] for key in ("item", "late") if key in entry}
                yield edited(file, entry["replace"], entry["by"], entry["told"], **further)
    for name in ("recipes", "tables/table3"):
        told = (f"{Path(name).name}.yaml",)
        for what, content in NO_DOCUMENTS.items():
            yield Mistake(f"{name}.yaml: {what}", {f"{simcse}/{name}.yaml": content}, told)


def edited(file: str, old: str, new: str, told: list[str], item: str = "", late: bool = False) -> Mistake:
    """Return the mistake of replacing text in a file, and words that must be told."""
    text = (ROOT / file).read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    what = f"{file}: {old.strip()!r} -> {new.strip()[:60]!r}"
    return Mistake(what, {file: text.replace(old, new, 1).encode()}, (Path(file).name, *told), item, late)


def added(file: str, text: str, told: list[str], item: str = "") -> Mistake:
    """Return the mistake of a file with more text at its end, or of a new file."""
    path = ROOT / file
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    what = f"{file}: with {' '.join(text.split())[-90:]!r}"
    return Mistake(what, {file: (before + text).encode()}, (Path(file).name, *told), item)


BY_HAND = list(written())
MADE = list(from_files())


def kind_of(mistake: Mistake) -> str:
    """Return the kind of file of a mistake that was made from the files."""
    return next(kind for kind, glob in KINDS.items() if Path(next(iter(mistake.files))).match(glob))


# Planting


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A copy of the workflow's data and of the configs, in which papers that did not change are read once."""
    folder = tmp_path_factory.mktemp("study")
    ignored = shutil.ignore_patterns("*.smk", "profiles")
    shutil.copytree(ROOT / "workflow", folder / "workflow", ignore=ignored)
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copy(ROOT / "config.yaml", folder)
    return folder


@contextlib.contextmanager
def planted(study: Path, mistake: Mistake) -> Iterator[None]:
    """Write a mistake's files into the copy, and bring it back to what it was."""
    paths = {name: study / name for name in mistake.files}
    before = {name: path.read_bytes() if path.exists() else None for name, path in paths.items()}
    try:
        for name, content in mistake.files.items():
            path = study / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if content is None:
                path.mkdir()
            else:
                path.write_bytes(content if isinstance(content, bytes) else content())
        yield
    finally:
        for name, content in before.items():
            path = study / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            if content is not None:
                path.write_bytes(content)
            elif not any(path.parent.iterdir()):
                path.parent.rmdir()


def validated(
    study: Path, config: str = "config.yaml", verb: tuple[str, ...] = ("validate",)
) -> tuple[int, str]:
    """Return exit code and error text of `replicse validate`, or another verb, on the copy."""
    errors = io.StringIO()
    with (
        contextlib.chdir(study),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        code = cli.main([*verb, "--workflow", "workflow", "--config", config])
    return code, errors.getvalue()


def refused(study: Path, mistake: Mistake, *verb: str) -> None:
    """Assert that `validate`, or another verb, refuses a mistake in one sentence that names its place."""
    config = next((name for name in mistake.files if name.startswith("config")), "config.yaml")
    with planted(study, mistake):
        code, text = validated(study, config, verb or ("validate",))
    assert code == 2, f"{mistake}: accepted"
    sentence = text.partition(": ")[2].strip()
    assert "\n" not in sentence and "Traceback" not in sentence, sentence
    missing = [word for word in mistake.told if word not in sentence]
    assert not missing, f"{mistake}: {sentence!r} does not name {missing}"
    assert len(sentence) < 400 and "{'" not in sentence.partition("; expected")[0], sentence


def refused_early(study: Path, mistake: Mistake) -> None:
    """Assert that the plan of the item that a mistake names refuses it, or `validate` where it names none."""
    scale = "micro" if "workflow/scales/micro.yaml" in mistake.files else "paper"
    refused(study, mistake, *(["plan", *mistake.item.split(), "--scale", scale] if mistake.item else []))
