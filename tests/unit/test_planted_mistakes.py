"""One mistake at a time, planted in every kind of file that a person writes: `validate` must refuse each of them.

The mistakes are made from the files of the repository: for every place in a kind of file its key is misspelt, its
name replaced and its type changed; what a machine does not think of is written below by hand.
"""

import contextlib
import copy
import io
import shutil
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
from replicse.study.paper import papers as papers_module

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
    "config": "config*.yaml",
}
# Mappings whose keys are names that a person chose: to misspell one of them need not be a mistake.
NAMED = {
    *("backbones", "corpora", "tokenizers", "released", "vectors", "recipes", "queries", "also"),
    *("models", "datasets", "parts"),
}
# Mappings whose keys are names of something else: to misspell one of them always is.
REFERRING = {"options", "augmentations", "grids", "grid", "metric_paths", "cells", "printed", "terms", "papers"}
REFERRING |= {"rows", "sizes", "averages"}
# Text that says nothing to the machine, names that only others use, and what stands in a data set.
FREE = {
    *("title", "authors", "venue", "place", "label", "group", "note", "notes", "text", "evidence", "shows", "device"),
    *("id", "name", "hub", "url", "file", "files", "vocabulary", "first", "second", "third", "what", "seen", "commit"),
    *("task", "metric", "elsewhere", "tagger", "MSRpar", "evidence", "queries", "stop_words", "percentages", "root"),
}
SIGNED = {"right", "left", "weight"}  # numbers that may stand below zero


@dataclass(frozen=True)
class Mistake:
    """Files that are written over (None: a folder in the place of a file), and what the sentence must name."""

    what: str
    files: dict[str, Callable[[], bytes] | bytes | None]
    told: tuple[str, ...]

    def __str__(self) -> str:
        return self.what


# Mistakes that are made from the files


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


def pattern(kind: str, path: tuple) -> tuple:
    """Return a place with a star for numbers of a list and for names that a person chose."""
    named = NAMED | REFERRING
    return tuple(
        "*" if isinstance(key, int) or (kind == "recipes" and not place) or (place and path[place - 1] in named) else key
        for place, key in enumerate(path)
    )


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


def changed(document: Any, path: tuple, value: Any) -> bytes:
    """Return a document as YAML with one place replaced."""
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return dumped(document)


def renamed(document: Any, path: tuple, key: str) -> bytes:
    """Return a document as YAML with one key replaced, its place among the others kept."""
    document = copy.deepcopy(document)
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    entries = [(key if name == path[-1] else name, value) for name, value in inner.items()]
    inner.clear()
    inner.update(entries)
    return dumped(document)


def dumped(document: Any) -> bytes:
    """Return a document as YAML without aliases."""

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True).encode()


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
            document, name = read_yaml(file), str(file.relative_to(ROOT))
            for path, value in nodes(document):
                place = pattern(kind, path)
                if place in seen or "for_each" in path:
                    continue
                seen.add(place)
                shown = ".".join(map(str, path))
                told = (Path(name).name, entry(document, kind, path))
                key = next((part for part in reversed(path) if isinstance(part, str)), "")
                parent = path[-2] if len(path) > 1 else None
                if isinstance(path[-1], str) and parent not in NAMED and not (kind == "recipes" and len(path) == 1):
                    if parent != "percentages" and not (parent in ("sizes",) and False) and not _own_file_names(kind, path):
                        wrong = misspelt(path[-1])
                        yield Mistake(
                            f"{name}: key {shown} misspelt as {wrong}", {name: partial(renamed, document, path, wrong)},
                            (*told, wrong),
                        )
                if isinstance(value, str) and not any(part in FREE for part in path if part != "rows"):
                    wrong = misspelt(value)
                    yield Mistake(
                        f"{name}: name {shown} misspelt as {wrong}", {name: partial(changed, document, path, wrong)},
                        (*told, wrong),
                    )
                for what, other in wrong_types(key, value).items():
                    yield Mistake(
                        f"{name}: {shown} is {what}", {name: partial(changed, document, path, other)},
                        (*told, key),
                    )


def _own_file_names(kind: str, path: tuple) -> bool:
    """Return whether a key names a file of a data set, which the machine does not know."""
    return kind == "datasets" and len(path) == 3 and path[0] == "sizes"


MISTAKES = [*from_files()]


# Planting


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A copy of the workflow's data and of the configs, in which papers that did not change are read once."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copytree(ROOT / "workflow", folder / "workflow", ignore=shutil.ignore_patterns("*.smk", "profiles"))
    for file in ROOT.glob("config*.yaml"):
        shutil.copy(file, folder)
    return folder


@pytest.fixture
def papers_read_once(monkeypatch) -> None:
    """Let a paper be read again only where a file of it changed."""
    monkeypatch.setattr(papers_module, "load_paper", once_per_content)


LOAD_PAPER, READ = papers_module.load_paper, {}


def once_per_content(folder: Path) -> Any:
    """Return the paper of a folder, read again only where a file in it changed; mistakes are not kept."""
    try:
        state = tuple((path, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file())
    except OSError:
        return LOAD_PAPER(folder)
    if READ.get(folder, (None,))[0] != state:
        READ[folder] = state, LOAD_PAPER(folder)
    return READ[folder][1]


@contextlib.contextmanager
def planted(study: Path, mistake: Mistake) -> Iterator[None]:
    """Write a mistake's files into the copy, and bring it back to what it was."""
    before = {name: (study / name).read_bytes() if (study / name).exists() else None for name in mistake.files}
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


def validated(study: Path, config: str = "config.yaml") -> tuple[int, str]:
    """Return exit code and error text of `replicse validate` on the copy."""
    errors = io.StringIO()
    with contextlib.chdir(study), contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = cli.main(["validate", "--workflow", "workflow", "--config", config])
    return code, errors.getvalue()


def refused(study: Path, mistake: Mistake) -> None:
    """Assert that a mistake is refused in one sentence that names its place."""
    config = next((name for name in mistake.files if name.startswith("config")), "config.yaml")
    with planted(study, mistake):
        code, text = validated(study, config)
    assert code == 2, f"{mistake}: accepted"
    sentence = text.removeprefix("replicse validate: ").strip()
    assert "\n" not in sentence and "Traceback" not in sentence, sentence
    missing = [word for word in mistake.told if word not in sentence]
    assert not missing, f"{mistake}: {sentence!r} does not name {missing}"
    assert len(sentence) < 400 and "{'" not in sentence.partition("; expected")[0], sentence


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
@pytest.mark.usefixtures("papers_read_once")
def test_a_planted_mistake_is_refused(study, mistake):
    refused(study, mistake)
