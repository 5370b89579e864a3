"""Random searches: a low-discrepancy sequence, fixed when compiled."""

import numpy as np
import pytest
from made_up import made_plan, write_paper

from replicse.errors import BadInput
from replicse.spec.models import Draw

RATE, CLIP = "optimisation.learning_rate", "optimisation.clip"
TEMPERATURE = "terms.infonce.temperature"
DOMAINS = {
    RATE: {"choice": [1e-5, 3e-5, 5e-5]},
    TEMPERATURE: {"log-uniform": [0.001, 10]},
    CLIP: {"uniform": [2, 4]},
}


def draw(jobs=50, seed=0, domains=DOMAINS):
    """Return a random search, by default of 50 jobs."""
    return Draw.of({"jobs": jobs, "seed": seed, "domains": domains}, "a draw")


def places(jobs, seed, dimensions=3):
    """Return the positions of the jobs in the unit cube.

    They are exact except for the rounding of values.

    Args:
        jobs: Number of jobs.
        seed: Seed of the search.
        dimensions: Number of settings. Default: 3.
    """
    paths = ["optimisation.warmup", "optimisation.weight_decay", "terms.infonce.weight", "terms.mlm.weight"]
    drawn = draw(jobs, seed, {path: {"uniform": [0, 1]} for path in paths[:dimensions]}).list_values()
    return np.array([list(job.values()) for job in drawn])


def test_jobs_are_the_halton_sequence_of_scipy_rotated():
    qmc = pytest.importorskip("scipy.stats.qmc")
    sequence = qmc.Halton(4, scramble=False).random(50)
    ours = places(50, seed=3, dimensions=4)
    shift = ours[0]
    apart = np.abs(ours - (sequence + shift) % 1)
    assert np.minimum(apart, 1 - apart).max() < 2e-3
    assert len(set(shift.tolist())) == 4


def test_a_seed_names_the_jobs_and_fewer_of_them_are_the_first():
    assert draw().list_values() == draw().list_values() != draw(seed=1).list_values()
    assert draw(jobs=7).list_values() == draw().list_values(7) == draw().list_values()[:7]
    assert draw(jobs=3).list_values(7) == draw().list_values()[:3]


COLUMNS = [
    {"id": name, "metric_path": "sts-dev/STS-B/all", "over": {"jobs": over}, "metric": "spearman"}
    for name, over in (
        ("max", "max"),
        ("upper", {"percentile": 75}),
        ("median", "median"),
        ("temperature", {"argmax": TEMPERATURE}),
    )
]


def table(jobs=5, **more):
    """Return a table with a random search, by default of 5 jobs."""
    row = {"id": "drawn", "encoder": {"use": "plain", "draw": {"jobs": jobs, "domains": DOMAINS}}}
    return {"columns": COLUMNS, "rows": [row], **more}


def test_an_argmax_of_a_setting_that_the_search_does_not_vary_is_refused(tmp_path):
    """A cell once showed the batch size of all jobs as the best batch size."""
    shown = {**COLUMNS[-1], "over": {"jobs": {"argmax": "optimisation.batch_size"}}}
    write_paper(tmp_path, "made", {"table1": table() | {"columns": [shown]}})
    with pytest.raises(
        BadInput, match=rf'"optimisation.batch_size", which .* does not vary; use .*{TEMPERATURE}'
    ):
        made_plan(tmp_path, scale="micro", seeds=[0])


def test_a_scale_runs_the_first_jobs(tmp_path):
    write_paper(tmp_path, "made", {"table1": table(jobs=50)})
    jobs = {}
    for scale in ("paper", "micro"):
        plan = made_plan(tmp_path, scale=scale, seeds=[0])
        (group,) = plan.cells["made/table1"][0].jobs
        runs = [plan.runs[plan.encoders[encoder].source.run] for encoder in group]
        jobs[scale] = [(run.objective[0].temperature, run.optimisation.clip) for run in runs]
    assert len(jobs["paper"]) == 50
    assert jobs["micro"] == jobs["paper"][:2]
