"""The numbers of the cropping paper against the material that they were collected in."""

import csv
import os
from pathlib import Path

import pytest
from places import CHECKOUT

PAPER = CHECKOUT / "workflow" / "papers" / "cropping"
DATA = Path(os.environ.get("REPLICSE_DATA") or CHECKOUT.parent / "shared" / "data")
MATERIAL = DATA.parent / "next" / "reported.csv"
Place = tuple[str, str, str]

TASKS = {"StackExchangeClusteringP2P (the only task left in that output)": "StackExchangeClusteringP2P"}
STEPS = {"0": "step-1", "50": "step-51", "100": "step-101", "200": "step-201", "367": "last"}
ICLR = {
    "MPNet dropout, 1 epoch": "dropout",
    "MPNet dropout, 20 epochs": "dropout-20-epochs",
    "MPNet dropout, trained on train split": "dropout-held-out",
    "MPNet crops, trained on train split": "crops-held-out",
    "BAAI/llm-embedder crops, 1 epoch": "llm-embedder-crops",
    "MPNet pretrained (layer 12)": "mpnet",
    "MPNet crops, 1 epoch (layer 12)": "crops",
}
MTEB = {
    "MPNet fine-tuned on ICLR, crops": "crops",
    "SBERT all-mpnet-base-v2": "sbert",
    "MPNet pretrained": "mpnet",
}
SETS = {
    "arXiv main": "arxiv-main",
    "arXiv secondary": "arxiv-secondary",
    "bioRxiv": "biorxiv",
    "medRxiv": "medrxiv",
    "Reddit": "reddit",
    "StackExchange": "stackexchange",
}
METHODS = {"MPNet crops": "crops", "MPNet dropout": "dropout", "random BERT crops": "random", "SBERT crops": "sbert"}
WHITENED = {"MPNet pretrained": "mpnet", "MPNet crops": "crops", "SBERT": "sbert"}
FORMS = {"raw": "", "centered": "-centred", "whitened": "-whitened"}

# What is in no table, and why.
EXCLUDED = {
    "TF-IDF|SVD|SVD L2": "baselines on counts of words, which are no encoder here: TF-IDF and its singular vectors",
}


def placed(item: str, row: str, column: str) -> Place | None:
    """Return where in the paper's own file a row of the material is; None where it is left out."""
    if row in EXCLUDED:
        return None
    if item == "mteb-notebook12":
        return "mteb", MTEB[row], TASKS.get(column, column)
    if item == "mteb-notebook17-curve":
        return "batches", STEPS[row.rpartition(" ")[2]], column
    if item == "mteb-notebook17-gain":
        until = "step-101" if "100" in row else "last"
        return "text", f"gain-until-{until}", column.partition(" ")[0]
    name = column.removeprefix("kNN ")
    if item == "knn-iclr":
        return "iclr", ICLR[row], name
    if item == "knn-iclr-lr":
        _, method, _, rate = row.split()
        return "learning-rate", rate, method
    if item == "knn-whitening":
        model, _, form = row.rpartition(" ")
        return "whitening", WHITENED[model] + FORMS[form], name.removeprefix("AV ")
    kind, _, one = item.partition(" ")
    method = next(key for label, key in METHODS.items() if row.startswith(label))
    return "sets", f"{SETS[one]}-{method}" + "-held-out" * kind.endswith("heldout"), name


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.skipif(not MATERIAL.is_file(), reason="the collected numbers lie beside the real data")
def test_every_collected_number_is_in_the_papers_file_or_left_out_with_a_reason():
    ours = {(row["item"], row["row"], row["column"]): row for row in rows_of(PAPER / "reported.csv")}
    collected = [row for row in rows_of(MATERIAL) if row["paper"] == "cropping"]
    places = [placed(row["item"], row["row"], row["column"]) for row in collected]
    for row, place in zip(collected, places, strict=True):
        if place is not None:
            assert (ours[place]["value"], ours[place]["source"]) == (row["value"], row["source"])
    assert {place for place in places if place} == set(ours)
    assert len(collected) == 278 and places.count(None) == 18
