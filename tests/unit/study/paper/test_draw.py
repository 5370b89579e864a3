"""Searches whose jobs are drawn: a low-discrepancy sequence in stated domains, known when a study is planned."""

import math

import numpy as np
import pytest
from made_up import made_plan, write_paper, write_scores

from replicse.errors import BadInput
from replicse.study.paper.models import Draw, EncoderRequest
from replicse.study.results.tabulate import item_result
from replicse.study.results.values import Evaluations

RATE, CLIP, BATCH = "optimisation.learning_rate", "optimisation.clip", "optimisation.batch_size"
TEMPERATURE = "terms.infonce.temperature"
DOMAINS = {
    RATE: {"choice": [1e-5, 3e-5, 5e-5]},
    TEMPERATURE: {"log-uniform": [0.001, 10]},
    CLIP: {"uniform": [2, 4]},
}


def draw(jobs=50, seed=0, domains=DOMAINS):
    return Draw.of({"jobs": jobs, "seed": seed, "domains": domains}, "a draw")


def places(jobs, seed, dimensions=3):
    """Return the places in the unit cube that jobs are drawn at, to the digits of a value."""
    paths = [f"optimisation.{key}" for key in ("warmup", "clip", "weight_decay", "learning_rate")]
    drawn = draw(jobs, seed, {path: {"uniform": [0, 1]} for path in paths[:dimensions]}).drawn()
    return np.array([list(job.values()) for job in drawn])


def test_jobs_are_the_halton_sequence_of_scipy_rotated():
    qmc = pytest.importorskip("scipy.stats.qmc")
    sequence = qmc.Halton(4, scramble=False).random(50)
    ours = places(50, seed=3, dimensions=4)
    shift = ours[0]
    apart = np.abs(ours - (sequence + shift) % 1)
    assert np.minimum(apart, 1 - apart).max() < 2e-3
    assert len(set(shift.tolist())) == 4


def test_every_job_lies_in_its_domains():
    jobs = draw().drawn()
    assert len(jobs) == 50 and {tuple(job) for job in jobs} == {tuple(DOMAINS)}
    rates = [job[RATE] for job in jobs]
    assert {rates.count(rate) for rate in DOMAINS[RATE]["choice"]} <= {16, 17} and len(rates) == 50
    assert all(0.001 <= job[TEMPERATURE] <= 10 and 2 <= job[CLIP] <= 4 for job in jobs)
    # Evenly in the logarithm: as many in each of the four powers of ten.
    decades = [math.floor(math.log10(job[TEMPERATURE])) for job in jobs]
    assert all(11 <= decades.count(decade) <= 14 for decade in (-3, -2, -1, 0))


def test_a_seed_names_the_jobs_and_fewer_of_them_are_the_first():
    assert draw().drawn() == draw().drawn() != draw(seed=1).drawn()
    assert draw(jobs=7).drawn() == draw().drawn(7) == draw().drawn()[:7]
    assert draw(jobs=3).drawn(7) == draw().drawn()[:3]


def test_the_first_jobs_of_a_seed_stay_as_they_are():
    """Their values name runs: other ones would ask for a search anew."""
    assert draw(jobs=2).drawn() == [
        {RATE: 5e-5, TEMPERATURE: 1.08, CLIP: 2.84},
        {RATE: 3e-5, TEMPERATURE: 0.00232, CLIP: 3.24},
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"jobs": 0}, "jobs is 0"),
        ({"domains": {"optimisation.lr": {"uniform": [0, 1]}}}, '"optimisation.lr": expected section.key'),
        ({"domains": {RATE: {"uniform": [2, 1]}}}, "expected two bounds, the lower one first"),
        ({"domains": {RATE: {"log-uniform": [0, 1]}}}, "log-uniform"),
        (
            {"domains": {RATE: {"uniform": [1, 2], "choice": [1]}}},
            "exactly one of uniform, log-uniform, choice",
        ),
        ({"domains": {RATE: {"choice": [1e-5, -1]}}}, "learning_rate is -1"),
        ({"domains": {RATE: {"log_uniform": [1, 2]}}}, 'unknown key "log_uniform"'),
    ],
)
def test_mistakes_are_told(changes, told):
    with pytest.raises(BadInput) as found:
        EncoderRequest.of({"use": "plain", "draw": {"jobs": 5, "domains": DOMAINS, **changes}}, "a row")
    assert told in str(found.value)


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
    row = {"id": "drawn", "encoder": {"use": "plain", "draw": {"jobs": jobs, "domains": DOMAINS}}}
    return {"columns": COLUMNS, "rows": [row], **more}


def test_statistics_over_drawn_jobs_by_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_paper(tmp_path, "made", {"table1": table()})
    plan = made_plan(tmp_path)
    (group,) = plan.cells["made/table1"][0].jobs  # one seed, though the study has two
    assert len(set(group)) == 5
    scores = (50.0, 90.0, 60.0, 80.0, 70.0)
    write_scores(plan, ["made/table1"], lambda cell, place: scores[place])
    result = item_result(plan, plan.item("made/table1"), Evaluations(plan))
    found = {cell.column: cell.reproduced for cell in result.cells}
    assert found == {"max": 90, "upper": 80, "median": 70, "temperature": draw().drawn()[1][TEMPERATURE]}


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
