"""The check of our English: word rates, first lines, names and Args."""

import runpy

import pytest
from places import CHECKOUT

CHECK = runpy.run_path(str(CHECKOUT / "docs" / "check_words.py"))
MODULE = '''"""Load datasets."""  # a comment


def load(path, *, rows):
    """Load a dataset.

    Args:
        path: The file.
        rows: How many rows to read.
    """
    raise ValueError(f"the file {path} is empty")


def merged(first):
    """Return the first dataset, with a first line of docstring that is much longer than 72 characters."""
    return "one", f"{first}"


def pooling():
    """Return a pooling."""
'''


@pytest.fixture
def root(tmp_path):
    """Create a checkout with a module, a page and three functions; return it."""
    for name, text in {
        "src/replicse/__init__.py": '_HOMES = {"load": "data.io:load", "pooling": "data.io:pooling"}\n',
        "src/replicse/cli/manual.py": 'GIVEN = ("data.io.merged",)\n',
        "src/replicse/data/io.py": MODULE,
        "src/replicse/world/sentences.py": 'SENTENCES = "what it says of those"\n',
        "docs/add-a-term.md": "A term is a `replicse.data.io.Missing`.\n",
        "README.md": "# Load datasets\n\nUse `what` it is.\n\n    what\n\n```\nwhat\n```\n<!-- what -->\n<b what>\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_code_and_data_are_no_prose_and_each_kind_of_text_has_its_own(root):
    texts = {kind: text.split() for kind, text in CHECK["read_texts"](root).items()}
    assert " ".join(texts["pages"]) == "# Load datasets Use it is. A term is a ."
    assert texts["messages"] == ["the", "file", "…", "is", "empty"]
    assert texts["docstrings"][:2] == ["Load", "datasets."] and texts["docstrings"][-2:] == ["a", "comment"]
    assert "How many rows to read." in " ".join(texts["docstrings"])  # the text under Args counts
    assert texts["tests"] == []


def test_a_ratio_is_the_rate_in_a_text_over_the_rate_in_the_field():
    ratios = CHECK["compute_ratios"]("If it is empty, use the default. What if not?")
    assert ratios["if"] == pytest.approx(2 / 10 * 1000 / 7.63)
    assert ratios["use used using uses"] == pytest.approx(1 / 10 * 1000 / 8.35)
    assert ratios["where"] == 0 and CHECK["compute_ratios"]("")["if"] == 0


def test_a_ratio_out_of_range_is_a_problem_and_marked_in_the_table():
    ratios = dict.fromkeys(CHECK["FIELD_RATES"], 1.0) | {"if": 0.39, "what": 2.51, "its": 0.4, "that": 2.5}
    problems = list(CHECK["check_rates"]({"pages": ratios}))
    assert [problem.message for problem in problems] == [
        'pages: "what" at 2.51 times the rate of the field, not 0.4 to 2.5',
        'pages: "if" at 0.39 times the rate of the field, not 0.4 to 2.5',
    ]
    table = CHECK["format_table"]({"pages": ratios}).splitlines()
    assert [line.split()[0] for line in table if line.endswith("<")] == ["what", "if"]


def test_words_that_the_style_avoids_may_be_rare():
    ratios = dict.fromkeys(CHECK["FIELD_RATES"], 1.0) | {"those": 0.0, "where": 0.0}
    assert not list(CHECK["check_rates"]({"tests": ratios}))
    assert len(list(CHECK["check_rates"]({"tests": ratios | {"those": 2.51}}))) == 1


def test_every_kind_of_text_is_enforced():
    assert set(CHECK["read_texts"](CHECKOUT)) < set(CHECK["ENFORCED"])


def test_long_first_lines_participles_and_missing_args_are_problems(root):
    (first_line,) = CHECK["check_first_lines"](root)
    assert first_line.message == "src/replicse/data/io.py:15: the first line has 96 characters, not 72"
    assert [problem.message for problem in CHECK["check_interface"](root)] == [
        "src/replicse/data/io.py:14: merged is neither a verb with an object nor a noun",
        "src/replicse/data/io.py:14: merged does not describe first",
    ]


@pytest.mark.parametrize(("enforced", "code"), [((), 0), (("names",), 1)])
def test_only_enforced_checks_fail(root, monkeypatch, capsys, enforced, code):
    main = CHECK["main"]
    monkeypatch.setitem(main.__globals__, "ENFORCED", enforced)
    assert main(root) == code
    printed = capsys.readouterr().out
    assert "first lines 1, names 1, arguments 1" in printed
    assert ("merged is neither" in printed) == bool(code)


def test_the_checks_that_are_enforced_pass_in_the_checkout(capsys):
    assert CHECK["main"](CHECKOUT) == 0, capsys.readouterr().out
