"""Scales: what the symbolic names of the papers (bert-base, wiki, one epoch) stand for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.paper.validation import check, read_yaml
from replicse.study.plan.specs import tidy


@dataclass(frozen=True)
class Scale:
    """One scale: backbones, tokenizers, corpora, and how runs are adjusted to its size."""

    name: str
    title: str
    shows: str
    comparable: bool
    judges_orders: bool
    source: str
    files: tuple[str, ...]
    backbones: Mapping[str, Mapping[str, Any]]
    tokenizers: Mapping[str, Mapping[str, Any]]
    corpora: Mapping[str, Mapping[str, Any]]
    released: Mapping[str, Mapping[str, Any]]
    vectors: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Mapping[str, Any]]
    augmentations: Mapping[str, Mapping[str, Any]]
    cost: Mapping[str, Any]
    adjust: tuple[Mapping[str, Any], ...]
    recipes: Mapping[str, str]
    grids: Mapping[str, Sequence[Any]]
    file: Path

    def corpus(self, name: str, where: str) -> dict[str, Any]:
        """Return the recipe of a corpus under its symbolic name; its expected rows are no part of it."""
        recipe = {key: entry for key, entry in self._named("corpora", name, where).items() if key != "rows"}
        return {"name": name, **recipe}

    def rows(self, name: str) -> int | None:
        """Return the rows a corpus is expected to have, where the scale says so."""
        return self.corpora.get(name, {}).get("rows")

    def backbone(self, name: str, where: str) -> Mapping[str, Any]:
        """Return a backbone: hub id, folder, or the run that pre-trains it."""
        return self._named("backbones", name, where)

    def released_encoder(self, name: str, where: str) -> Mapping[str, Any]:
        """Return a released checkpoint: hub id and revision, or what stands in for it at this scale."""
        return self._named("released", name, where)

    def word_vectors(self, name: str, where: str) -> Mapping[str, Any]:
        """Return a file of word vectors and how sentences are split into words."""
        return self._named("vectors", name, where)

    def tokenizer(self, name: str, where: str) -> dict[str, Any]:
        """Return the recipe of a tokenizer, its corpus resolved."""
        recipe = dict(self._named("tokenizers", name, where))
        if "corpus" in recipe:
            recipe["corpus"] = self.corpus(recipe["corpus"], where)
        return {"name": name, **recipe}

    def _named(self, kind: str, name: str, where: str) -> Mapping[str, Any]:
        known = getattr(self, kind)
        if name not in known:
            raise BadInput(f'{where}: {kind} of scale {self.name} hold no "{name}"{nearest(name, known)}')
        return known[name]

    def recipe(self, paper: str, name: str) -> str:
        """Return the name of a paper's recipe, or of the one that stands in for it at this scale."""
        full = name if "/" in name else f"{paper}/{name}"
        return self.recipes.get(full, name)

    def tried(self, grid: Mapping[str, Sequence[Any]], where: str) -> dict[str, list[Any]]:
        """Return the values of a grid that are tried at this scale, in the paper's order."""
        found = {}
        for name, values in grid.items():
            wanted = tidy(self.grids.get(name, values))
            found[name] = [value for value in values if tidy(value) in wanted]
            if not found[name]:
                raise BadInput(
                    f"{where}: scale {self.name} tries {wanted} of the grid {name}, but it has {values}"
                )
        return found

    def adjusted(self, run: dict[str, Any]) -> dict[str, Any]:
        """Return a run's plain data at this scale: factors, bounds and fixed values of `adjust`, in order."""
        for rule in self.adjust:
            section, _, key = rule["path"].partition(".")
            part = dict(run.get(section, {}))
            old = part.get(key)
            if "factor" in rule and old is not None:
                part[key] = float(old) * rule["factor"]
            elif "at_most" in rule:
                part[key] = rule["at_most"] if old is None else min(int(old), rule["at_most"])
            elif "set" in rule:
                part[key] = rule["set"]
            run = {**run, section: part}
        return run


def load_scale(path: Path, schemas: Path) -> Scale:
    """Return the scale in a YAML file."""
    document = read_yaml(path)
    check(document, schemas / "scale.schema.json", path)
    if document["name"] != path.stem:
        raise BadInput(f'{path}: name is "{document["name"]}"; expected "{path.stem}"')
    return Scale(
        name=document["name"],
        title=document["title"],
        shows=document["shows"],
        comparable=document["comparable"],
        judges_orders=document["judges_orders"],
        source=document["data"]["source"],
        files=tuple(document["data"].get("files", ())),
        backbones=document["backbones"],
        tokenizers=document.get("tokenizers", {}),
        corpora=document["corpora"],
        released=document.get("released", {}),
        vectors=document.get("vectors", {}),
        options=document.get("options", {}),
        augmentations=document.get("augmentations", {}),
        cost=document["cost"],
        adjust=tuple(document.get("adjust", ())),
        recipes=document.get("recipes", {}),
        grids=document.get("grids", {}),
        file=path,
    )
