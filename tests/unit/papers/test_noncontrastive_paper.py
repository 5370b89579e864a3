"""Averages over tasks in the paper on Barlow Twins and VICReg."""

from statistics import fmean

import pytest
from collected import printed_of

from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS

CATEGORIES = (
    "classification",
    "clustering",
    "pair-classification",
    "reranking",
    "retrieval",
    "sts",
    "summarization",
)


def test_the_data_sets_average_to_the_rows_of_table_6():
    """Averages over datasets should equal the rows of Table 6.

    A digit in the wrong place would change an average. Averages have a single decimal.
    """
    printed = {key: row["value"] for key, row in printed_of("noncontrastive").items()}
    averages = dict(zip((*CATEGORIES, "avg"), (*MTEB_TASKS.values(), MTEB_NAMES), strict=True))
    models = {column for item, _, column in printed if item == "table4"}
    assert len(models) == 7
    for model in models:
        for column, names in averages.items():
            mean = fmean(float(printed["table4", name, model]) for name in names)
            average = float(printed["table6", f"roberta-base-{model}", column])
            assert average == pytest.approx(mean, abs=0.1001)
