"""Views that are read through templates of their own: loss and gradient by a slow loop, selection, evaluation."""

import json

import micro
import pytest
import torch
import torch.nn.functional as F

from replicse.cli import main
from replicse.data.tokenizer import load_tokenizer, special_ids
from replicse.errors import BadInput
from replicse.objective import Step
from replicse.training.loop import Trainer

TEXT = {"column": "text"}
FIRST, SECOND = "mi ko {text} tu {mask} ba", "{mask} re {text} zo"
TRAIN = {"pooling": "mask", "denoise": True, "head": True}
SELECTED = {"pooling": "mask", "template": FIRST, "denoise": True}
VIEWS = [TEXT, {**TEXT, "pooling": {**TRAIN, "template": SECOND}}]
POOLING = {
    "train": {**TRAIN, "template": FIRST},
    "selection": SELECTED,
    "test": {"pooling": "mask", "template": FIRST, "full_stop": True},
}


def trainer_of(job, home):
    return Trainer(job, home / "data", home / "out", home / "state", torch.device("cpu"))


def slow_vectors(model, rows, template, special, tokenizer):
    """Return the denoised state of the mask of each row, one forward for each, as PromptBERT defines it."""
    before, after = (
        tokenizer.encode(part.replace("{mask}", "[MASK]"), add_special_tokens=False).ids
        for part in template.split("{text}")
    )
    before, after = [special.cls, *before], [*after, special.sep]
    own = [*before, *after]
    vectors = []
    for row in rows:
        ids = [*before, *row[1:-1], *after]
        places = [place + (len(row) - 2) * (place >= len(before)) for place in range(len(own))]
        filled, empty = (
            model(input_ids=torch.tensor([each]), position_ids=torch.tensor([[*at]])).last_hidden_state[0]
            for each, at in ((ids, range(len(ids))), (own, places))
        )
        vectors.append(filled[ids.index(special.mask)] - empty[own.index(special.mask)])
    return torch.stack(vectors)


@pytest.mark.parametrize("engine", ["packed", "transformers"])
def test_loss_and_gradient_are_those_of_a_slow_loop(tmp_path, engine):
    import transformers

    still = {"hidden": 0, "attention": 0}
    job = micro.job(tmp_path, views=VIEWS, pooling=POOLING, dropout=still)
    trainer = trainer_of(job, tmp_path)
    model = trainer.model.train()
    with torch.no_grad():
        for parameter in model.backbone.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    model.backbone.save(tmp_path / "init")
    if engine == "transformers":
        from dataclasses import replace

        spec = type(job.spec).of({**job.spec.plain(), "init": {"folder": "x"}, "engine": engine}, "run")
        trainer = trainer_of(replace(job, spec=spec, init=tmp_path / "init"), tmp_path)
        trainer.model.head.load_state_dict(model.head.state_dict())
        model = trainer.model.train()
    source = trainer.sources[0]
    columns, _ = next(source.data.batches(0, 1))
    vectors = model.vectors(columns, source.poolings, source.repeated, source.encoded)
    loss = source.objective(Step(vectors, columns, model, trainer.generator))
    loss.backward()

    slow = transformers.BertModel.from_pretrained(tmp_path / "init", add_pooling_layer=False).eval()
    tokenizer = load_tokenizer(job.tokenizer, None)
    rows = [ids.tolist() for ids in columns[0].tokens.split(columns[0].lengths.tolist())]
    dense = model.head.dense
    sides = [
        torch.tanh(
            F.linear(
                slow_vectors(slow, rows, template, special_ids(tokenizer), tokenizer),
                dense.weight,
                dense.bias,
            )
        )
        for template in (FIRST, SECOND)
    ]
    for found, expected in zip(vectors, sides, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    cosines = F.cosine_similarity(sides[0][:, None], sides[1][None], dim=-1) / 0.05
    expected = F.cross_entropy(cosines, torch.arange(len(rows)))
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-4)
    expected.backward()
    assert model.backbone.input_embeddings.grad.abs().sum() > 0
    pairs = [
        (model.backbone.input_embeddings.grad, slow.embeddings.word_embeddings.weight.grad),
        (position_gradient(model.backbone), slow.embeddings.position_embeddings.weight.grad),
    ]
    for found, wanted in pairs:
        wanted = wanted[: len(found)]
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4 * float(wanted.abs().max()))


def position_gradient(backbone):
    if backbone.engine == "packed":
        return backbone.position_embeddings.grad
    return backbone.model.embeddings.position_embeddings.weight.grad


@pytest.mark.parametrize("engine", ["packed", "transformers"])
def test_selection_is_read_otherwise_than_the_test_and_the_evaluate_verb_repeats_it(tmp_path, engine):
    root = micro.dev_root(tmp_path / "data")
    job = micro.job(tmp_path, views=VIEWS, pooling=POOLING)
    if engine == "transformers":
        from dataclasses import replace

        trainer_of(job, tmp_path).model.backbone.save(tmp_path / "init")
        spec = type(job.spec).of({**job.spec.plain(), "init": {"folder": "x"}, "engine": engine}, "run")
        job = replace(job, spec=spec, init=tmp_path / "init")
    trainer_of(job, tmp_path).run()
    best = micro.metrics(tmp_path / "out")["best"]["dev"]
    options = ["--suite", "sts-dev", "--options", '{"sts-dev": {"tasks": ["STS-B"]}}', "--engine", engine]
    scores = {}
    for name in ("selection", "test"):
        out = tmp_path / f"{name}.json"
        words = ["--encoder", str(tmp_path / "out" / "best"), "--data", str(root), "--out", str(out)]
        assert main(["evaluate", *words, *options, "--pooling", json.dumps(POOLING[name])]) == 0
        scores[name] = json.loads(out.read_text())
        assert scores[name]["pooling"] == POOLING[name]
    values = {name: each["suites"]["sts-dev"]["STS-B"]["all"] for name, each in scores.items()}
    assert values["selection"] == pytest.approx(best, abs=0.01)
    assert abs(values["test"] - best) > 0.01


def test_views_of_one_text_share_their_store_and_are_encoded_once_only_where_they_are_read_alike(tmp_path):
    still = {"hidden": 0, "attention": 0}
    for views, once in ((VIEWS, False), ([TEXT, TEXT], True)):
        trainer = trainer_of(micro.job(tmp_path, views=views, pooling=POOLING, dropout=still), tmp_path)
        source = trainer.sources[0]
        assert source.repeated
        columns, _ = next(source.data.batches(0, 1))
        assert columns[0] is columns[1]
        first, second = trainer.model.train().vectors(columns, source.poolings, source.repeated)
        assert (first is second) == once


def test_the_evaluate_verb_refuses_a_pooling_that_is_none(tmp_path, capsys):
    words = [
        "evaluate",
        "--encoder",
        "x",
        "--suite",
        "sts",
        "--data",
        str(tmp_path),
        "--out",
        "x",
        "--pooling",
    ]
    for value, told in (
        ("clss", 'no pooling is named "clss"; did you mean "cls"?'),
        ('{"pooling": "mask"}', 'pooling lacks the key "template"'),
        ('{"pooling": "mean", "template": "a"}', 'template is "a"; expected one {text} in it'),
    ):
        assert main([*words, value]) == 2
        assert told in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words, '{"pooling": '])
    assert "invalid pooling value" in capsys.readouterr().err


def test_a_template_that_the_encoder_has_no_room_for_stops_the_run(tmp_path):
    long = " ".join(["bal"] * 70) + " {text} {mask}"
    with pytest.raises(BadInput, match="no sentence fits next to it into 64"):
        trainer_of(micro.job(tmp_path, pooling={"train": {"pooling": "mask", "template": long}}), tmp_path)
