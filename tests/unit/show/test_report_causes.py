"""The page of causes: text, two figures, and the committed copy."""

import pytest
from golden import example_report as example
from places import ROOT, workflow_script

from replicse.judge.report.build_report import report
from replicse.show.figures import draw
from replicse.show.pages.causes import causes_page, measured_sheet
from replicse.spec.causes import Cause, Measured

CAUSE = Cause.of(
    {
        "id": "one", "title": "One", "sentence": "It happens.", "seen": "It was seen.", "fix": "Mend it.",
        "test": "replicse doctor", "kinds": ["trained"],
        "threads": {"a/b#1": "author", "a/b#2": "reporter", "a/b#3": "suspected"},
        "reports": [
            {"thread": "a/b#1", "model": "m", "quantity": "STS", "printed": 76.25, "got": [75]},
            {"thread": "a/b#2", "model": "m", "quantity": "STS", "delta": [-2]},
        ],
    },
    "one",
)  # fmt: skip
EXACT = Measured(
    cause="one", variant="mean", encoder="MiniLM", kind="released", metric="sts/avg", effect=-1.5
)
PAIRED = Measured(
    cause="one", variant="no-gather", encoder="compact", kind="trained", metric="sts/avg", effect=-2, low=-3,
    high=-1, n=3,
)  # fmt: skip


def test_a_cause_has_what_people_saw_what_was_measured_a_test_and_a_remedy():
    checked = [{"thread": "a/b#1", "cause": "one", "agreed": True, "stated": True, "listed_by": ["batch"]}]
    checked += [{**checked[0], "thread": "a/b#3", "agreed": False, "stated": False, "listed_by": []}]
    text = workflow_script("causes").markdown(
        [CAUSE], [EXACT, PAIRED], checked, {"readings": "s.svg", "effects": "e.svg"}
    )
    assert "| [One](#one) | 3, 1 suspected | −2.00 to −1.25 | −2.00 to −1.50 |" in text
    assert "[a/b#1](https://github.com/a/b/issues/1) (76.25 → 75, STS, m)." in text
    assert "Confirmed by reporter: [a/b#2]" in text and "[a/b#3](https://github.com/a/b/issues/3)." in text
    assert "(−2 from the paper, STS, m)" in text and "`replicse doctor`" in text and "Mend it." in text
    assert "| `mean`: mean of the last layer over the tokens | −1.50 |  |" in text
    assert "lead to this cause in 1 of 1 (0 state nothing)" in text and "![Measured effects" in text
    bare = workflow_script("causes").markdown([CAUSE], [], checked, {"readings": "s.svg", "effects": "e.svg"})
    assert "![Measured effects" not in bare and "| −2.00 to −1.25 | - |" in bare


def item(paper):
    return example.result(f"{paper}/table1", "T", [], [], [])


def test_the_page_is_in_the_report_of_a_study_of_causes_alone():
    none = causes_page(report(example.STUDY, [item("simcse")], workflow=ROOT / "workflow"))
    page = causes_page(report(example.STUDY, [item("causes")], workflow=ROOT / "workflow"))
    assert none is None
    assert page.title == "Why can't I reproduce SimCSE?" and len(page.sheets[0].rows) == 15


def test_causes_and_variants_are_named_in_words():
    rows = measured_sheet([EXACT, PAIRED], "", {"one": "Another pooling"}).rows
    assert [row[:2] for row in rows] == [
        ("Another pooling", "mean of the last layer over the tokens"),
        ("Another pooling", "no gather"),
    ]


@pytest.mark.parametrize("kind", ["readings", "effects"])
def test_a_drawing_is_made_of_its_records(tmp_path, kind):
    records = {
        "readings": [
            {"group": "A", "label": "s", "source": "decides", "value": -0.9, "low": -2.7, "high": 0.9},
            {"group": "A", "label": "r", "source": "other", "value": -1.4, "low": None, "high": None},
        ],
        "effects": workflow_script("causes").effect_records([EXACT, PAIRED]),
    }
    files = draw(kind, records[kind], tmp_path / kind)
    assert {file.suffix for file in files} == {".svg", ".png", ".pdf", ".csv"}
    assert "<path" in (tmp_path / f"{kind}.svg").read_text()
