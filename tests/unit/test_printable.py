"""Aligned columns: numbers on the right, and a wrapped last column."""

from replicse.printable import columns


def test_columns_are_as_wide_as_their_widest_text_and_a_text_stands_alone():
    rows = [
        ("item", "runs", "title"),
        "a heading that is longer than all",
        ("a", "12", ""),
        ("bcdefg", "3", "x"),
    ]
    assert list(columns(rows, numbers=(1,))) == [
        "item    runs  title",
        "a heading that is longer than all",
        "a         12",
        "bcdefg     3  x",
    ]
    assert list(columns([])) == [] and list(columns(["alone"])) == ["alone"]


def test_the_last_column_wraps_below_itself_and_breaks_no_word():
    path = "results/paper/data/a-path-that-is-longer-than-the-width.txt"
    rows = [("file", f"put it at {path}"), ("", "or not")]
    assert list(columns(rows, width=30)) == ["file  put it at", f"      {path}", "      or not"]
    assert list(columns(rows, width=30, hang=2))[1] == f"        {path}"
