"""One mistake at a time, planted in every kind of file that a person writes: `validate` must refuse each of them.

The mistakes are made from the files of the repository: for every place in a kind of file its key is misspelt, its
name replaced and its type changed; what a machine does not think of is written below by hand. All of them are planted
by `make fuzz`, about 150 of all kinds by `make test`.
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
# Mappings whose keys are names that a person chose: to misspell one of them need not be a mistake.
NAMED = {
    *("backbones", "corpora", "tokenizers", "released", "vectors", "recipes", "queries", "also"),
    # Below `columns` of a hub data set stand the names that the hub has for them.
    *("models", "datasets", "readings", "columns"),
}
# Mappings whose keys are names of something else: to misspell one of them always is.
REFERRING = {
    "options",
    "augmentations",
    "grids",
    "grid",
    "metric_paths",
    "cells",
    "printed",
    "terms",
    "papers",
}
REFERRING |= {"rows", "sizes", "averages", "downloads"}
# Text that says nothing to the machine, names that only others use, and what stands in a data set.
FREE = {
    *("mask", "template", "drop", "until"),
    *(
        "title",
        "authors",
        "venue",
        "place",
        "label",
        "group",
        "note",
        "notes",
        "text",
        "evidence",
        "untested",
        "against",
        "coverage",
        "shows",
        "device",
    ),
    *(
        "id",
        "name",
        "hub",
        "path",
        "split",
        "revision",
        "licence",
        "address",
        "member",
        "sha256",
        "by_hand",
        "url",
        "file",
        "files",
        "vocabulary",
        "first",
        "second",
        "third",
        "what",
        "seen",
        "commit",
    ),
    *(
        "task",
        "metric",
        "elsewhere",
        "tagger",
        "MSRpar",
        "evidence",
        "queries",
        "stop_words",
        "percentages",
        "root",
        # The header of a file of labelled sentences, which only the file knows.
        "sentences",
    ),
}
# Short spellings, of which the key above is told.
SHORT = defaultdict(
    set,
    table={"percentile", "argmax", "choice"},
    claims={"difference", "share", "change", "mean", "wins", "pareto", "dominance", "item", "column"},
)
SIGNED = {"right", "left", "weight", "alpha", "beta"}  # numbers that may stand below zero


@dataclass(frozen=True)
class Mistake:
    """Files that are written over (None: a folder in the place of a file), and what the sentence must name."""

    what: str
    files: dict[str, Callable[[], bytes] | bytes | None]
    told: tuple[str, ...]

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
    return tuple(
        "*"
        if isinstance(key, int) or (kind == "recipes" and not place) or (place and path[place - 1] in named)
        else key
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
    document = copied(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return dumped(document)


def renamed(document: Any, path: tuple, key: str) -> bytes:
    """Return a document as YAML with one key replaced, its place among the others kept."""
    document = copied(document)
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    entries = [(key if name == path[-1] else name, value) for name, value in inner.items()]
    inner.clear()
    inner.update(entries)
    return dumped(document)


def dumped(document: Any) -> bytes:
    """Return a document as YAML; parts that did not change are written once."""
    parts = (
        [{key: value} for key, value in document.items()]
        if isinstance(document, dict)
        else [[each] for each in document]
    )
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


# Mistakes that are written by hand


def edited(file: str, *edits: tuple[str, str] | str) -> Mistake:
    """Return the mistake of replacing text in a file: pairs of old and new, then words that must be told."""
    pairs = [edit for edit in edits if isinstance(edit, tuple)]
    text = (ROOT / file).read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text, f"{file} has no {old!r}"
        text = text.replace(old, new, 1)
    shown = "; ".join(f"{old.strip()!r} -> {new.strip()[:60]!r}" for old, new in pairs)
    told = tuple(edit for edit in edits if isinstance(edit, str))
    return Mistake(f"{file}: {shown}", {file: text.encode()}, (Path(file).name, *told))


def added(file: str, text: str, *told: str) -> Mistake:
    """Return the mistake of a file with more text at its end, or of a new file."""
    path = ROOT / file
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    return Mistake(
        f"{file}: with {text.strip()[:70]!r}", {file: (before + text).encode()}, (Path(file).name, *told)
    )


def whole(file: str, what: str, content: bytes | None, *told: str) -> Mistake:
    """Return the mistake of a file that holds something else, or that is a folder."""
    return Mistake(f"{file}: {what}", {file: content}, (Path(file).name, *told))


TABLE, RECIPES = f"{PAPERS}/simcse/tables/table3.yaml", f"{PAPERS}/simcse/recipes.yaml"
SEARCH, PROTOCOLS = f"{PAPERS}/simcse/tables/tableA1.yaml", f"{PAPERS}/simcse/protocols.yaml"
REPORTED, SPREADS = f"{PAPERS}/simcse/reported.csv", f"{PAPERS}/simple/reported.csv"
CLAIMS, SEEDS = f"{PAPERS}/simcse/claims.yaml", f"{PAPERS}/simple/tables/table1.yaml"
DIFFERENCES = f"{PAPERS}/repro/tables/table4.yaml"
SCALES = [f"workflow/scales/{name}.yaml" for name in ("micro", "compact", "paper")]
MICRO, COMPACT, PAPER = SCALES
NUMBERS = ("abc", "77,8", "1e999", "nan", "inf", "7 7.8", "82.5.1", "--82.5")
# What no file of YAML may be, whatever it says.
BROKEN = {
    "not UTF-8": b"title: \xff\xfe\n",
    "a broken document": b"a: [1, 2",
    "tabs": b"a:\n\t- b\n",
    "two documents": b"a: 1\n---\nb: 2\n",
    "nothing": b"",
    "a text": b"only words\n",
    "a null byte": b"a: \x00\n",
    "a key that is a list": b"? [a, b]\n: c\n",
    "a date": b"2021-02-30: 2021-02-30\n",
    "a folder": None,
}
# Values that a part of a recipe or of a row cannot have.
RANGES = {
    "optimisation": {
        "clip": (0, -1, "abc"),
        "warmup": (10, -0.1),
        "batch_size": (1, 0, -64, 2.5),
        "learning_rate": (0, -3e-5, "3e999"),
        "epochs": (0, 1.5),
        "steps": (0, -100),
        "weight_decay": (-0.1,),
        "max_length": (2,),
    },
    "dropout": {"hidden": (-0.1, 1, 1.5), "attention": (-0.1, "77,8"), "masks": ("fixd", 1)},
    "selection": {"every": (-1, 0.5), "metric": ("sts/STS-B/all", "sts-dev/STSB/all", "sts-dev/STS-B")},
    "pooling": {"train": ("random-head", "clss"), "test": ("clss", "max")},
}
ITEM = "id: simcse/table9\nkind: table\ntitle: A\nplace: B\nsetting: {metric: spearman}\n"
ROWS = "rows:\n  - {id: first, encoder: {use: unsup}}\n  - {id: second, encoder: {use: unsup}}\n"
SCORE = "{id: a, metric_path: sts/avg}"


def table(columns: str, rows: str = ROWS, *told: str, head: str = ITEM) -> Mistake:
    """Return a new table of SimCSE with a mistake."""
    return added(f"{PAPERS}/simcse/tables/table9.yaml", f"{head}columns: [{columns}]\n{rows}", *told)


def recipe(text: str, *told: str) -> Mistake:
    """Return a further recipe of SimCSE, like its unsupervised one, with a mistake."""
    return added(RECIPES, f"planted: {{like: unsup, {text}}}\n", "planted", *told)


def row(text: str, *told: str) -> Mistake:
    """Return a row of SimCSE's Table 3 with a mistake in what it evaluates."""
    return edited(TABLE, ("masks: fixed}}}", f"masks: fixed}}}}}}\n    {text}"), "fixed-0.1", *told)


def by_hand() -> Iterator[Mistake]:
    """Yield the mistakes that follow no pattern."""
    for file in (
        *(
            f"{PAPERS}/simcse/{name}"
            for name in ("paper.yaml", "recipes.yaml", "protocols.yaml", "claims.yaml", "text.yaml")
        ),
        *(TABLE, PAPER, "workflow/datasets.yaml", "config.yaml"),
    ):
        for what, content in BROKEN.items():
            yield whole(file, what, content)
    for file in (REPORTED, SPREADS):
        yield whole(file, "not UTF-8", b"item,row\n\xff\xfe\n")
        yield whole(file, "a folder", None)
        yield whole(file, "nothing", b"")
    yield whole(f"{PAPERS}/simcse/deviations.md", "not UTF-8", b"\xff\xfe")
    yield whole(f"{PAPERS}/simcse/deviations.md", "a folder", None)
    for file, right in (
        ("claim", "claims.yaml"),
        ("protocols", "protocols.yaml"),
        ("tables/table9", ".yaml"),
    ):
        yield added(f"{PAPERS}/simcse/{file}.yml", "[]\n", right)
    yield from _in_parts_of_runs()
    yield from _in_tables()
    yield from _in_recipes_and_protocols()
    yield from _in_claims()
    yield from _in_reported()
    yield from _in_scales()
    yield from _in_configs_and_papers()


def _in_parts_of_runs() -> Iterator[Mistake]:
    for section, keys in RANGES.items():
        for key, values in keys.items():
            for place, value in enumerate(values):
                # In a recipe, a row, the change of a protocol, a grid and a scale's rule by turns.
                yield recipe(
                    f'{section}: {{{key}: "{value}"}}'
                    if isinstance(value, str)
                    else f"{section}: {{{key}: {value}}}",
                    key,
                    str(value)[:4],
                )
                plain = f'"{value}"' if isinstance(value, str) else value
                if place == 0:
                    yield row(f"also: {{other: {{run: {{{section}: {{{key}: {plain}}}}}}}}}", key)
                    change = f"change: {{run: {{{section}: {{{key}: {plain}}}}}}}"
                    yield edited(
                        PROTOCOLS, ("change: {run: {selection: {every: 250}}}", change), "eval-250", key
                    )
                    yield edited(
                        SEARCH, ("optimisation.batch_size: [64,", f"{section}.{key}: [{plain},"), key
                    )
                    yield edited(
                        MICRO, ("adjust:", f"adjust:\n  - {{path: {section}.{key}, set: {plain}}}"), key
                    )


def _in_tables() -> Iterator[Mistake]:
    yield table("{id: a, metric_path: sts-dev/STSB/all}", ROWS, "sts-dev/STSB/all", "column a")
    yield table("{id: a, metric_path: sts}", ROWS, '"sts"')
    yield table("{id: a, metric_path: /sts/avg}", ROWS, "/sts/avg")
    yield table(SCORE, "rows: []\n", "rows")
    yield table("", ROWS, "columns")
    yield table(f"{SCORE}, {SCORE}", ROWS, '"a"')
    yield table(SCORE, ROWS.replace("second", "first"), "first")
    yield table(SCORE, ROWS.replace("second", "a/b"), "a/b")
    yield table(SCORE, ROWS.replace("second", '"*"'), "rows[1]")
    yield table(SCORE, ROWS.replace("second", "-second"), "-second")
    yield table(SCORE, ROWS.replace("second", '"{second}"'), "{second}")
    yield table(SCORE, ROWS.replace("second", "a" * 200), "rows[1]")
    yield table(SCORE, ROWS.replace("second", "2021-02-03"), "rows[1]", "2021")
    yield table(SCORE, ROWS.replace("second", "yes"), "rows[1]")
    yield table(SCORE, ROWS.replace("second", "1.0"), "rows[1]")
    yield table("{id: a/b, metric_path: sts/avg}", ROWS, "a/b")
    yield table(SCORE, ROWS, "simcse/table8", head=ITEM.replace("table9", "table8"))
    yield table(SCORE, ROWS, "repro/table9", head=ITEM.replace("simcse", "repro"))
    for grid in ("optimisation.batch_size: [64, 128]", "terms.infonce.temperature: [0.05, 0.1]"):
        yield table(
            SCORE,
            ROWS.replace("use: unsup}", f"use: unsup, grid: {{{grid}}}}}", 1),
            "column a",
            "over.jobs",
            "first",
        )
    yield table("{id: a, metric_path: sts/avg, over: {jobs: max}}", ROWS, "column a", "over.jobs")
    searched = ROWS.replace("use: unsup", "use: unsup, grid: {optimisation.batch_size: [64, 128]}")
    for jobs in (
        "maximum",
        "{percentile: 101}",
        "{argmax: batch_size}",
        "{argmax: [1]}",
        "percentile",
        "argmax",
        "{q: 5}",
        "3",
    ):
        yield table(f"{{id: a, metric_path: sts/avg, over: {{jobs: {jobs}}}}}", searched, "(a).over.jobs")
    for seeds in (
        "percentile",
        "{percentile: -1}",
        "{percentile: many}",
        "{argmax: optimisation.batch_size}",
        "[mean]",
        "avg",
    ):
        yield table(f"{{id: a, metric_path: sts/avg, over: {{seeds: {seeds}}}}}", ROWS, "(a).over.seeds")
    for grid in (
        "{}",
        "{optimisation.batch_size: []}",
        "{optimisation.batchsize: [64]}",
        "{batch_size: [64]}",
        "{optimisation.batch_size: [abc]}",
        "{terms.infonse.temperature: [0.1]}",
        "{terms.infonce.temprature: [0.1]}",
        "{terms.infonce.temperature: [0]}",
        "{terms.mlm.ratio: [0.1]}",
        "{optimisation: [64]}",
        "{terms.rtd.generator: [bert]}",
    ):
        yield table(
            "{id: a, metric_path: sts/avg, over: {jobs: max}}",
            ROWS.replace("use: unsup", f"use: unsup, grid: {grid}"),
            "first" if grid != "{}" else "",
        )
    for formula in (
        "({a} + {b}",
        "{b}",
        "{a} ** 2",
        "3",
        "{a} + abs(1)",
        "{a}; 1",
        "__import__('os')",
        "{a} + '1'",
        "{a} {a}",
        "{A}",
    ):
        yield table(f'{SCORE}, {{id: c, kind: derived, formula: "{formula}"}}', ROWS, "c")
    yield table(f"{SCORE}, {{id: c, kind: derived}}", ROWS, "formula")
    yield table(
        f'{SCORE}, {{id: c, kind: derived, formula: "{{a}}", over: {{jobs: max}}}}', ROWS, "over.jobs"
    )
    yield table(f'{SCORE}, {{id: c, kind: derived, formula: "{{c}}"}}', ROWS, '"c"')
    yield table("{id: a, kind: scroe, metric_path: sts/avg}", ROWS, "scroe")
    yield table("{id: a, kind: text, metric_path: sts/avg, over: {seeds: mean}}", ROWS, "over")
    yield table("{id: a, kind: difference, metric_path: sts/avg}", ROWS, "subtract")
    yield table("{id: a, metric_path: retrieval/neighbours/fourth/query}", ROWS, "fourth")
    yield table("{id: a, metric_path: data/corpus/wkii/rows}", ROWS, "wkii")
    yield table("{id: a, metric_path: trajectory/10/alignment}", ROWS, "trajectory/10/alignment")
    yield table("{id: a, better: bigger, metric_path: sts/avg}", ROWS, "bigger")
    for item, column, metric, word in (
        ("simcse/table99", "stsb-dev", "spearman", "table99"),
        ("table1", "stsb-dev", "spearman", "table1"),
        ("simcse/table1", "stsb", "spearman", "stsb"),
        ("simcse/table1", "stsb-dev", "pearson", "pearson"),
    ):
        subtract = f"{{item: {item}, column: {column}, metric: {metric}}}"
        yield edited(
            DIFFERENCES,
            ("{item: simcse/table1, column: stsb-dev, metric: spearman}", subtract),
            "stsb-dev-delta",
            "subtract",
            word,
        )
    subtract = "{item: simcse/table1, column: stsb-dev, metric: spearman, row: noone}"
    yield edited(
        DIFFERENCES,
        ("{item: simcse/table1, column: stsb-dev, metric: spearman}", subtract),
        "stsb-dev-delta",
        "noone",
    )
    yield edited(f"{PAPERS}/repro/tables/table1.yaml", ("{id: bert-large,", "{id: bret-large,"), "bert-large")
    yield edited(TABLE, ("baseline: p0.1", "baseline: p0.11"), "p0.11")
    yield edited(TABLE, ("baseline: p0.1", "baseline: p0.1\nbaseline: p0.2"), "baseline")
    yield edited(TABLE, ("{hidden: 0.0, attention: 0.0}", "{hidden: 0.0, hidden: 0.0}"), "hidden")
    yield edited(TABLE, ("title: Dropout", "titel: Dropout"), "titel")
    yield edited(
        TABLE, ("title: Dropout probabilities on STS-B development (BERT-base)", 'title: ""'), "title"
    )
    yield edited(TABLE, ("figure: profile", "figure: pie"), "pie")
    yield edited(TABLE, ("figure: profile", "figure: effects"), ("baseline: p0.1\n", ""), "baseline")
    yield edited(TABLE, ("kind: table", "kind: tabel"), "tabel")
    yield edited(TABLE, ("kind: table\n", ""), "kind")
    yield edited(TABLE, ("place: Table 3, section 3\n", ""), "place")
    yield edited(f"{PAPERS}/simcse/tables/figure2.yaml", ("every: 10", "every: 0"), "trajectory.every")
    yield edited(f"{PAPERS}/simcse/tables/figure2.yaml", ("every: 10", "every: -1"), "trajectory.every")
    yield edited(
        f"{PAPERS}/simcse/tables/figure2.yaml", ("trajectory: {every: 10, until: 100}\n", ""), "trajectory"
    )
    yield edited(
        f"{PAPERS}/simcse/tables/figure2.yaml",
        ("encoder: {use: unsup}", "encoder: {backbone: bert-base}"),
        "figure2",
    )
    yield edited(
        f"{PAPERS}/simcse/tables/table4.yaml",
        ("lexical-overlap/qqp", "lexical-overlap/qpq"),
        "lexical-overlap/qpq",
        "qqp",
    )
    yield edited(f"{PAPERS}/diffcse/tables/table9.yaml", ("for_each: [{rank: 1}", "for_each: [1"), "for_each")
    yield edited(
        f"{PAPERS}/diffcse/tables/table9.yaml",
        ("for_each: [{rank: 1}, {rank: 2}, {rank: 3}]", "for_each: []"),
        "for_each",
    )
    yield edited(
        f"{PAPERS}/diffcse/tables/table9.yaml",
        ("for_each: [{rank: 1}, {rank: 2}, {rank: 3}]", "for_each: 3"),
        "for_each",
    )
    yield edited(
        f"{PAPERS}/diffcse/tables/table9.yaml",
        ("for_each: [{rank: 1}, {rank: 2}", "for_each: [{rank: 1}, {rnak: 2}"),
        "rank",
    )
    yield row("quoted: maybe", "quoted")
    yield row("also: {as-described: {use: unsup}}", "as-described")
    yield row("also: {a/b: {use: unsup}}", "a/b")
    yield row("also: {other: {use: unsup, backbone: bert-base}}", "use", "backbone")
    yield row("also: {other: {vary: {augment: {keep: 0.9}}}}", "other", "augment")
    yield row("also: {other: {vary: {terms: {mlm: {ratio: 0.1}}}}}", "other", "mlm")
    yield row("also: {other: {vary: {terms: {infonce: {temprature: 0.1}}}}}", "temprature")
    yield row("also: {other: {vary: {augment: {kepe: 0.9}}}}", "kepe")
    yield row("also: {other: {vary: {augment: {keep: 2}}}}", "keep")
    yield row("also: {other: {vary: {augment: {keep: 0.9, alpha: 0.1}}}}", "alpha")
    yield row("also: {other: {run: {objective: []}}}", "objective")
    yield row("also: {other: {run: {views: []}}}", "views")
    yield row("also: {other: {run: {init: {backbone: bert-base, use: sup}}}}", "init")
    yield row("also: {other: {run: {init: {backbone: bert-base, checkpoint: last}}}}", "init", "checkpoint")
    yield row("also: {other: {run: {corpus: nli}}}", "other", "text", "nli")
    yield row("also: {other: {postprocess: {name: whitening, fit: wkii}}}", "other", "wkii")
    yield row("also: {other: {postprocess: {name: bleaching, fit: wiki}}}", "bleaching")
    yield row("metric_paths: {stsb-dev: sts-dev/STS-B/al}", "sts-dev/STS-B/al")
    yield row("cells: {stsb-dv: {use: unsup}}", "stsb-dv")
    yield row("cells: {stsb-dev: {use: unspu}}", "unspu", "stsb-dev")
    yield row("printed: {stsb-dev: nowhere/stsb-dev}", "nowhere")
    yield row("printed: {stsb-dev: nowhere}", "nowhere")


def _in_recipes_and_protocols() -> Iterator[Mistake]:
    yield added(RECIPES, "planted: {like: unsup, like: unsup}\n", "like", "twice")
    yield added(RECIPES, "unsup:\n  corpus: wiki\n", "unsup")
    yield added(RECIPES, "planted: {like: planted}\n", "planted", "like")
    yield added(RECIPES, "planted: {like: other}\nother: {like: planted}\n", "planted", "other")
    yield added(RECIPES, "planted: {like: nobody}\n", "planted", "nobody")
    yield added(RECIPES, "planted: {like: repro/unsup}\n", "planted", "repro/unsup")
    yield added(RECIPES, "planted/more: {like: unsup}\n", "planted/more")
    yield added(RECIPES, "2021-02-03: {like: unsup}\n", "2021-02-03")
    yield added(RECIPES, "planted: unsup\n", "planted")
    yield added(RECIPES, "planted:\n", "planted")
    for text, *told in (
        ("corpus: wkii", "wkii"),
        ("corpus: [wiki]", "corpus"),
        ("init: {backbone: bert-bsae}", "bert-bsae"),
        ("init: {}", "init"),
        ("init: {backbone: bert-base, use: sup}", "init"),
        ("init: {use: planted}", "planted"),
        ("init: {use: nobody}", "nobody"),
        ("init: {use: sup, checkpoint: first}", "first"),
        ("init: {fresh: {tokenizer: uncased}}", "architecture"),
        ("views: [{column: text, agument: {name: crop, keep: 0.9}}]", "agument"),
        ("views: [{column: text}, {column: positive}]", "positive"),
        ("views: [text]", "views[0]"),
        ("views: [{column: text, augment: {name: corp, keep: 0.9}}]", "corp"),
        ("views: [{column: text, augment: {name: crop, kepe: 0.9}}]", "kepe"),
        ("views: [{column: text, augment: {name: crop, keep: 0}}]", "keep"),
        ("views: [{column: text, augment: {name: crop, keep: 1.1}}]", "keep"),
        ("views: [{column: text, augment: {name: crop}}]", "keep"),
        ("views: [{column: text, augment: {name: deletion, rate: -0.1}}]", "rate"),
        ("views: [{column: text, augment: {name: next-sentence, reach: 0}}]", "reach"),
        ("views: [{column: text, augment: {name: crop, keep: .nan}}]", "keep"),
        ("views: [{column: text, augment: {name: synonym, source: wordnte}}]", "wordnte"),
        ("views: [{column: text, augment: {name: synonym, source: ppdb, file: /etc/passwd}}]", "file"),
        ("views: [{column: text, augment: {name: synonym, source: ppdb, file: ../ppdb}}]", "file"),
        ("views: [{column: text, augment: {name: masked-lm, ratio: 0.1, encoder: folder}}]", "backbone"),
        ("views: [{column: text, augment: {name: masked-lm, ratio: 0.1, backbone: bret}}]", "bret"),
        ("views: [{column: text, augment: crop}]", "augment"),
        ("objective: [{term: infonec}]", "infonec"),
        ("objective: [infonce]", "objective[0]"),
        ("objective: [{temperature: 0.05}]", "term"),
        ("objective: [{term: infonce, temprature: 0.05}]", "temprature"),
        ("objective: [{term: infonce, temperature: 0}]", "temperature"),
        ("objective: [{term: infonce, temperature: -0.05}]", "temperature"),
        ("objective: [{term: infonce, weight: heavy}]", "weight"),
        ("objective: [{term: infonce, views: [0, 2]}]", "infonce", "2"),
        ("objective: [{term: infonce, views: [0]}]", "views"),
        ("objective: [{term: infonce, similarity: cosin}]", "cosin"),
        ("objective: [{term: mlm, ratio: 1}]", "ratio"),
        ("objective: [{term: mlm, ratio: 0}]", "ratio"),
        ("objective: [{term: rtd}]", "rtd", "generator"),
        ("objective: [{term: rtd, generator: distilbert-base}]", "generator"),
        ("objective: [{term: rtd, generator: {backbone: dist}}]", "dist"),
        (
            "objective: [{term: rtd, generator: {backbone: distilbert-base}, views: [0], condition: [0, 1]}]",
            "condition",
        ),
        ("objective: [{term: rtd, generator: {backbone: distilbert-base}, edit: swap}]", "swap"),
        ("encoders: three", "three"),
        ("head: pojector", "pojector"),
        ("head: {kind: projector, layers: 1}", "layers"),
        ("head: {kind: projector, widht: 8}", "widht"),
        ("engine: fast", "engine"),
        ("precision: fp8", "precision"),
        ("seed: 1", "seed"),
        ("trajectory: {every: 10}", "trajectory"),
    ):
        yield recipe(text, *told)
    first = "- id: first-transformer-layer"
    yield edited(PROTOCOLS, (first, "- id: eval-250"), "eval-250")
    yield edited(PROTOCOLS, (first, "- id: as-run"), "as-run")
    yield edited(PROTOCOLS, (first, "- id: a/b"), "a/b")
    yield edited(PROTOCOLS, (first, "- id: as-described"), "as-described")
    yield edited(
        PROTOCOLS, ("change: {pooling: first-last}", "change: {}"), "first-transformer-layer", "change"
    )
    yield edited(PROTOCOLS, ("  change: {pooling: first-last}\n", ""), "first-transformer-layer", "change")
    yield edited(PROTOCOLS, ("change: {pooling: first-last}", "change: {pooling: first-lats}"), "first-lats")
    yield edited(
        PROTOCOLS,
        ("change: {pooling: first-last}", "change: {pooling: first-last-0}"),
        "first-transformer-layer",
        "changes nothing",
    )
    yield edited(
        PROTOCOLS, ("{selection: {every: 250}}", "{selection: {every: 125}}"), "eval-250", "changes nothing"
    )
    yield edited(
        PROTOCOLS,
        ("change: {terms: {mlm: {in_place: true}}}", "change: {terms: {rtd: {average: sum}}}"),
        "masking-in-place",
        "rtd",
    )
    yield edited(PROTOCOLS, ("{in_place: true}", "{in_palce: true}"), "masking-in-place", "in_palce")
    yield edited(PROTOCOLS, ("{in_place: true}", "{in_place: 3}"), "masking-in-place", "in_place")
    yield edited(PROTOCOLS, ("{table1: all, table3: all}", "{table1: all, table3: {}}"), "eval-250", "table3")
    yield edited(PROTOCOLS, ("{table1: all, table3: all}", "{table1: al, table3: all}"), "eval-250", "table1")
    yield edited(
        PROTOCOLS, ("{table1: all, table3: all}", "{table1: all, table33: all}"), "eval-250", "table33"
    )
    yield edited(PROTOCOLS, ("{table1: all, table3: all}", "{}"), "eval-250", "cells")
    yield edited(
        PROTOCOLS, ("{table1: all, table3: all}", "{table1: all, table3: [p0.3]}"), "eval-250", "p0.3"
    )
    yield edited(PROTOCOLS, ("{table1: all, table3: all}", "{table1: all, table1: all}"), "table1")
    yield edited(PROTOCOLS, ("in_table: [table5]", "in_table: [table7]"), "first-transformer-layer", "table7")
    yield edited(
        PROTOCOLS,
        ("  cells: {table1: [crop-10, crop-20, crop-30]}", "  cells: {table1: [none]}"),
        "prefix-crop",
        "none",
    )
    yield edited(PROTOCOLS, ("change: {both_sides: true}", "change: {both_sides: false}"), "both-sides")
    yield edited(
        PROTOCOLS,
        ("change: {augment: {position: prefix}}", "change: {augment: {position: windwo}}"),
        "prefix-crop",
        "windwo",
    )
    yield edited(
        PROTOCOLS,
        ("change: {augment: {position: prefix}}", "change: {augment: {reach: 2}}"),
        "prefix-crop",
        "reach",
    )


def _in_claims() -> Iterator[Mistake]:
    cell = "table1/none/stsb-dev"
    yield edited(CLAIMS, ("- id: one-encoder", "- id: beats-next-sentence"), "beats-next-sentence")
    yield edited(CLAIMS, ("- id: one-encoder", "- id: one/encoder"), "one/encoder")
    for left in (
        "table1/none",
        "table1/nobody/stsb-dev",
        "table1/none/stsb",
        "simcse/table99/none/stsb-dev",
        "none",
        "simsce/table1/none/stsb-dev",
        "table1/none/stsb-dev/pearson",
        "table1/*/stsb",
        "",
    ):
        yield edited(CLAIMS, (f"left: {cell}", f'left: "{left}"'), "dropout-beats-augmentation", left)
    for left in (
        "{sum: [a, b]}",
        "{difference: [table1/none/stsb-dev]}",
        "{mean: []}",
        "{share: table1/none/stsb-dev}",
        "{}",
        "[]",
        "yes",
        "{pareto: {item: table1}}",
        ".nan",
        "[[table1/none/stsb-dev]]",
        "null",
        "{mean: [table1/none/stsb-dev], share: [a, b]}",
    ):
        yield edited(CLAIMS, (f"left: {cell}", f"left: {left}"), "dropout-beats-augmentation", "left")
    operator = ('left: table1/none/stsb-dev\n      op: ">"', f"left: {cell}\n      op: ")
    for op in (
        '"="',
        "within\n      margin: -1",
        "more",
        "1",
        '">"\n      margin: abc',
        '">"\n      margin: .inf',
        '">"\n      over: [a]',
    ):
        yield edited(CLAIMS, (operator[0], operator[1] + op), "dropout-beats-augmentation", "relations[0]")
    yield edited(
        CLAIMS,
        ("over: [unsup-simcse, no-dropout, fixed-0.1, delete-one-word]", "over: [unsup-simcse, no-dropuot]"),
        "uniformity-improves",
        "no-dropuot",
    )
    yield edited(
        CLAIMS,
        ("      over: [unsup-simcse, no-dropout, fixed-0.1, delete-one-word]\n", ""),
        "uniformity-improves",
    )
    yield edited(
        CLAIMS,
        ("figure2/{}/step 0/uniformity", "figure2/{}/step 5/uniformity"),
        "uniformity-improves",
        "step 5",
    )
    yield added(CLAIMS, "\n- {id: planted, text: A, place: B, relations: []}\n", "planted", "relations")
    yield added(
        CLAIMS,
        "\n- {id: planted, text: A, place: B, relations: [{left: 1, op: '>', right: 2}]}\n",
        "planted",
        "relations[0]",
    )
    yield added(
        CLAIMS,
        "\n- {id: planted, text: A, relations: [{left: 1, op: '>', right: table1/none/stsb-dev}]}\n",
        "planted",
        "place",
    )


def _in_reported() -> Iterator[Mistake]:
    line = "table1,crop-10,stsb-dev,spearman,77.8,Table 1,"
    for number in NUMBERS:
        written = f'"{number}"' if "," in number else number
        yield edited(REPORTED, (line, line.replace("77.8", written)), ":3:", number)
    for old, new in (
        ("table1", "tabel1"),
        ("table1", "Table1"),
        ("table1", ""),
        ("crop-10", "corp-10"),
        ("crop-10", ""),
        ("stsb-dev", "stsb-dve"),
        ("spearman", "pearson"),
        ("Table 1", ""),
        ("77.8,", "77,8,"),
        ("77.8", "77.8 ± 0.8"),
        ("77.8", "±0.8"),
        ("crop-10", "crop-10 "),
    ):
        yield edited(
            REPORTED,
            (line, line.replace(old, new)),
            *([] if old in ("table1", "crop-10", "stsb-dev", "spearman") and new else [":3:"]),
        )
    yield edited(REPORTED, (line, line.replace("77.8", "778")), "crop-10", '"778"', "-100 to 100")
    yield edited(REPORTED, (line, f"{line}\n{line}"), ":4:", "crop-10")
    yield edited(REPORTED, (line, f"{line},,,"), ":3:")
    yield edited(REPORTED, (line, "table1,crop-10,stsb-dev"), ":3:")
    yield edited(REPORTED, (line, line.replace("Table 1", '"Table 1')))
    yield edited(
        REPORTED,
        ("item,row,column,metric,value,source,note", "item,row,column,metric,vlaue,source,note"),
        ":1:",
        "vlaue",
    )
    yield edited(
        REPORTED,
        ("item,row,column,metric,value,source,note", "item;row;column;metric;value;source;note"),
        ":1:",
    )
    yield edited(REPORTED, ("item,row,column,metric,value,source,note\n", ""), ":1:")
    first = 'table1,bert-base,avg,spearman,75.11,"github.com/hppRC/simple-simcse, README (50 seeds)",,mean,,50,0.84'
    for old, new, key in (
        ("mean", "maen", "statistic"),
        ("mean", "percentile", "q"),
        (",50,", ",,", "seeds"),
        (",50,", ",0,", "seeds"),
        (",50,", ",-50,", "seeds"),
        (",50,", ",2.5,", "seeds"),
        (",50,", ",many,", "seeds"),
        ("0.84", "-0.84", "sd"),
        ("0.84", "0", "sd"),
        ("0.84", "abc", "sd"),
        ("0.84", "nan", "sd"),
        ("0.84", "1e999", "sd"),
        ("mean,,", "mean,5,", "q"),
        ("mean,,", "percentile,101,", "q"),
        ("mean,,", "percentile,abc,", "q"),
        ("mean", "single", "seeds"),
        ("75.11", "75.11 ± 0.48", "sd"),
    ):
        yield edited(SPREADS, (first, first.replace(old, new)), ":2:", key)
    yield edited(SPREADS, ("note,statistic,q,seeds,sd", "note,statistic,q,sedes,sd"), ":1:", "sedes")
    yield edited(SPREADS, ("note,statistic,q,seeds,sd", "note,statistic,seeds,sd"), ":1:")


def _in_scales() -> Iterator[Mistake]:
    for file in SCALES:
        yield edited(file, ("name: ", "name: x"), "name")
        yield edited(file, ("comparable: ", "comparable: not-"), "comparable")
        yield edited(file, ("cost: {device", "cost: {devcie"), "devcie")
        yield edited(file, ("cost: {", "cost: {flops: 0, "), "flops")
        yield edited(file, ("  wiki: {format: lines", "  wiki: {format: lnies"), "corpora.wiki", "lnies")
        yield edited(file, ("  wiki: {format: lines", "  wiki: {fromat: lines"), "fromat")
        yield edited(file, ("  wiki: {format: lines", "  wiki: {format: lines, limit: 0"), "limit")
        yield edited(
            file, ("  wiki: {format: lines, file: ", "  wiki: {format: lines, file: /"), "corpora.wiki.file"
        )
        yield edited(
            file, ("  wiki: {format: lines, file: ", "  wiki: {format: lines, file: ../"), "corpora.wiki.file"
        )
        yield edited(file, ("  wiki: {format: lines, file: ", "  wiki: {format: lines, fiel: "), "fiel")
        yield edited(file, ("  wiki: {format: lines", "  wikipedia: {format: lines"), "wiki")
        yield edited(file, ("  wiki: {format: lines", "  a/b: {format: lines"), "a/b")
        yield edited(file, ("  wiki: {format: lines", "  qqp: {format: lines"), "qqp")
        if file == PAPER:
            yield edited(file, ("keep: [entailment]", "keep: [entialment]"), "entialment")
            yield edited(file, ("labels: [entailment, neutral, contradiction]", "labels: []"), "labels")
        else:
            yield edited(file, ("labels: [entailment]", "labels: [entialment]"), "entialment")
            yield edited(file, ("labels: [entailment]", "labels: []"), "labels")
        yield edited(file, ("sample: &sample {rows: ", "sample: &sample {rows: -"), "sample.rows")
        yield edited(file, ("  retrieval:\n", "  retreival:\n"), "retreival")
        yield edited(file, ("    queries:\n", "    querys:\n"), "querys")
        yield edited(file, ("      first: ", "      frist: "), "first")
        yield edited(file, ("vectors:\n  glove:", "vectors:\n  golve:"), "glove")
        yield edited(file, ("  glove: {file: ", "  glove: {lower_case: sometimes, file: "), "sometimes")
        yield edited(file, ("  sbert-base: {", "  sbret-base: {"), "sbert-base")
        yield edited(file, ("  bert-base:", "  bret-base:"), "bert-base")
        yield edited(file, ("data:\n  source: ", "data:\n  source: x"), "data.source")
        yield edited(
            file,
            ("data:\n", "data:\n  files: [/etc/passwd]\n")
            if file == MICRO
            else ("  files:\n", "  files:\n    - ../../secret\n"),
            "data.files",
        )
    yield edited(
        PAPER,
        ("bert-base: {hub: bert-base-uncased}", "bert-base: {hub: bert-base-uncased, folder: models/bert}"),
        "backbones.bert-base",
    )
    yield edited(PAPER, ("bert-base: {hub: bert-base-uncased}", "bert-base: {}"), "backbones.bert-base")
    yield edited(
        PAPER,
        ("bert-base: {hub: bert-base-uncased}", "bert-base: {hub: bert-base-uncased, engine: fast}"),
        "engine",
    )
    yield edited(PAPER, ("pooling: cls-head}", "pooling: cls-haed}"), "cls-haed")
    yield edited(MICRO, ("train: wordpiece", "train: wordpeice"), "wordpeice")
    yield edited(MICRO, ("train: wordpiece, size: 2000", "train: wordpiece, size: 0"), "size")
    yield edited(MICRO, ("train: wordpiece, size: 2000, ", "train: wordpiece, "), "tokenizers.uncased")
    yield edited(MICRO, ("lowercase: true, corpus: wiki", "lowercase: true, corpus: wkii"), "wkii")
    yield edited(MICRO, ("synonym: {source: ppdb", "synonmy: {source: ppdb"), "synonmy")
    yield edited(MICRO, ("synonym: {source: ppdb", "synonym: {source: pdpb"), "pdpb")
    yield edited(MICRO, ("synonym: {source: ppdb", "synonym: {soucre: ppdb"), "soucre")
    yield edited(MICRO, ("family: bert,", "family: bret,"), "bret")
    yield edited(MICRO, ("layers: 2,", "layers: 0,"), "layers")
    yield edited(MICRO, ("embeddings: ppmi", "embeddings: pmi"), "embeddings")
    yield edited(MICRO, ("term: mlm, ratio: 0.15", "term: mlm, ratio: 15"), "ratio")
    yield edited(MICRO, ("{use: diffcse/diffcse}", "{use: diffcse}"), "diffcse")
    yield edited(
        MICRO,
        ("diffcse/diffcse-transfer: diffcse/diffcse\n", "diffcse/diffcse-transfer: diffcse/difcse\n"),
        "recipes",
        "diffcse/difcse",
    )
    yield edited(
        MICRO,
        ("diffcse/next-transfer: diffcse/next\n", "diffcse/netx-transfer: diffcse/next\n"),
        "recipes",
        "diffcse/netx-transfer",
    )
    for rule in (
        "path: optimisation.batchsize, at_most: 32",
        "path: optimisation.batch_size",
        "path: optimisation.batch_size, at_most: 16, factor: 2",
        "path: optimisation.batch_size, at_most: 0",
        "path: optimisation.batch_size, factor: -1",
        "path: terms.rtd.weight, factor: 2",
        "path: selection.metric, set: sts-dev/STSB/all",
        "path: corpus, set: wiki",
        "at_most: 32",
    ):
        yield edited(MICRO, ("path: optimisation.batch_size, at_most: 16", rule), "adjust[0]")
    for grid in (
        "optimisation.learning_rates: [1.0e-5]",
        "optimisation.learning_rate: []",
        "optimisation.learning_rate: [0]",
        "optimisation.learning_rate: 1.0e-5",
        "optimisation.learning_rate: [0.5]",
    ):
        yield edited(
            MICRO, ("optimisation.learning_rate: [7.0e-6, 1.0e-5, 3.0e-5, 5.0e-5]", grid), "learning_rate"
        )


def _in_configs_and_papers() -> Iterator[Mistake]:
    for old, new, *told in (
        ("scale: micro ", "scale: mirco ", "mirco"),
        ("scale: micro ", "scael: micro ", "scael"),
        ("scale: micro ", "scale: [micro] ", "scale"),
        ("scale: micro ", "scale: ../micro ", "../micro"),
        ("papers: all", "papers: al", "papers"),
        ("papers: all", "papers: {simsce: all}", "simsce"),
        ("papers: all", "papers: {simcse: [tabel3]}", "papers.simcse", "tabel3"),
        ("papers: all", "papers: {simcse: table3}", "papers.simcse"),
        ("papers: all", "papers: {}", "papers"),
        ("papers: all", "papers: {simcse: []}", "papers"),
        ("papers: all", "papers: [simsce]", "papers"),
        ("papers: all", "papers:", "papers"),
        ("papers: all", "papers: all\npapers: all", "papers"),
        ("repro/table6,", "repro/tabel6,", "adjudicate", "repro/tabel6"),
        ("repro/table6,", "table6,", "adjudicate", "table6"),
        ("seeds: [0]", "seeds: []", "seeds"),
        ("seeds: [0]", "seeds: [0, 0]", "seeds"),
        ("seeds: [0]", "seeds: [-1]", "seeds"),
        ("seeds: [0]", "seeds: 5", "seeds"),
        ("seeds: [0]", "seeds: [0.5]", "seeds"),
        ("seeds: [0]", "seeds: [a]", "seeds"),
        ("seeds: [0]", "seeds: [yes]", "seeds"),
        ("seeds: [0] ", "seeds: [2021-02-03] ", "seeds"),
        ("seeds: [0]", "sedes: [0]", "sedes"),
        ("seeds: [0]", "seeds: [.nan]", "seeds"),
        ("  source: null", "  source: remote", "data.source", "remote"),
        ("  root: null", "  root: []", "data.root"),
        ("  root: null", "  rote: null", "rote"),
        ("seeds: [0]", "seeds: [0]\nrows: {simcse/table3: [p0.3]}", "rows.simcse/table3", "p0.3"),
        ("seeds: [0]", "seeds: [0]\nrows: {simcse/table33: [p0.1]}", "rows", "simcse/table33"),
        ("seeds: [0]", "seeds: [0]\nrows: {simcse/table3: []}", "rows.simcse/table3"),
    ):
        yield edited("config.yaml", (old, new), *told)
    compact = "config/compact.yaml"
    yield edited(compact, ("table3, figure2", "table33, figure2"), "papers.simcse", "table33")
    yield edited(compact, ("adjudicate: [repro/table4", "adjudicate: [repro/table44"), "repro/table44")
    yield edited(compact, ("simcse/table3: [p0.0", "simcse/table3: [p0.00"), "p0.00")
    yield edited(compact, ("scale: compact", "scale: compcat"), "compcat")
    about = f"{PAPERS}/simcse/paper.yaml"
    for url in (
        "javascript:alert(1)",
        "https://a b.org",
        "ftp://a.org/b",
        "aclanthology.org",
        "https://",
        '"https://a.org/<b>"',
    ):
        yield edited(about, ("https://aclanthology.org/2021.emnlp-main.552", url), "url")
    yield edited(about, ("year: 2021", "year: 21"), "year")
    yield edited(about, ("year: 2021", "year: 2021-02-03"), "year")
    yield edited(about, ("[table1, table2,", "[table1, tabel2,"), "order", "tabel2")
    yield edited(about, ("[table1, table2,", "[table1, table1,"), "order", "table1")
    yield edited(about, ("venue: EMNLP 2021\n", ""), "venue")
    diffcse = f"{PAPERS}/diffcse/paper.yaml"
    yield edited(diffcse, ("elsewhere: [notebook, readme,", "elsewhere: [notebook, raedme,"), "raedme")
    said = f"{PAPERS}/simcse/text.yaml"
    yield edited(said, ("- {table5/ct-bert-base/avg}", "- {table5/ct-bert-bsae/avg}"), "ct-bert-bsae")
    yield edited(said, ("best-dropout/p]", "best-droput/p]"), "best-droput")
    yield edited(said, ("claim: temperature", "claim: temperatrue"), "temperatrue")
    yield edited(said, ("claim: temperature", "claim: hard-negatives"), "0.05")
    yield edited(
        said, ("searched: optimisation.batch_size", "searched: optimisation.bacth_size"), "batch_size"
    )
    yield edited(said, (", evaluation-interval/steps]", "]"), "evaluation-interval/steps")
    text = (ROOT / about).read_bytes()
    for key in ("simple-simcse", "under_score", "Upper", "dot.ted", "blank key"):
        name = f"{PAPERS}/{key}/paper.yaml"
        yield Mistake(f"{name}: a key that no folder and wildcard can hold", {name: text}, (key,))
    for key in ("under_score", "dot.ted", "text", "blank name"):
        name = f"{PAPERS}/simcse/tables/{key}.yaml"
        yield Mistake(f"{name}: a name that no item has", {name: b"id: simcse/table1\n"}, (f"{key}.yaml",))
    yield Mistake(
        "a scale of another name",
        {"workflow/scales/other.yaml": (ROOT / MICRO).read_bytes()},
        ("other.yaml", "micro"),
    )
    yield Mistake(
        "a table file that says another's id",
        {f"{PAPERS}/simcse/tables/table9.yaml": (ROOT / TABLE).read_bytes()},
        ("table9.yaml", "simcse/table3"),
    )


MISTAKES = [*from_files(), *by_hand()]


def stratum(mistake: Mistake) -> tuple[str, ...]:
    """Return the kind of file that a mistake stands in, and of what kind it is itself."""
    file = next(iter(mistake.files))
    kind = next((name for name, glob in KINDS.items() if Path(file).match(glob)), Path(file).name)
    what = str(mistake).removeprefix(f"{file}: ")
    machine = re.match(r"(key|name) .* misspelt|.* is (an? [a-z ]+|nothing)$", what)
    return kind, (machine[1] or machine[2]) if machine else "by hand"


def stratified(count: int) -> list[Mistake]:
    """Return about so many mistakes: of each stratum its share, and one at least."""
    strata = defaultdict(list)
    for mistake in MISTAKES:
        strata[stratum(mistake)].append(mistake)
    chosen = []
    for mistakes in strata.values():
        wanted = max(1, round(len(mistakes) * count / len(MISTAKES)))
        chosen += [mistakes[place * len(mistakes) // wanted] for place in range(wanted)]
    return chosen


# Planting


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A copy of the workflow's data and of the configs, in which papers that did not change are read once."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copytree(
        ROOT / "workflow", folder / "workflow", ignore=shutil.ignore_patterns("*.smk", "profiles")
    )
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copy(ROOT / "config.yaml", folder)
    return folder


@contextlib.contextmanager
def planted(study: Path, mistake: Mistake) -> Iterator[None]:
    """Write a mistake's files into the copy, and bring it back to what it was."""
    before = {
        name: (study / name).read_bytes() if (study / name).exists() else None for name in mistake.files
    }
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
    with (
        contextlib.chdir(study),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
    ):
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
