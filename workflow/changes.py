"""Hold changes of expectations to workflow/changes.csv: `python workflow/changes.py`, as `make lint` does.

An expectation is a printed number, a claim, a rule of verdicts, or the mean of a committed cell. What differs from the
last tag has a row with its reason: `since` (the tag), `what` (a name, or its beginning and *), `reason`.
"""

import ast
import csv
import io
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIST = "workflow/changes.csv"
FIELDS = ["since", "what", "reason"]
RULES = ("src/replicse/study/results/verdict.py", "src/replicse/registry/levels.py")
# Without a spread a committed value changes where its second decimal does.
ROUNDING = 0.005
Read = Callable[[str], str]
Values = list[float]
Expectations = tuple[Mapping[str, str], Mapping[str, Values]]


def expectations(names: list[str], read: Read) -> tuple[dict[str, str], dict[str, Values]]:
    """Return printed numbers, claims and rules as text, and committed cells as values, by name."""
    texts: dict[str, str] = {}
    values: dict[str, Values] = {}
    for name in names:
        parts = name.split("/")
        if name.startswith("workflow/papers/") and parts[-1] == "reported.csv":
            texts |= dict(printed(parts[2], read(name)))
        elif name.startswith("workflow/papers/") and parts[-1] == "claims.yaml":
            texts |= dict(claims(parts[2], read(name)))
        elif name in RULES:
            texts |= dict(rules(parts[-1], read(name)))
        elif name.startswith("reports/studies/") and parts[-1] == "cells.csv":
            values |= committed(parts[2], read(name))
    return texts, values


def printed(paper: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the printed cells of a paper; where they are printed, and notes, are no expectation."""
    for row in csv.DictReader(io.StringIO(text)):
        name = "/".join(row[key] for key in ("item", "row", "column", "metric"))
        said = {key: row.get(key) or "" for key in ("value", "statistic", "q", "seeds", "sd")}
        yield f"printed {paper}/{name}", json.dumps(said)


def claims(paper: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the claims of a paper."""
    for entry in yaml.safe_load(text) or []:
        yield f"claim {paper}/{entry['id']}", json.dumps(entry, sort_keys=True)


def rules(file: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the functions and constants of a module without their docstrings and comments."""
    for node in ast.parse(text).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        name = getattr(node, "name", "") or getattr(targets[0], "id", "")
        if name:
            for inner in ast.walk(node):
                body = getattr(inner, "body", None)
                if isinstance(body, list) and body and ast.get_docstring(inner, clean=False) is not None:
                    inner.body = body[1:] or [ast.Pass()]
            yield f"rule {file}/{name}", ast.dump(node)


def committed(study: str, text: str) -> dict[str, Values]:
    """Return the values over seeds of every cell of a committed study."""
    values: dict[str, Values] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(text)):
        try:
            number = float(row["value"])
        except ValueError:
            continue
        name = "/".join(row[key] for key in ("paper", "item", "row", "column", "metric"))
        protocol = "" if row["protocol"] == "as-described" else f"@{row['protocol']}"
        values[f"committed {study}/{name}{protocol}"].append(number)
    return dict(values)


def beyond_spread(old: Values, new: Values) -> bool:
    """Return whether the mean moved by more than the larger standard deviation over seeds."""
    spread = max((statistics.stdev(side) for side in (old, new) if len(side) > 1), default=ROUNDING)
    return abs(statistics.fmean(old) - statistics.fmean(new)) > max(spread, 1e-9)


def changed(old: Expectations, new: Expectations) -> list[str]:
    """Return the names of what differs or is gone; what is new was no expectation before."""
    texts = [name for name, text in old[0].items() if new[0].get(name) != text]
    gone = [name for name in old[1] if name not in new[1]]
    moved = [
        name for name, values in old[1].items() if name in new[1] and beyond_spread(values, new[1][name])
    ]
    return sorted([*texts, *gone, *moved])


def problems(changes: list[str], rows: list[dict[str, str]], tag: str) -> Iterator[str]:
    """Yield each change without a row, each row without a reason, and each row that names no change."""
    reasons = [row for row in rows if row.get("since") == tag]
    for name in changes:
        if not any(_names(row["what"], name) for row in reasons):
            yield f"{name} differs from {tag}; add a row with its reason to {LIST}"
    for row in reasons:
        if not (row.get("reason") or "").strip():
            yield f"{LIST}: {row['what']} has no reason; say why it differs from {tag}"
        elif not any(_names(row["what"], name) for name in changes):
            yield f"{LIST}: {row['what']} does not differ from {tag}; take the row out"


def _names(what: str, name: str) -> bool:
    return name.startswith(what[:-1]) if what.endswith("*") else name == what


def git(root: Path, *words: str) -> str:
    """Return what git says; an empty text where it fails."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def check(root: Path = ROOT) -> list[str]:
    """Return what is wrong; nothing where there is no tag yet."""
    tag = git(root, "describe", "--tags", "--abbrev=0").strip()
    if not tag:
        return []
    with (root / LIST).open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
        if reader.fieldnames != FIELDS:
            return [f"{LIST}: fields are {reader.fieldnames}; expected {FIELDS}"]
    then = git(root, "ls-tree", "-r", "--name-only", tag).splitlines()
    now = git(root, "ls-files").splitlines()
    old = expectations(then, lambda name: git(root, "show", f"{tag}:{name}"))
    there = [name for name in now if (root / name).is_file()]
    new = expectations(there, lambda name: (root / name).read_text(encoding="utf-8"))
    return list(problems(changed(old, new), rows, tag))


if __name__ == "__main__":
    found = check()
    print("\n".join(found), file=sys.stderr)
    sys.exit(bool(found))
