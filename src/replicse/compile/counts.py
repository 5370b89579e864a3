"""The counts of the data that a study shows: the payload of the job that computes them."""

from typing import Any

from replicse.compile.recipes import merge_recipe
from replicse.compile.study import Study


def describe_counts(study: Study) -> dict[str, Any]:
    """Return the metric paths of a study's counts, and the recipes of the corpora and runs in them."""
    location = "data counts"
    corpora, recipes = set(), set()
    for path in study.counted:
        _, kind, name, *rest = path.split("/")
        if kind in ("corpus", "overlap", "shared"):
            corpora.add(name)
        if kind == "parameters" and len(rest) > 1:
            recipes.add(f"{name}/{rest[0]}")
    payload: dict[str, Any] = {"read": sorted(study.counted)}
    payload["corpora"] = {name: study.scale.corpus(name, location) for name in sorted(corpora)}
    if recipes:
        runs = {name: merge_recipe(study.papers, "", name, location).plain() for name in sorted(recipes)}
        payload["recipes"] = runs
    return payload
