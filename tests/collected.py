"""Numbers collected from further papers, and numbers of shipped papers.

The collected numbers are stored next to the folder of real datasets.
"""

import os
from pathlib import Path

import pytest
from places import CHECKOUT, ROOT

from replicse.files import read_rows


def collected(*papers: str) -> list[dict[str, str]]:
    """Return the collected rows of some papers; skip if there is no file.

    Args:
        papers: Keys of papers, such as "simcse".

    Returns:
        A dict of strings for each row.
    """
    data = Path(os.environ.get("REPLICSE_DATA") or CHECKOUT.parent / "shared" / "data")
    file = CHECKOUT / data.parent / "next" / "reported.csv"
    if not file.is_file():
        pytest.skip(
            "the collected numbers are absent: no next/reported.csv next to the folder of real datasets"
        )
    return [row for row in read_rows(file) if row["paper"] in papers]


def printed_of(paper: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """Load reported.csv of a paper.

    Returns:
        Dict from (item, row, column) to a dict of strings.
    """
    rows = read_rows(ROOT / "workflow" / "papers" / paper / "reported.csv")
    return {(row["item"], row["row"], row["column"]): row for row in rows}
