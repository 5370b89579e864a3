"""Reported numbers: parsing strings, and valid values in reported.csv."""

import re

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from replicse.errors import BadInput
from replicse.spec.printed import parse_number, read_reported

HEADER = "item,row,column,metric,value,source,note"


@cases
def test_a_printed_number_is_parsed_with_its_last_digit_and_form(text, value, half_digit, rounding, sd):
    number = parse_number(text)
    assert (number.value, number.half_digit) == pytest.approx((value, half_digit), rel=1e-15)
    assert (number.rounding, number.sd) == (tuple(rounding), sd or "")


@given(st.decimals(min_value=-1000, max_value=1000, places=3))
def test_any_decimal_is_parsed_as_python_parses_it(number):
    found = parse_number(str(number))
    assert (found.value, found.half_digit) == (float(number), 0.0005)


ABSENT = ["", " ", "-", "–", "—", "N/A"]
OTHER = ["fp16", "1,50", ".", "82.5.1", "three", "12 34", "--5", "nan", "1e999", "1e-999"]


@pytest.mark.parametrize("text", ABSENT + OTHER)
def test_any_other_text_has_no_number(text):
    assert parse_number(text) is None


def reported(tmp_path, value, metric="spearman", header=HEADER, more=""):
    """Write and parse a reported number, by default of Spearman."""
    file = tmp_path / "reported.csv"
    file.write_text(f'{header}\nt,r,c,{metric},"{value}",x,{more}\n', encoding="utf-8")
    return read_reported(file)


def test_reported_csv_holds_numbers_and_absent_ones_and_sentences_in_a_column_of_text(tmp_path):
    for value, metric in [(each, "spearman") for each in ABSENT] + [("A man runs.", "text")]:
        (cell,) = reported(tmp_path, value, metric).values()
        assert (cell.value, cell.number) == (value, None)


@pytest.mark.parametrize("text", OTHER)
def test_other_text_of_reported_csv_is_refused_with_line_and_text(tmp_path, text):
    with pytest.raises(BadInput, match=re.escape(f':2: reported value "{text}" is not a number')):
        reported(tmp_path, text)


def test_a_printed_spread_is_kept_and_makes_the_number_a_mean(tmp_path):
    spread = f"{HEADER},statistic,q,seeds,sd"
    (cell,) = reported(tmp_path, "75.11 ± 0.84", header=spread, more=",,,50,").values()
    assert (cell.value, cell.sd, cell.seeds, cell.statistic) == ("75.11 ± 0.84", 0.84, 50, "mean")
    assert cell.number.value == 75.11
