"""A number is not comparable if its setting is not the published setting."""

import itertools

import pytest
from planned import shipped_plan

from replicse.compile.item_plan import explain_not_comparable
from replicse.registry.suites import AGGREGATIONS
from replicse.spec.settings import setting_difference
from replicse.spec.tables import Setting


@pytest.mark.parametrize(("printed", "read"), list(itertools.product(AGGREGATIONS, AGGREGATIONS)))
def test_another_aggregation_is_another_setting(printed, read):
    found = setting_difference(Setting(aggregation=printed), f"sts/STS12/{read}")
    assert bool(found) == (printed != read)
    assert not found or (printed in found and read in found)


def test_no_cell_of_the_shipped_papers_is_read_in_another_setting():
    plan = shipped_plan(scale="paper", papers="all")
    for item in plan.items:
        for cell in plan.described(item):
            assert not cell.encoders or not explain_not_comparable(plan, cell), cell.id
