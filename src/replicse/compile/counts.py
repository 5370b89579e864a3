"""The payload of the job for the dataset counts of a study."""

from typing import Any

from replicse.compile.recipes import merge_recipe
from replicse.compile.study import Study


def describe_counts(study: Study) -> dict[str, Any]:
    """Describe the dataset counts of a study.

    Args:
        study: the study.

    Returns:
        A dict with the metric paths to count, and the recipes of the corpora and runs in these paths.
    """
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
