"""What jobs ask a scheduler for, and what Snakemake's own arithmetic makes of it for a group."""

from types import SimpleNamespace

import pytest
from planned import shipped_plan
from snakemake.resources import GroupResources

from replicse.compile import resources
from replicse.compile.cost import Cost
from replicse.spec.scale_entries import ScaleNeeds

PAPER = ScaleNeeds(gpu="required", train_memory_mb=32000, full_suites=True)


@pytest.mark.parametrize(
    ("hours", "attempt", "minutes"),
    [
        (0.01, 1, 15),
        (0.3, 1, 36),
        (0.3, 2, 72),
        (3.0, 1, 360),
        (20.0, 1, 1440),
        (0.01, 2, 30),
        (None, 1, 480),
    ],
)
def test_twice_the_expected_time_between_a_quarter_of_an_hour_and_the_longest_job(hours, attempt, minutes):
    assert resources.requested_minutes(hours, PAPER, attempt) == minutes
    short = ScaleNeeds(longest_hours=1)
    assert resources.requested_minutes(hours, short, attempt) == min(60, minutes)


def test_memory_by_size_and_by_rows():
    base, large = (
        resources.training_memory_mb((12, 768), PAPER),
        resources.training_memory_mb((24, 1024), PAPER),
    )
    assert 5000 < base < 7000 < large < 10000
    assert resources.training_memory_mb((12, 768), PAPER, 2) == 2 * base
    assert resources.training_memory_mb(None, PAPER) == 32000
    assert resources.training_memory_mb((2, 32), ScaleNeeds()) == 3000
    # 5.4 million rows needed 3.9 GB as one list.
    assert 3900 < resources.store_memory_mb(5_434_400) < 6000 and resources.store_memory_mb(24_445) < 1100


def layered(*levels):
    """Return what Snakemake asks Slurm for of a group of jobs, in which one job at a time has the GPU."""
    jobs = [[SimpleNamespace(resources=one, pipe_group=None) for one in level] for level in levels]
    constraints = SimpleNamespace(get=lambda name: SimpleNamespace(value=1 if name == "gpu" else None))
    return GroupResources.basic_layered(jobs, constraints, run_local=False)


def test_no_allocation_of_the_paper_scale_asks_for_more_than_a_day():
    """Where each suite of hours was in its run's group, Snakemake asked for up to 153 hours."""
    study = shipped_plan(scale="paper", papers="all", seeds=[0])
    cost, needs = Cost(study), study.scale.needs
    evaluations = {run: [] for run in study.runs}
    alone = []
    for name, encoder in study.encoders.items():
        for group in study.groups(name):
            asked = {
                "runtime": resources.evaluation_minutes(cost, name, group, needs),
                "mem_mb": resources.evaluation_memory_mb(group, needs),
                "gpu": 1,
            }
            together = not resources.is_long(group) and encoder.source.run in evaluations
            (evaluations[encoder.source.run] if together else alone).append(asked)
    asked = []
    for run, level in evaluations.items():
        size = study.estimates["sizes"].get(run) or (12, 768)
        training = {
            "runtime": resources.training_minutes(cost, run, needs),
            "mem_mb": resources.training_memory_mb(size, needs),
            "gpu": 1,
        }
        asked.append(layered([training], level) if level else layered([training]))
    assert len(asked) == len(study.runs) > 1000
    assert max(each["runtime"] for each in asked) <= 24 * 60
    assert max(each["mem_mb"] for each in asked) < 12000
    assert max(each["runtime"] for each in alone) == 24 * 60, "MTEB on a large encoder"
    assert min(each["runtime"] for each in alone) == 15, "kNN on the abstracts of ICLR"
    short = sum(each["runtime"] <= 4 * 60 for each in asked)
    assert short > 0.9 * len(asked)
