"""Planted mistakes in users' files, which `validate` should refuse.

mistakes.yaml lists the mistakes. `make test` plants a single mistake for each file; `make check` plants all.
"""

import contextlib
import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from places import ROOT

from replicse import cli

PAPERS = "workflow/papers"
WRITTEN_DOWN = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Mistake:
    """Overwritten files, and the expected words of the error message.

    Attributes:
        what: Description of the mistake, used as the test's id.
        files: Dict from a path to the new content; None creates a folder instead.
        told: Words of the error message.
        item: Item, with options of `plan`. If given, `plan` of this item should also refuse the mistake,
            which is faster than `validate`. Default: an empty string.
        late: Whether only `validate` finds the mistake, after all items are planned. Only `make check` plants
            such mistakes. Default: False.
    """

    what: str
    files: dict[str, bytes | None]
    told: tuple[str, ...]
    item: str = ""
    late: bool = False

    def __str__(self) -> str:
        return self.what


# Mistakes of mistakes.yaml

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
# Contents that are invalid in every YAML file.
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
    """Yield the mistakes of mistakes.yaml, and files that are not valid YAML."""
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
    """Create a mistake: another string in a file.

    Args:
        file: Path in the repository.
        old: String to replace, which the file must contain.
        new: Replacement.
        told: Words of the error message, besides the name of the file.
        item: Item whose plan also refuses the mistake. Default: no item.
        late: Whether only `validate` finds the mistake. Default: False.
    """
    text = (ROOT / file).read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    what = f"{file}: {old.strip()!r} -> {new.strip()[:60]!r}"
    return Mistake(what, {file: text.replace(old, new, 1).encode()}, (Path(file).name, *told), item, late)


def added(file: str, text: str, told: list[str], item: str = "") -> Mistake:
    """Return a mistake that appends a string to a file, or creates the file.

    Args:
        file: Path in the repository.
        text: String to append.
        told: Words of the error message, besides the name of the file.
        item: Item whose plan also refuses the mistake. Default: no item.
    """
    path = ROOT / file
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    what = f"{file}: with {' '.join(text.split())[-90:]!r}"
    return Mistake(what, {file: (before + text).encode()}, (Path(file).name, *told), item)


BY_HAND = list(written())

# Planting


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """Copy the data files of the workflow and the configs."""
    folder = tmp_path_factory.mktemp("study")
    ignored = shutil.ignore_patterns("*.smk", "profiles")
    shutil.copytree(ROOT / "workflow", folder / "workflow", ignore=ignored)
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copy(ROOT / "config.yaml", folder)
    return folder


@contextlib.contextmanager
def planted(study: Path, mistake: Mistake) -> Iterator[None]:
    """Write the files of a mistake to the copy; restore the copy afterwards."""
    before = {}
    for name in mistake.files:
        path = study / name
        before[name] = path.read_bytes() if path.exists() else None
    try:
        for name, content in mistake.files.items():
            path = study / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if content is None:
                path.mkdir()
            else:
                path.write_bytes(content)
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
    """Run a verb on the copy.

    Args:
        study: Folder of the copy.
        config: Path of the config file. Default: "config.yaml".
        verb: Words of the command. Default: ("validate",).

    Returns:
        The exit code and the error output.
    """
    errors = io.StringIO()
    with (
        contextlib.chdir(study),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        code = cli.main([*verb, "--workflow", "workflow", "--config", config])
    return code, errors.getvalue()


def refused(study: Path, mistake: Mistake, *verb: str) -> None:
    """Check that a verb refuses a mistake with a single helpful sentence.

    Args:
        study: Folder of the copy.
        mistake: The mistake to plant.
        verb: Words of the command. Default: `validate`.
    """
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
    """Check that `plan` of the mistake's item refuses it, else `validate`."""
    scale = "micro" if "workflow/scales/micro.yaml" in mistake.files else "paper"
    refused(study, mistake, *(["plan", *mistake.item.split(), "--scale", scale] if mistake.item else []))
