"""Resources that jobs request from a scheduler, and sums for groups."""

from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from planned import WORKFLOW, shipped_plan
from snakemake.iocontainers import Wildcards
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
    base = resources.training_memory_mb((12, 768), PAPER)
    large = resources.training_memory_mb((24, 1024), PAPER)
    assert 5000 < base < 7000 < large < 10000
    assert resources.training_memory_mb((12, 768), PAPER, 2) == 2 * base
    assert resources.training_memory_mb(None, PAPER) == 32000
    assert resources.training_memory_mb((2, 32), ScaleNeeds()) == 3000
    # 5.4 million rows needed 3.9 GB as a list.
    assert 3900 < resources.store_memory_mb(5_434_400) < 6000 and resources.store_memory_mb(24_445) < 1100


@pytest.fixture(scope="module")
def paper():
    return shipped_plan(scale="paper", papers="all", seeds=[0])


def ask(memory, time, attempt=1, **wildcards):
    """Return the resources that a rule requests from Snakemake.

    Args:
        memory: Function of a rule that returns MB.
        time: Function of a rule that returns minutes.
        attempt: Number of the attempt. Default: 1.
        wildcards: Wildcards of the job.
    """
    named = Wildcards(fromdict=wildcards)
    return {"runtime": time(named, attempt), "mem_mb": memory(named, attempt), "gpu": 1}


def as_job(resources):
    return SimpleNamespace(resources=resources, pipe_group=None)


def ask_for_groups(study, profile, attempt=1):
    """Return the resources that Snakemake requests from Slurm.

    A run is requested together with the short evaluations; each long evaluation is requested alone.

    Args:
        study: The compiled study.
        profile: Name of the profile.
        attempt: Number of the attempt. Default: 1.

    Returns:
        A list of dicts for the runs, and a list of dicts for the long evaluations.
    """
    jobs = resources.JobResources(study)
    settings = yaml.safe_load((WORKFLOW / "profiles" / profile / "config.yaml").read_text())
    limits = settings.get("resources", {})
    assert all(settings["set-resource-scopes"][name] == "local" for name in limits)
    constraints = SimpleNamespace(get=lambda name: SimpleNamespace(value=limits.get(name)))
    levels = {}
    for run in study.runs:
        levels[run] = [[ask(jobs.train_memory, jobs.train_time, attempt, run=run)], []]
    alone = []
    for name, encoder in study.encoders.items():
        for group in study.groups(name):
            # The rule of trajectories has no wildcard for the group.
            wildcards = {"encoder": name} | ({} if group == "trajectory" else {"group": group})
            asked = ask(jobs.evaluation_memory, jobs.evaluation_time, attempt, **wildcards)
            allocation = jobs.name_allocation(Wildcards(fromdict=wildcards))
            if allocation is not None:
                assert allocation == f"run-{encoder.source.run}"
            (alone if allocation is None else levels[encoder.source.run][1]).append(asked)
    groups = []
    for of_run in levels.values():
        level = [list(map(as_job, each)) for each in of_run if each]
        groups.append(GroupResources.basic_layered(level, constraints, run_local=False))
    return groups, alone


@pytest.mark.parametrize(("profile", "attempt"), [("slurm", 1), ("slurm-gpu", 1), ("slurm-gpu", 3)])
def test_no_allocation_of_the_paper_scale_asks_for_more_than_a_day(paper, profile, attempt):
    """An allocation of the paper scale requests at most a day.

    Long suites were once in the group of the run, and Snakemake requested up to 153 hours.
    """
    groups, alone = map(pd.DataFrame, ask_for_groups(paper, profile, attempt))
    assert len(groups) == len(paper.runs) > 1000
    assert max(groups["runtime"].max(), alone["runtime"].max()) <= 24 * 60
    if attempt > 1:
        return
    assert alone["runtime"].max() == 24 * 60, "MTEB on a large encoder"
    assert alone["runtime"].min() == 15, "kNN on the abstracts of ICLR"
    assert (groups["runtime"] <= 4 * 60).mean() > 0.9
    assert groups["mem_mb"].max() < (12_000 if profile == "slurm-gpu" else 21_000)


def test_a_store_asks_by_the_rows_of_its_corpus(paper):
    jobs = resources.JobResources(paper)
    rows = {name: paper.scale.rows(store["corpus"]["name"]) for name, store in paper.stores.items()}
    most = max(filter(None, rows.values()))
    largest = next(name for name in rows if rows[name] == most)
    asked = ask(jobs.store_memory, jobs.store_time, name=largest)
    assert asked["mem_mb"] == resources.store_memory_mb(most) > 1700
    assert ask(jobs.store_memory, jobs.store_time, 2, name=largest)["mem_mb"] == 2 * asked["mem_mb"]


def test_a_trajectory_asks_by_its_checkpoints():
    plan = shipped_plan(scale="minilm", papers={"simcse": ["figure2"]}, seeds=[0])
    jobs, cost = resources.JobResources(plan), Cost(plan)
    for name, suites in plan.suites.items():
        if "trajectory" in suites:
            minutes = 60 * resources.TIMES * cost.encoding(name, "trajectory").expected
            asked = jobs.evaluation_time(Wildcards(fromdict={"encoder": name}), 1)
            assert asked - 1 < minutes <= asked and asked > resources.LEAST_MINUTES
