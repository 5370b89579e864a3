"""What all papers plan, and what print says of their claims: ids of encoders move only on purpose."""

import csv
import io
from hashlib import sha256

from places import ROOT

from replicse.study.judge.claims import judged_in_print, study_claims
from replicse.study.paper.cell_names import CellNames
from replicse.study.paper.papers import load_papers
from replicse.study.plan.planner import load_plan

SCALES = ("micro", "short", "compact", "paper")
WORKFLOW = ROOT / "workflow"


def text_of(header, rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()


def test_the_cells_of_every_item_and_the_encoders_of_each(golden):
    """The number of cells, and at each scale a digest of the ids of all encoders, which hash all that they are."""
    papers = load_papers(WORKFLOW)
    wanted = {key: list(paper.items) for key, paper in papers.items()}
    rows = {}
    for scale in SCALES:
        plan = load_plan({"scale": scale, "papers": wanted, "adjudicate": "all", "seeds": [0, 1]}, WORKFLOW)
        for item, cells in plan.cells.items():
            ids = sorted(f"{'/'.join(cell.key)}@{cell.protocol}: {cell.jobs}" for cell in cells)
            digest = sha256("\n".join(ids).encode()).hexdigest()[:12]
            rows.setdefault(item, [item]).append(f"{len(cells)} {digest}")
    golden("papers.csv", text_of(["item", *SCALES], rows.values()))


def test_what_print_says_of_every_claim(golden):
    papers = load_papers(WORKFLOW)
    names = CellNames(papers)
    claims = study_claims(papers, list(papers))
    rows = [(claim.name, judged_in_print(claim, names).outcome) for claim in claims]
    golden("claims-in-print.csv", text_of(["claim", "print"], rows))
