"""PromptBERT: full stops, and the spread of its README."""

from collected import printed_of
from planned import shipped_plan

from replicse.augment import augment
from replicse.study.results.tabulate import borrowed_spread


def test_a_seed_or_two_are_judged_by_the_spread_that_the_readme_prints():
    printed = printed_of("promptbert")
    plan = shipped_plan(scale="paper", papers={"promptbert": "all"}, adjudicate="all")
    for cell in plan.described("promptbert/readme-sts"):
        here = printed.get(("readme-sts", cell.row.id, cell.column.id))
        if here and here["statistic"] == "mean":
            assert borrowed_spread(plan, cell) == (float(here["sd"]), 9)


def test_a_full_stop_ends_a_line_without_an_end_and_nothing_else():
    """PromptBERT's evaluation: none of . ? " ' at the end; an exclamation mark is no end there."""
    lines = ["a b", "a b.", "a b?", 'a "b"', "a 'b'", "a b!", ""]
    ended = ["a b.", "a b.", "a b?", 'a "b"', "a 'b'", "a b!.", ""]
    assert augment(lines, {"name": "full-stop"}) == ended == augment(ended, {"name": "full-stop", "seed": 7})
