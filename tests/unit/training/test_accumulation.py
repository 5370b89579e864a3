"""Gradient accumulation, schedules of numbers, and averaged starts."""

import math

import micro
import pytest
import torch
from planned import WORKFLOW
from safetensors.torch import load_file

from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.errors import BadInput
from replicse.registry.frozen import FrozenModel
from replicse.registry.run_options import Momentum
from replicse.registry.runs import Init
from replicse.registry.terms import TermParameters

pytestmark = pytest.mark.usefixtures("one_thread")
STILL = {"hidden": 0, "attention": 0}
VIEWS = [{"column": "text"}, {"column": "other"}]


def trainer_of(folder, optimisation, **changes):
    folder.mkdir(exist_ok=True)
    options = {"learning_rate": 1e-3, "clip": 1e6, **optimisation}
    values = {"views": VIEWS, "dropout": STILL, "selection": {"every": 0}, **changes}
    return micro.trainer_of(micro.job(folder, optimisation=options, **values), folder)


def gradients(trainer, step=0):
    """Compute the gradients of a step.

    Args:
        trainer: The trainer.
        step: Index of the step. Default: 0.

    Returns:
        The loss, a list of gradients, and a dict of logged numbers.
    """
    batch = next(iter(trainer.sources[0].data.batches(step, step + 1)))
    loss, _ = trainer.step_gradients.compute(step, trainer.sources[0], *batch)
    found = [weight.grad.clone() for weight in trainer.parameters if weight.grad is not None]
    return float(loss), found, {name: float(value) for name, value in trainer.step_gradients.scalars.items()}


def test_accumulated_batches_are_a_large_one_whose_parts_are_compared_apart(tmp_path):
    """Accumulated batches equal a large batch with `parts`.

    InfoNCE with `parts` is the same mean of losses, computed in a single forward and backward pass.
    """
    objective = [{"term": "infonce", "parts": 3}]
    large = gradients(trainer_of(tmp_path / "large", {"batch_size": 24}, objective=objective))
    split = {"batch_size": 8, "accumulate": 3}
    small = gradients(trainer_of(tmp_path / "small", split, objective=[{"term": "infonce"}]))
    assert small[0] == pytest.approx(large[0], rel=1e-6)
    assert small[2] == pytest.approx(large[2], rel=1e-6)
    for one, other in zip(small[1], large[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_the_gradient_of_a_step_is_the_mean_over_its_batches_for_every_term(tmp_path):
    """For every term, the gradient should be the mean over a step's batches.

    This includes a smaller last batch, and a term of the whole batch (Barlow Twins).
    """
    objective = [{"term": "barlow-twins"}, {"term": "infonce", "weight": 0.3}]
    accumulated = trainer_of(
        tmp_path / "a", {"batch_size": 20, "accumulate": 3}, objective=objective, count=50
    )
    single = trainer_of(tmp_path / "b", {"batch_size": 20}, objective=objective, count=50)
    assert accumulated.steps == 1 and single.steps == 3
    each = [gradients(single, step) for step in range(3)]
    loss, found, _ = gradients(accumulated)
    losses, parts, _ = zip(*each, strict=True)
    assert loss == pytest.approx(sum(losses) / 3, rel=1e-6)
    for gradient, *others in zip(found, *parts, strict=True):
        mean = sum(others) / 3
        torch.testing.assert_close(gradient, mean, rtol=1e-3, atol=1e-5)


def test_a_run_that_accumulates_is_resumed_as_it_was(tmp_path):
    options = {"batch_size": 8, "accumulate": 2, "epochs": None, "steps": 8}
    job = micro.job(tmp_path, optimisation=options, selection={"every": 0})
    micro.trainer_of(job, tmp_path / "whole", tmp_path).run()
    micro.run_until_killed(micro.trainer_of(job, tmp_path / "killed", tmp_path), 5)
    micro.trainer_of(job, tmp_path / "killed", tmp_path).run()
    assert micro.equal_runs(tmp_path / "whole" / "out", tmp_path / "killed" / "out")
    assert micro.metrics(tmp_path / "whole" / "out")["steps"] == 8


def test_numbers_of_a_term_follow_their_schedules(tmp_path):
    schedules = {"temperature": {"schedule": "cosine", "floor": 0.5}, "hard_negative_weight": "linear"}
    spec = {"term": "infonce", "temperature": 0.1, "hard_negative_weight": 4, "schedules": schedules}
    parameters = TermParameters.of(spec, "here")
    for step, steps in ((0, 8), (3, 8), (7, 8)):
        now = parameters.at(step, steps)
        assert now.temperature == pytest.approx(0.1 * (0.75 + 0.25 * math.cos(math.pi * step / steps)))
        assert now.hard_negative_weight == pytest.approx(4 * (8 - step) / 8)
    found = []
    for objective in ([spec], [{"term": "infonce", "temperature": parameters.at(4, 6).temperature}]):
        trainer = trainer_of(tmp_path / str(len(found)), {"batch_size": 16, "epochs": 1}, objective=objective)
        found.append(gradients(trainer, 4)[0])
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_the_weight_of_a_term_follows_its_schedule(tmp_path):
    losses = []
    for weight in ({}, {"weight": 2, "schedule": "linear"}):
        objective = [{"term": "infonce", **weight}]
        trainer = trainer_of(
            tmp_path / str(len(losses)), {"batch_size": 16, "epochs": 1}, objective=objective
        )
        losses.append([gradients(trainer, 0)[0], gradients(trainer, 4)[0]])
    assert losses[1] == pytest.approx([2 * losses[0][0], 2 * (1 - 4 / 6) * losses[0][1]], rel=1e-6)


@pytest.mark.parametrize(
    ("schedules", "told"),
    [
        (
            {"temperatur": "linear"},
            '"temperatur" is not a number of term infonce; did you mean "temperature"',
        ),
        ({"parts": "linear"}, '"parts" is not a number'),
        ({"weight": "linear"}, '"weight" is not a number'),
    ],
)
def test_only_numbers_of_the_term_follow_schedules(schedules, told):
    with pytest.raises(BadInput, match=told):
        TermParameters.of({"term": "infonce", "schedules": schedules}, "here")


def test_a_schedule_that_leads_out_of_range_is_refused_with_term_and_step(tmp_path, monkeypatch):
    objective = [{"term": "infonce", "schedules": {"temperature": "linear"}}]
    trainer = trainer_of(tmp_path, {"batch_size": 16}, objective=objective)
    monkeypatch.setattr("replicse.registry.procedures.linear", lambda step, steps, parameters: 0.0)
    with pytest.raises(
        BadInput, match=r"term infonce, step 1: .*: temperature is 0.0; expected a number above 0"
    ):
        trainer.run()


def test_the_decay_of_a_momentum_encoder_follows_its_schedule(tmp_path):
    """The decay of a momentum encoder should follow a schedule.

    As in BYOL: tau = 1 - (1 - tau_base) (cos(pi k / K) + 1) / 2, where k is the step and K the number of
    steps.
    """
    momentum = {"decay": 0.9, "schedule": "cosine"}
    for step in range(6):
        expected = 1 - 0.1 * (math.cos(math.pi * step / 6) + 1) / 2
        assert Momentum.of(momentum, "here").decay_at(step, 6) == pytest.approx(expected)
    queue = [{"term": "momentum-queue", "queue": 16}]
    trainer = trainer_of(tmp_path, {"batch_size": 16, "epochs": 1}, objective=queue, momentum=momentum)
    kept, trained = trainer.model.momentum.backbone, trainer.model.backbone
    batches = iter(trainer.sources[0].data.batches(0, trainer.steps))
    for step in range(3):
        before, now = kept.input_embeddings.detach().clone(), trained.input_embeddings.detach().clone()
        trainer._update(step, trainer.sources[0], *next(batches))
        decay = 1 - 0.1 * (math.cos(math.pi * step / trainer.steps) + 1) / 2
        torch.testing.assert_close(kept.input_embeddings, decay * before + (1 - decay) * now)


# Averages of runs


def ends(tmp_path, count, **changes):
    """Train runs of several seeds; return a list of their checkpoints.

    Args:
        tmp_path: Folder of the runs.
        count: Number of seeds.
        changes: Settings of the runs that replace the defaults.
    """
    folders = []
    for seed in range(count):
        trainer_of(tmp_path / f"s{seed}", {"batch_size": 16, "steps": 3}, seed=seed, **changes).run()
        folders.append(tmp_path / f"s{seed}" / "out" / "last")
    return folders


def averaged(tmp_path, folders, steps=0, **init):
    """Return a trainer that starts from the average of several checkpoints.

    Args:
        tmp_path: Folder of the runs.
        folders: List of checkpoints.
        steps: Number of steps. Default: 0.
        init: Further settings of the start, such as `keep_head`.
    """
    own = tmp_path / "averaged"
    own.mkdir()
    job = micro.job(own, optimisation={"batch_size": 16, "steps": steps, "epochs": None}, dropout=STILL)
    average = tuple(FrozenModel(folder=str(folder)) for folder in folders[1:])
    start = Init(run=job.run_id, average=average, **init)
    job.spec = job.spec.replace(init=start, selection=job.spec.selection.replace(every=0))
    record = {"run": job.run_id, "checkpoint": "last"}
    for folder in folders:
        text = (folder / "checkpoint.json").read_text()
        run = next(line for line in text.splitlines() if '"run"' in line)
        (folder / "checkpoint.json").write_text(text.replace(run, f' "run": "{record["run"]}",'))
    job.init = folders[0]
    return micro.trainer_of(job, own)


@pytest.mark.parametrize("keep_head", [False, True])
def test_an_average_without_steps_is_the_mean_of_the_weights(tmp_path, keep_head):
    folders = ends(tmp_path, 3)
    states = [load_file(folder / "model.safetensors") for folder in folders]
    trainer = averaged(tmp_path, folders, keep_head=keep_head)
    trainer.run()
    found = load_file(tmp_path / "averaged" / "out" / "best" / "model.safetensors")
    compared = [name for name in found if keep_head or not ("mlp" in name or "pooler" in name)]
    assert len(compared) > 20
    for name in compared:
        mean = sum(state[name].double() for state in states) / 3
        torch.testing.assert_close(found[name].double(), mean, rtol=1e-6, atol=1e-7)
    assert micro.metrics(tmp_path / "averaged" / "out")["steps"] == 0


def test_encoders_of_other_sizes_are_not_averaged(tmp_path):
    folders = ends(tmp_path, 1)
    (tmp_path / "other").mkdir()
    sizes = {**micro.SIZES, "hidden": 32}
    init = {"fresh": {"architecture": {"family": "bert", **sizes}, "tokenizer": {"name": "test"}}}
    trainer_of(tmp_path / "other", {"batch_size": 16, "steps": 1}, init=init).run()
    with pytest.raises(
        BadInput, match=r"other/out/last: the weights have other shapes than the weights of the first run"
    ):
        averaged(tmp_path, [*folders, tmp_path / "other" / "out" / "last"])


def test_a_study_averages_runs_of_recipes_and_of_seeds_on_one_backbone(workspace):
    from made_up import write_paper

    (workspace / "scales").mkdir()
    recipes = {
        "one": {"like": "simcse/unsup"},
        "hot": {"like": "one", "objective": [{"term": "infonce", "temperature": 0.1}]},
        "soup": {
            "like": "one",
            "init": {"average": [{"use": "one", "seeds": [0, 5]}, {"use": "hot", "checkpoint": "last"}]},
            "optimisation": {"steps": 0},
        },
    }
    column = {"id": "stsb", "metric": "spearman", "metric_path": "sts-dev/STS-B/all"}
    table = {"columns": [column], "rows": [{"id": "soup", "encoder": {"use": "soup"}}]}
    write_paper(workspace, "mine", {"table1": table}, recipes=recipes)
    study = compile_study({"scale": "micro", "papers": {"mine": "all"}, "seeds": [3]}, WORKFLOW)
    (soup,) = (run for run in study.runs.values() if run.init.average)
    assert (soup.optimisation.steps, soup.seed) == (0, 3)
    parts = [study.runs[name] for name in study.depends[soup.run_id]]
    assert [(run.seed, run.objective[0].temperature) for run in parts] == [(0, 0.05), (5, 0.05), (3, 0.1)]
    assert len({run.init.run for run in parts}) == 1 and study.runs[parts[0].init.run].seed == 3
    job = list_jobs(study)["train", soup.run_id]
    folders = [f"results/micro/runs/{run.run_id}" for run in parts]
    expected = [f"{folders[0]}/best", f"{folders[1]}/best", f"{folders[2]}/last"]
    assert job.payload["init"] == expected[0]
    assert {f"{folder}/model.safetensors" for folder in expected} <= set(job.inputs)
