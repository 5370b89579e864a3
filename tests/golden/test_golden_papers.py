"""Runs of all papers, and whether published numbers support the claims.

Ids of encoders may only change on purpose.
"""

import csv
import io
from hashlib import sha256
from itertools import chain

import pytest
import yaml
from planned import WORKFLOW, shipped_plan

from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import find_spread
from replicse.judge.claims.judge_claims import judge_in_print, study_claims
from replicse.spec.cell_names import CellNames
from replicse.spec.papers import load_papers

SCALES = ("micro", "short", "compact", "paper")
METHODS = ("diffcse", "esimcse", "mirrorbert", "noncontrastive", "promptbert", "rankcse")


def text_of(header, rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()


def test_the_cells_of_every_item_the_encoders_of_each_and_the_spreads_that_cells_borrow(golden):
    """The cells and the encoder ids of every item should not change.

    At each scale a digest of all ids is shown. An id is a hash of all settings of an encoder.
    """
    papers = load_papers(WORKFLOW)
    wanted = {key: list(paper.items) for key, paper in papers.items()}
    rows, spreads = {}, []
    for scale in SCALES:
        plan = compile_study(
            {"scale": scale, "papers": wanted, "adjudicate": "all", "seeds": [0, 1]}, WORKFLOW
        )
        for item, cells in plan.cells.items():
            ids = sorted(f"{cell.id.described}@{cell.protocol}: {cell.jobs}" for cell in cells)
            digest = sha256("\n".join(ids).encode()).hexdigest()[:12]
            rows.setdefault(item, [item]).append(f"{len(cells)} {digest}")
            for cell in plan.described(item):
                spread = find_spread(plan, cell)
                if spread:
                    spreads.append((scale, str(cell.id.described), *spread))
    golden("spreads.csv", text_of(["scale", "cell", "sd", "degrees"], spreads))
    golden("papers.csv", text_of(["item", *SCALES], rows.values()))


@pytest.mark.parametrize("paper", METHODS)
def test_what_is_trained_for_each_cell_and_how_it_is_read(golden, paper):
    """The training and evaluation of each cell should not change.

    Settings come from the tables and scripts of each paper. For a search, only the first job is shown. The
    first run is shown with all settings, other runs only with settings that differ from the defaults.
    """
    plan = shipped_plan(scale="paper", papers={paper: "all"}, adjudicate="all")
    runs = {}
    for cell in chain.from_iterable(plan.cells.values()):
        if not cell.encoders:
            continue
        encoder = plan.encoders[cell.encoders[0]]
        if run := encoder.source.run:
            shown = plan.runs[run].canonical() if runs else plan.runs[run].model_dump(mode="json")
            readings = runs.setdefault(run, {"run": shown, "read": {}})["read"]
            rows = readings.setdefault(f"{encoder.pooling}, {encoder.checkpoint}", {})
            rows.setdefault(f"{cell.item.name} {cell.row.id} {cell.protocol}", []).append(cell.column.id)
    golden(f"runs/{paper}.yaml", yaml.safe_dump([*runs.values()], sort_keys=False, default_flow_style=None))


def test_what_print_says_of_every_claim(golden):
    papers = load_papers(WORKFLOW)
    names = CellNames(papers)
    claims = study_claims(names, list(papers))
    rows = [(claim.name, judge_in_print(claim, names).outcome) for claim in claims]
    golden("claims-in-print.csv", text_of(["claim", "print"], rows))
