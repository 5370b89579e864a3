"""Merging the configs and records of a study that was run in parts."""

import pytest

from replicse.cli.kept_parts import merge_configs, merge_records
from replicse.errors import BadInput
from replicse.judge.values.origins import commits_in

CONFIG = {"scale": "compact", "seeds": [0], "papers": {"simcse": ["table3"]}}


def record(item: str, commit: str, sha256: str = "ab") -> dict:
    """Return a record of one item; by default the dataset is unchanged."""
    data = [{"name": "wiki.txt", "sha256": sha256}]
    return {"items": [item], "commit": commit, "dirty": False, "generated": "2026", "data": data}


def test_all_items_and_rows_of_both_parts_are_listed_once():
    own = {
        **CONFIG,
        "papers": {"simcse": ["table3", "table1"], "repro": "all"},
        "rows": {"simcse/table1": ["none"]},
    }
    merged = merge_configs({**CONFIG, "adjudicate": ["repro/table4"]}, own, "config.json")
    assert merged["papers"] == {"simcse": ["table3", "table1"], "repro": "all"}
    assert merged["rows"] == {"simcse/table1": ["none"]} and merged["adjudicate"] == ["repro/table4"]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"scale": "short"}, "scale is 'compact'"), ({"papers": "all"}, 'papers is "all"')],
)
def test_a_part_with_other_settings_is_refused(change, message):
    with pytest.raises(BadInput, match=message):
        merge_configs(CONFIG, {**CONFIG, **change}, "config.json")


def test_facts_are_common_only_if_they_are_equal_in_all_parts():
    first, again = record("simcse/table3", "a"), record("simcse/table1", "a")
    whole = {"items": ["simcse/table1", "simcse/table3"]}
    same = merge_records(first, again, whole)
    assert same["commit"] == "a" and same["items"] == whole["items"] and len(same["parts"]) == 2
    third = merge_records(same, record("simcse/table3", "b"), whole)
    assert "commit" not in third
    assert [(part["items"], part["commit"]) for part in third["parts"]] == [
        (["simcse/table1"], "a"),
        (["simcse/table3"], "b"),
    ], "an item that is added again belongs to the last part"


def test_a_part_that_used_another_data_file_is_refused():
    with pytest.raises(BadInput, match=r"wiki.txt: the file is not the one"):
        merge_records(record("simcse/table3", "a"), record("simcse/table1", "a", "cd"), {"items": []})


def test_the_commits_of_a_study_and_of_an_item():
    parts = [{"items": ["one/table1"], "commit": "a" * 40}, {"items": ["one/table2"], "commit": "b" * 40}]
    assert commits_in({"dirty": False, "parts": parts}) == f"{'a' * 12}, {'b' * 12}"
    assert commits_in({"dirty": True, "parts": parts}, "one/table2") == f"{'b' * 12} with uncommitted changes"
    assert commits_in({"commit": "c" * 40}, "one/table2") == "c" * 12
    assert commits_in({"commit": "", "dirty": True}) == ""
