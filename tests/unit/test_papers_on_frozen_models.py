"""Momentum encoders, frozen teachers and frozen layers in terms.

The papers should not change the package.
"""

import copy
from pathlib import Path

import micro
import parted
import pytest
import torch
import yaml
from made_up import write_workspace
from one_step import rows_of
from places import ROOT
from tiny_encoders import tiny

from replicse.compile.compiler import compile_study
from replicse.compile.cost import Cost, passes
from replicse.compile.jobs import list_jobs
from replicse.compile.lineage import run_sources
from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.heads import make_head
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.registry.encoders import MlpHead
from replicse.registry.frozen import frozen_models
from replicse.registry.plugins import use_plugins
from replicse.training.loop import train
from replicse.training.parts import Parts

CPU = torch.device("cpu")
TERMS = [{"term": "momentum-queue", "temperature": 0.1, "queue": 20}, {"term": "bootstrap"}]
STEPS = {"batch_size": 8, "learning_rate": 1e-3, "steps": 12, "epochs": 2}


@pytest.fixture(autouse=True)
def _one_thread_and_nothing_in_use_after():
    torch.set_num_threads(1)
    yield
    use_plugins([])


def workspace(key):
    """Turn the test's folder into a workspace of a paper; return the config.

    The plug-ins of the paper are registered.
    """
    config = write_workspace(Path(), key)
    use_plugins(config["plugins"])
    return config


def plan_of(key, seeds=(0, 1), scale="micro"):
    """Compile a paper, by default for two seeds at scale micro."""
    return compile_study({**workspace(key), "seeds": list(seeds), "scale": scale}, ROOT / "workflow")


def run_of(plan, key, row, seed=0):
    """Return the run of a row.

    Args:
        plan: The compiled study.
        key: Key of the paper.
        row: Id of the row.
        seed: Seed of the run. Default: 0.
    """
    (cell,) = [c for c in plan.cells[f"{key}/table1"] if (c.row.id, c.column.id) == (row, "stsb-dev")]
    return plan.runs[plan.encoders[cell.jobs[cell.seeds.index(seed)][0]].source.run]


def with_momentum(folder, **changes):
    """Return a job with two terms that use a momentum encoder.

    A term is in the package, the other term in a plug-in.
    """
    values = {"objective": TERMS, "optimisation": STEPS, "momentum": {"decay": 0.9, "start": "random"}}
    return micro.job(folder, count=44, **{**values, "selection": {"every": 0}, **changes})


# Momentum encoder


def test_a_run_that_was_stopped_ends_bit_for_bit_as_one_that_was_not(tmp_path):
    """A stopped and resumed run should equal an undisturbed run bit for bit.

    This includes the queue, a plug-in's buffer, the momentum encoder and frozen layers.
    """
    workspace("bootstrap")
    freeze = {"embeddings": True, "layers": [0, 0]}
    job = with_momentum(tmp_path, freeze=freeze, selection={"every": 4})
    root = micro.dev_root(tmp_path / "data")
    whole = micro.trainer_of(job, tmp_path / "whole", root)
    whole.run()
    micro.run_until_killed(micro.trainer_of(job, tmp_path / "cut", root), 7)
    cut = train(job, root, tmp_path / "cut/out", tmp_path / "cut/state", CPU)
    assert micro.equal_runs(tmp_path / "whole/out", tmp_path / "cut/out")
    kept, found = whole.objectives.state_dict(), cut.objectives.state_dict()
    torch.testing.assert_close(dict(kept), dict(found), rtol=0, atol=0)


def test_chunks_find_what_the_whole_batch_finds(tmp_path):
    workspace("bootstrap")
    steps = {**STEPS, "batch_size": 16, "learning_rate": 1e-5, "clip": 1000, "steps": 6}
    for layers in ([0, 0], [0, -1]):
        job = with_momentum(tmp_path, optimisation=steps, freeze={"embeddings": True, "layers": layers})
        whole = parted.steps(job, tmp_path, Parts())
        found = parted.steps(job, tmp_path, Parts(chunk=5))
        for part in ("losses", "gradients", "weights"):
            torch.testing.assert_close(found[part], whole[part], rtol=1e-9, atol=1e-9)


def test_the_momentum_encoder_is_of_the_run_and_counted_in_its_cost():
    plan = plan_of("bootstrap")
    run, other, simcse = (run_of(plan, "bootstrap", row) for row in ("bootstrap", "random-start", "simcse"))
    assert run.canonical()["momentum"] == {"decay": 0.99}
    assert other.canonical()["momentum"] == {"decay": 0.99, "start": "random", "head": "trained"}
    assert "momentum" not in simcse.canonical() and "freeze" not in simcse.canonical()
    assert len({run.run_id, other.run_id, run_of(plan, "bootstrap", "decay").run_id}) == 3
    # Only one of two encoded views needs a gradient, and the momentum encoder encodes another view.
    assert passes(run, run_sources(plan)) == pytest.approx(passes(simcse, run_sources(plan)) / 2 + 1 / 3)


# Frozen teachers


def teacher_folder(folder, name, seed, head=False):
    """Write a random encoder with the tokenizer of the test.

    Args:
        folder: Folder to write to.
        name: Name of the encoder's subfolder.
        seed: Seed of the weights.
        head: Whether the encoder has a dense sentence head. Default: False.

    Returns:
        The path of the encoder as a string.
    """
    torch.manual_seed(seed)
    tokenizer = micro.tokenizer_file(folder)
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    encoder = tiny(layers=1, vocabulary=size, hidden=16, heads=2, intermediate=16, positions=64)
    encoder.save(folder / name, make_head(MlpHead(kind="mlp"), 16) if head else None, tokenizer)
    return str(folder / name)


def test_a_teacher_is_read_as_it_would_be_evaluated_and_never_trained(tmp_path):
    one = {"folder": teacher_folder(tmp_path, "one", 1), "pooling": "mean"}
    other = {"folder": teacher_folder(tmp_path, "other", 2, head=True), "pooling": "cls-head"}
    term = {"term": "listnet", "teachers": [one, other]}
    trainer = micro.trainer_of(micro.job(tmp_path, objective=[term], selection={"every": 0}), tmp_path)
    (made,) = trainer.sources[0].objective.terms
    source, job = trainer.sources[0], trainer.job
    before = [copy.deepcopy(each.backbone.state_dict()) for each in made.teachers]
    columns, labels = next(source.data.batches(0, 1))
    trainer._update(0, source, columns, labels)
    for each, weights in zip(made.teachers, before, strict=True):
        after = each.backbone.state_dict()
        for name, weight in weights.items():
            assert torch.equal(after[name], weight), "it is not trained"
    tokenizer = load_tokenizer(job.tokenizer, None)
    decoded = list(map(tokenizer.decode, rows_of(columns[0])))
    for spec, teacher in zip((one, other), made.teachers, strict=True):
        encoder = SentenceEncoder.open(spec["folder"], spec["pooling"], device="cpu")
        expected = torch.from_numpy(encoder(decoded))
        torch.testing.assert_close(teacher.vectors(columns[0]), expected, rtol=1e-4, atol=1e-5)


def test_a_teacher_is_a_chain_of_its_own_for_each_seed():
    plan = plan_of("teacher")
    graph = list_jobs(plan)
    for seed in (0, 1):
        teacher = run_of(plan, "teacher", "teacher", seed)
        student = run_of(plan, "teacher", "student", seed)
        second = run_of(plan, "teacher", "second-generation", seed)
        of_two = run_of(plan, "teacher", "of-two", seed)
        best, last = plan.paths.run(teacher.run_id, "best"), plan.paths.run(student.run_id, "last")
        (model,) = frozen_models(student.terms)
        assert model.folder == best and str(model.pooling) == "cls"
        assert teacher.seed == student.seed == seed
        (model,) = frozen_models(second.terms)
        assert model.folder == last and str(model.pooling) == "cls-head"
        assert plan.chain([second.run_id]) > {second.run_id, student.run_id, teacher.run_id}
        large, released = frozen_models(of_two.terms)
        assert Path(large.folder).parent != Path(graph["train", of_two.run_id].payload["init"]).parent
        assert str(large.pooling) == "mean" and released.folder == best
        for run in (student, second, of_two):
            needs = graph["train", run.run_id].inputs
            assert {f"{model.folder}/model.safetensors" for model in frozen_models(run.terms)} <= set(needs)
            assert plan.chain([run.run_id]) <= plan.runs_of(plan.item("teacher/table1"))
    assert Cost(plan).hours(plan.runs)
    # At scale paper, released encoders are downloaded instead.
    config = {"scale": "paper", "papers": {"teacher": "all"}, "seeds": [0]}
    plan = compile_study(config, ROOT / "workflow")
    _, released = frozen_models(run_of(plan, "teacher", "of-two").terms)
    assert "sup-simcse-bert-base-uncased" in released.folder and "/backbones/" in released.folder
    assert ("backbone", released.folder.split("/")[-1]) in list_jobs(plan)


def edit_recipes(key, change):
    file = Path("papers") / key / "recipes.yaml"
    recipes = yaml.safe_load(file.read_text())
    change(recipes)
    file.write_text(yaml.safe_dump(recipes))


@pytest.mark.parametrize(
    ("teacher", "problem"),
    [
        ({"use": "second-generation"}, "the run depends on itself through the frozen model"),
        ({"use": "stuednt"}, 'recipe "teacher/stuednt" is unknown; did you mean "teacher/student"'),
        ({"backbone": "bert-bsae"}, 'do not contain "bert-bsae"; did you mean "bert-base"'),
        ({"released": "sup-simcse"}, 'released of .* do not contain "sup-simcse"'),
        ("bert-base", r"expected {backbone: NAME}, {released: NAME} or {use: RECIPE}"),
        ("results/x/best", 'names the folder "results/x/best"'),
        ({"backbone": "bert-base", "checkpoint": "last"}, "checkpoint only if use is set"),
        ({"backbone": "bert-base", "pooling": "meen"}, "meen"),
    ],
)
def test_a_teacher_that_is_not_there_is_refused(teacher, problem):
    config = workspace("teacher")
    edit_recipes("teacher", lambda recipes: recipes["student"]["objective"][1].update(teachers=[teacher]))
    with pytest.raises(BadInput, match=problem):
        compile_study(config, ROOT / "workflow")


def test_a_teacher_whose_head_or_tokens_do_not_fit_is_refused(tmp_path):
    workspace("teacher")
    folder = teacher_folder(tmp_path, "plain", 1)

    def begin(**teacher):
        term = {"term": "listnet", "teachers": [{"folder": folder, **teacher}]}
        micro.trainer_of(micro.job(tmp_path, objective=[term]), tmp_path)

    begin()
    with pytest.raises(BadInput, match="a head for pooling cls-head is not stored; use cls"):
        begin(pooling="cls-head")
    tokens = load_tokenizer(tmp_path / "plain" / "tokenizer.json", None)
    tokens.add_tokens(["another"])
    tokens.save(str(tmp_path / "plain" / "tokenizer.json"))
    with pytest.raises(BadInput, match="other tokens than the encoder"):
        begin()


# Frozen layers


def test_frozen_weights_stay_and_the_others_are_trained(tmp_path):
    freeze = {"embeddings": True, "layers": [0, -2]}
    trainer = micro.trainer_of(micro.job(tmp_path, freeze=freeze, selection={"every": 0}), tmp_path)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.run()
    moved = {
        name for name, value in trainer.model.state_dict().items() if not torch.equal(before[name], value)
    }
    trained = {name for name in before if ".layers.1." in name or name.startswith("head.")}
    assert moved == trained
    count = sum(before[name].numel() for name in trained)
    assert micro.metrics(tmp_path / "out")["parameters"] == count
    inner = trainer.model.backbone.layers
    for parameter in inner[0].parameters():
        assert parameter.grad is None


@pytest.mark.parametrize(
    ("layers", "frozen"),
    [(None, []), ([0, 0], [0]), ([1, -1], [1]), ([-2, -1], [0, 1]), ([0, 2], None), ([1, 0], None)],
)
def test_the_first_and_the_last_frozen_layer_are_named(tmp_path, layers, frozen):
    job = micro.job(tmp_path, freeze={"layers": layers} if layers else {})
    if frozen is None:
        with pytest.raises(BadInput, match=r"freeze.layers is \[.*\]; the encoder has layers 0 to 1"):
            micro.trainer_of(job, tmp_path)
        return
    layers = micro.trainer_of(job, tmp_path).model.backbone.layers
    still = []
    for number, layer in enumerate(layers):
        if not any(parameter.requires_grad for parameter in layer.parameters()):
            still.append(number)
    assert still == frozen


def test_networks_of_terms_are_trained_whole(tmp_path):
    objective = [{"term": "infonce"}, {"term": "conditional-mlm", "weight": 0.1}]
    freeze = {"embeddings": True, "layers": [0, 1]}
    trainer = micro.trainer_of(micro.job(tmp_path, objective=objective, freeze=freeze), tmp_path)
    term = trainer.sources[0].objective.terms[1]
    for parameter in term.discriminator.parameters():
        assert parameter.requires_grad


def test_a_run_without_anything_to_train_is_refused(tmp_path):
    job = micro.job(
        tmp_path, freeze={"embeddings": True, "layers": [0, 1]}, pooling={"train": "mean", "test": "mean"}
    )
    with pytest.raises(BadInput, match="all weights are frozen; remove an entry of freeze"):
        micro.trainer_of(job, tmp_path).run()


def test_frozen_layers_are_planned_and_their_cost_is_less():
    plan = plan_of("freezing")
    every, frozen, embeddings = (run_of(plan, "freezing", row) for row in ("all", "frozen", "embeddings"))
    assert frozen.canonical()["freeze"] == {"embeddings": True, "layers": [0, -2]}
    # One of two layers only has a forward pass, which needs a third of the operations.
    assert passes(frozen, run_sources(plan)) == pytest.approx(2 / 3 * passes(every, run_sources(plan)))
    assert passes(embeddings, run_sources(plan)) == passes(every, run_sources(plan))
    edit_recipes("freezing", lambda recipes: recipes["frozen"]["freeze"].update(layers=[0, 9]))
    with pytest.raises(BadInput, match=r"freeze.layers is \[0, 9\]; the encoder has layers 0 to 1"):
        compile_study({"scale": "micro", "papers": {"freezing": "all"}, "seeds": [0]}, ROOT / "workflow")
