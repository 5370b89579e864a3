"""Changes of expectations have a reason; CITATION.cff is the one source of what archives read."""

import runpy
import subprocess

import pytest
from places import CHECKOUT, ROOT

CHANGES = runpy.run_path(str(ROOT / "workflow/changes.py"))
REPORTED = "item,row,column,metric,value,source,note\ntable1,a,b,spearman,{value},Table 1,{note}\n"
CLAIMS = "- id: c1\n  text: {text}\n"
RULE = (
    '"""What it is."""\n\nLIMIT = {limit}\n\n\ndef judge(value):\n    """{doc}"""\n    return value > LIMIT\n'
)
CELLS = "paper,item,row,column,protocol,seed,metric,value\n" + "".join(
    f"made,table1,a,b,as-described,{seed},sts,{{{name}}}\n" for seed, name in enumerate(("one", "two"))
)
FIRST = {
    "value": "82.5",
    "note": "",
    "text": "it holds",
    "limit": 1,
    "doc": "Return it.",
    "one": 70.0,
    "two": 71.0,
}


@pytest.fixture
def repository(tmp_path):
    """Return a function that writes expectations into a repository whose first ones are tagged, and checks them."""

    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    def write(rows="", **facts):
        facts = {**FIRST, **facts}
        for name, text in (
            ("workflow/papers/made/reported.csv", REPORTED),
            ("workflow/papers/made/claims.yaml", CLAIMS),
            ("src/replicse/study/results/verdict.py", RULE),
            ("reports/studies/made/cells.csv", CELLS),
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text.format(**facts))
        (tmp_path / "workflow/changes.csv").write_text(f"since,what,reason\n{rows}")
        git("add", "-A")
        return CHANGES["check"](tmp_path)

    git("init", "-q")
    assert write() == []
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    assert write(value="99.9") == []  # no tag yet
    git("tag", "v1")
    return write


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"value": "82.6"}, "printed made/table1/a/b/spearman"),
        ({"text": "it fails"}, "claim made/c1"),
        ({"limit": 2}, "rule verdict.py/LIMIT"),
        ({"one": 72.0, "two": 72.5}, "committed made/made/table1/a/b/sts"),
    ],
)
def test_what_differs_from_the_last_tag_has_a_row_with_its_reason(repository, change, name):
    assert repository(**change) == [
        f"{name} differs from v1; add a row with its reason to workflow/changes.csv"
    ]
    assert repository(rows=f"v1,{name},a misprint\n", **change) == []
    assert repository(rows=f"v1,{name[:9]}*,a misprint\n", **change) == []
    assert repository(rows=f"v0,{name},a misprint\n", **change) != []
    assert repository(rows=f"v1,{name},\n", **change) == [
        f"workflow/changes.csv: {name} has no reason; say why it differs from v1"
    ]
    assert repository(rows=f"v1,{name},a misprint\n") == [
        f"workflow/changes.csv: {name} does not differ from v1; take the row out"
    ]


@pytest.mark.parametrize(
    "change", [{"note": "as printed"}, {"doc": "Return whether."}, {"one": 70.4, "two": 71.2}]
)
def test_notes_docstrings_and_what_is_within_the_seed_spread_are_no_changes(repository, change):
    assert repository(**change) == []


def test_the_files_of_archives_say_what_the_citation_says():
    for name, text in runpy.run_path(str(ROOT / "workflow/citation.py"))["records"]().items():
        assert (CHECKOUT / name).read_text(encoding="utf-8") == text
