"""Add items to a committed study that was run in parts."""

from collections.abc import Mapping
from typing import Any

from replicse.errors import BadInput
from replicse.judge.values.origins import MADE_WITH

# Keys of a config that select what to run. All other keys are equal in all parts of a study.
SELECTING = ("papers", "rows", "adjudicate", "crossed")


def merge_configs(earlier: Mapping[str, Any], own: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the config of a committed study with further items.

    Args:
        earlier: the config of the committed study.
        own: the config of the part to add; its items replace equal items.
        file: the file of the committed config, for messages.

    Raises:
        BadInput: if the parts have different settings, or do not list their items.
    """
    for key in sorted({*earlier, *own}.difference(SELECTING)):
        if earlier.get(key) != own.get(key):
            raise BadInput(
                f"{file}: {key} is {earlier.get(key)!r}, but the items to add have {own.get(key)!r};"
                " keep them as another study"
            )
    for config in (earlier, own):
        for key in ("papers", "adjudicate"):
            if config.get(key) == "all":
                raise BadInput(
                    f'{file}: {key} is "all", so no item can be added; list the items in the config'
                )
    papers: dict[str, Any] = dict(earlier["papers"])
    for paper, items in own["papers"].items():
        both = (papers.get(paper, []), items)
        papers[paper] = "all" if "all" in both else list(dict.fromkeys([*both[0], *both[1]]))
    merged = {**earlier, "papers": papers}
    for key in ("rows", "crossed"):
        if earlier.get(key) or own.get(key):
            merged[key] = {**(earlier.get(key) or {}), **(own.get(key) or {})}
    if earlier.get("adjudicate") or own.get("adjudicate"):
        both = (earlier.get("adjudicate") or [], own.get("adjudicate") or [])
        merged["adjudicate"] = list(dict.fromkeys([*both[0], *both[1]]))
    return merged


def merge_records(
    earlier: Mapping[str, Any], own: Mapping[str, Any], whole: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the record of a study that was run in parts.

    Facts about code and machine that differ between the parts are listed by part only.

    Args:
        earlier: the record of the committed study.
        own: the record of the part to add.
        whole: the description of the study with the items of both.

    Raises:
        BadInput: if a dataset of the parts differs.
    """
    digests = {file["name"]: file.get("sha256") for file in earlier.get("data") or ()}
    for file in own.get("data") or ():
        if digests.get(file["name"], file.get("sha256")) != file.get("sha256"):
            raise BadInput(
                f"{file['name']}: the file is not the one that the committed study used; use the same data"
            )
    parts = []
    for part in earlier.get("parts") or [_part_of(earlier)]:
        rest = [item for item in part["items"] if item not in own["items"]]
        if rest:
            parts.append({**part, "items": rest})
    parts.append(_part_of(own))
    merged = {**own, **whole, "parts": parts}
    for key in MADE_WITH:
        if key != "dirty" and earlier.get(key) != own.get(key):
            merged.pop(key, None)
    merged["dirty"] = bool(earlier.get("dirty") or own.get("dirty"))
    return merged


def _part_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that can differ between the parts of a study."""
    return {
        "items": list(record["items"]),
        "commit": record.get("commit", ""),
        "generated": record.get("generated", ""),
        "processor": (record.get("hardware") or {}).get("processor", ""),
    }
