"""A single cell as text."""

import typing
from decimal import ROUND_HALF_EVEN, Decimal

from cases import cases
from hypothesis import assume, given
from hypothesis import strategies as st

from replicse.judge.verdicts.table import CellResult, Verdict
from replicse.show.content.cells import MEANINGS, SYMBOLS, show
from replicse.show.content.numbers import rounded, rounding_of
from replicse.spec.printed import Reported, parse_number

NUMBERS = st.floats(-1e4, 1e4, allow_nan=False)
VERDICTS = [verdict for verdict in typing.get_args(Verdict) if verdict]


def result(reported=None, **parts):
    """Return a cell; by default the paper reports no number."""
    printed = None if reported is None else Reported(value=reported, source="Table 1")
    return CellResult(row="r", column="c", metric="m", protocol="as-described", reported=printed, **parts)


def test_every_verdict_has_its_own_symbol_and_meaning():
    assert set(SYMBOLS) == {*VERDICTS, "quoted", "data absent"} == set(MEANINGS)
    assert len(set(SYMBOLS.values())) == len(SYMBOLS)


@cases
def test_the_reproduced_number_is_rounded_like_the_printed_one(printed, value, text):
    assert show(result(reported=printed, reproduced=value)).reproduced == text


def test_a_count_that_is_not_printed_has_no_decimals():
    assert show(result(reproduced=109482240.0, metric_path="data/sts/STS-B/test")).reproduced == "109,482,240"


@given(st.none() | NUMBERS, st.none() | NUMBERS, st.sampled_from(["", *VERDICTS]), st.booleans())
def test_what_is_missing_is_blank(reproduced, low, verdict, quoted):
    shown = show(result(reported="82.5", reproduced=reproduced, low=low, verdict=verdict), quoted=quoted)
    for text in (shown.text, shown.detail):
        assert text == " ".join(text.split())
        assert "None" not in text and "nan" not in text and "()" not in text
    assert (shown.reproduced == "") == (reproduced is None or quoted)
    assert shown.delta == shown.spread == ""


@given(NUMBERS, st.integers(0, 5))
def test_rounding_is_that_of_exact_decimals(value, decimals):
    step = Decimal(1).scaleb(-decimals)
    exact = Decimal(value).quantize(step, rounding=ROUND_HALF_EVEN)
    text = rounded(value, rounding_of(parse_number(f"{Decimal(1).quantize(step)}")))
    assert Decimal(text.replace("−", "-")) == exact
    assert not (exact == 0 and text.startswith("−"))
    assert len(text.partition(".")[2]) == decimals


@given(st.integers(-99_999, 99_999), NUMBERS, st.integers(0, 3))
def test_the_difference_is_that_of_the_two_numbers_shown(digits, value, decimals):
    printed = str(Decimal(digits).scaleb(-decimals))
    assume("E" not in printed)
    # A tie can be rounded up or down, because the difference is rounded separately.
    assume(abs((abs(value) * 10**decimals) % 1 - 0.5) > 1e-6)
    delta = value - float(printed)
    shown = show(result(reported=printed, reproduced=value, delta=delta))
    difference = Decimal(shown.reproduced.replace("−", "-")) - Decimal(printed)
    assert Decimal(shown.delta.strip("()").replace("−", "-")) == difference
    assert shown.delta.startswith("(+") == (difference > 0)
    assert shown.delta.startswith("(−") == (difference < 0)


def test_a_quoted_cell_shows_the_printed_number_and_its_mark_only():
    cell = result(reported="55.14", reproduced=51.0, delta=-4.14, low=50, high=52, verdict="lower")
    shown = show(cell, scale="micro", quoted=True)
    assert (shown.text, shown.word) == ("55.14 †", "quoted")
    assert show(result(), quoted=True).text == ""


def test_a_spread_that_would_read_as_none_gets_more_decimals():
    cell = result(reported="86.2", reproduced=86.2, low=86.18, high=86.22)
    assert show(cell).spread == "±0.02"
    assert show(result(reported="86.2", low=85.0, high=87.4, borrowed=True)).spread == "±1.2*"
