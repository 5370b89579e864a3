"""`replicse.evaluate` with encoders of any kind, and errors."""

import json
import re
import shutil
import sys
from argparse import Namespace

import foreign_encoders as foreign
import numpy as np
import pytest
import torch
from micro import dev_root, sentences
from scipy.stats import spearmanr
from sentence_transformers import quantize_embeddings
from snakemake_runs import ran

import replicse
from replicse.cli import main
from replicse.cli.evaluate import write_scores
from replicse.cli.stages.evaluate import EvaluationJob, evaluate_and_write
from replicse.data.sts import load_sts
from replicse.evaluation.correlation import spearman

OPTIONS = {"sts-dev": {"tasks": ["STS-B"]}}


def letters(texts):
    """Return counts of some letters in each text, as an array."""
    counts = [list(map(text.count, "aeiourst")) for text in texts]
    lengths = list(map(len, texts))
    return np.array(counts) + 0.1 * np.array(lengths)[:, None]


class Counting:
    """An encoder with `encode` that records the sentences."""

    def encode(self, texts):
        self.seen = [*getattr(self, "seen", []), *texts]
        return letters(texts)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return dev_root(tmp_path_factory.mktemp("root") / "data")


def test_a_function_and_an_object_give_the_numbers_of_a_slow_loop(data):
    (subset,) = load_sts(data, "STS-B", "dev")
    cosines = []
    for one, other in zip(subset.first, subset.second, strict=True):
        x, y = letters([one])[0], letters([other])[0]
        cosines.append(float(x @ y / np.sqrt((x @ x) * (y @ y))))
    expected = 100 * spearman(np.array(cosines), np.array(subset.gold))
    encoder = Counting()
    for each in (letters, encoder):
        outcome = replicse.evaluate(each, "sts-dev", data, options=OPTIONS)
        assert outcome["suites"]["sts-dev"]["STS-B"]["all"] == pytest.approx(expected, abs=1e-3)
        assert outcome["failures"] == {}
    assert sorted(encoder.seen) == sorted({*subset.first, *subset.second})


@pytest.mark.parametrize(
    "as_returned",
    [
        lambda vectors: torch.tensor(vectors).bfloat16(),
        lambda vectors: torch.tensor(vectors).half().requires_grad_(),
        lambda vectors: [torch.tensor(vector).bfloat16() for vector in vectors],
        lambda vectors: vectors.tolist(),
    ],
)
def test_vectors_of_a_function_may_be_tensors_of_any_precision_or_lists(data, as_returned):
    # Every precision can store small integers.
    expected = replicse.evaluate(lambda texts: letters(texts).round(), "sts-dev", data, options=OPTIONS)
    found = replicse.evaluate(
        lambda texts: as_returned(letters(texts).round()), "sts-dev", data, options=OPTIONS
    )
    assert found == expected


def nothing_but_numbers(constant):
    raise ValueError(f"{constant} is not JSON")


@pytest.mark.parametrize(
    ("write", "length"),
    [
        (lambda folder: foreign.write_transformer(folder, "bert", torch.bfloat16), 24),
        (foreign.write_static, None),
        (foreign.write_model2vec, None),
        (lambda folder: foreign.write_modules(foreign.write_transformer(folder, "t5") and folder), None),
    ],
)
def test_the_record_says_what_was_computed(data, tmp_path, write, length):
    write(tmp_path / "encoder")
    job = EvaluationJob(encoder=str(tmp_path / "encoder"), suite=("sts-dev",), options=OPTIONS)
    arguments = Namespace(data=data, out=tmp_path / "scores.json", threads=0, device="cpu")
    evaluate_and_write(job, arguments, write_scores)
    result = json.loads((tmp_path / "scores.json").read_text(), parse_constant=nothing_but_numbers)
    assert result["provenance"]["precision"] == "fp32"
    assert result["max_length"] == length and result["width"] in (16, 32)
    assert result["unread"] == []


def test_weights_are_hashed_only_for_suites_that_use_the_digest(data, tmp_path, monkeypatch):
    """Each evaluation of a study once hashed all weights and the package."""
    foreign.write_static(tmp_path / "encoder")
    monkeypatch.setattr("replicse.library.evaluation.identify_encoder", lambda *_: pytest.fail("not used"))
    scores = replicse.evaluate(str(tmp_path / "encoder"), "sts-dev", data, options=OPTIONS)
    assert scores["suites"]["sts-dev"]
    job = EvaluationJob(encoder=str(tmp_path / "encoder"), suite=("sts-dev",), options=OPTIONS)
    arguments = Namespace(data=data, out=tmp_path / "scores.json", threads=0, device="cpu")
    assert evaluate_and_write(job, arguments)["suites"] == scores["suites"]


def test_the_first_dimensions_are_scored_in_one_table(data, tmp_path, capsys):
    foreign.write_static(tmp_path / "encoder")
    encoder = replicse.Encoder.open(tmp_path / "encoder", device="cpu")
    words = ["evaluate", "--encoder", str(tmp_path / "encoder"), "--suite", "sts-dev", "--data", str(data)]
    words += ["--options", json.dumps(OPTIONS), "--out", str(tmp_path / "a.json"), "--device", "cpu"]
    assert main([*words, "--width", "4,8"]) == 0
    result = json.loads((tmp_path / "a.json").read_text())
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[-4:]]
    assert rows == ["width", "4", "8", "16"]
    for width in (4, 8):
        expected = replicse.evaluate(
            lambda texts, width=width: encoder(texts)[:, :width], "sts-dev", data, options=OPTIONS
        )
        assert result["widths"][str(width)] == expected["suites"]
    assert result["widths"]["4"] != result["suites"] != result["widths"]["8"]
    for text in ("0", "8,17"):
        assert main([*words, "--width", text]) == 2
        assert "should be between 1 and 16" in capsys.readouterr().err


def test_quantised_vectors_are_scored_in_one_table(data, tmp_path, capsys):
    """Compares with vectors that sentence-transformers quantised and packed."""
    foreign.write_static(tmp_path / "encoder")
    encoder = replicse.Encoder.open(tmp_path / "encoder", device="cpu")
    words = ["evaluate", "--encoder", str(tmp_path / "encoder"), "--suite", "sts-dev", "--data", str(data)]
    words += ["--options", json.dumps(OPTIONS), "--out", str(tmp_path / "a.json"), "--device", "cpu"]
    assert main([*words, "--width", "8", "--quantise", "int8,binary"]) == 0
    result = json.loads((tmp_path / "a.json").read_text())
    names = ["8", "8 int8", "8 binary", "16", "16 int8", "16 binary"]
    lines = capsys.readouterr().out.splitlines()[-len(names) :]
    assert [re.split(r"  +", line.strip())[0] for line in lines] == names
    (subset,) = load_sts(data, "STS-B", "dev")
    for width in (8, 16):
        first, second = encoder(subset.first)[:, :width], encoder(subset.second)[:, :width]
        every = encoder(list(dict.fromkeys(subset.sentences)))[:, :width]
        ranges = np.stack([every.min(axis=0), every.max(axis=0)])
        one = quantize_embeddings(first, "int8", ranges=ranges).astype(float)
        other = quantize_embeddings(second, "int8", ranges=ranges).astype(float)
        cosines = (one * other).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        different = quantize_embeddings(first, "ubinary") ^ quantize_embeddings(second, "ubinary")
        hamming = np.unpackbits(different, axis=1).sum(axis=1)
        for name, scores in (("int8", cosines), ("binary", 1 - 2 * hamming / width)):
            found = result["widths"][f"{width} {name}"]["sts-dev"]["STS-B"]["all"]
            assert found == pytest.approx(100 * spearmanr(scores, subset.gold)[0], abs=1e-6), name
    assert main([*words, "--quantise", "int4"]) == 2
    assert '"int4" is not a quantisation' in capsys.readouterr().err


def test_two_results_name_other_files_prompts_and_data_of_an_encoder(data, tmp_path, capsys):
    """`compare` lists all facts in which two results differ.

    Examples are a changed prompt, other weights, and another development set.
    """
    folder, own = tmp_path / "encoder", tmp_path / "own.csv"
    foreign.write_modules(foreign.write_transformer(folder, "bert") and folder)
    own.write_text("a,b,score\n" + "".join(f"{text},{text[2:]},{len(text)}\n" for text in sentences(9)))
    table = ["--set", str(own), "first=a", "second=b", "score=score", "range=0,99"]

    def evaluate(name, root=data):
        """Run `replicse evaluate`, by default on the data of all tests."""
        words = ["--encoder", str(folder), "--suite", "sts-dev", "--options", json.dumps(OPTIONS)]
        place = ["--data", str(root), "--out", str(tmp_path / f"{name}.json"), "--device", "cpu"]
        assert main(["evaluate", *words, *table, *place]) == 0

    def differences(one, other):
        capsys.readouterr()
        assert main(["compare", str(tmp_path / f"{one}.json"), str(tmp_path / f"{other}.json"), "--all"]) == 0
        return " ".join(capsys.readouterr().out.split())

    evaluate("a")
    said = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    result = json.loads((tmp_path / "a.json").read_text())
    inputs, rows = result["inputs"], result["suites"]["sets"]["own"]["sha256"]
    assert (
        f"weights sha256 {inputs['weights']}, settings {inputs['settings']}; engine packed, pooling mean"
        in said
    )
    assert (
        "24 tokens, width 32, fp32, prompt none data sha256: " in said and f"own {rows[:12]} sts-dev" in said
    )
    evaluate("b")
    text = differences("a", "b")
    assert "of another dataset" not in text and "prompt" not in text and "weights" not in text
    settings = {"prompts": {"query": "find: "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    evaluate("c")
    text = differences("a", "c")
    assert "prompt: none in A, find: in B" in text and "weights" not in text
    foreign.change_weights(folder, lambda weights: {name: weight / 2 for name, weight in weights.items()})
    evaluate("d")
    foreign.change_json(folder / "1_Pooling/config.json", pooling_mode="max")
    evaluate("max")
    assert "engine: packed in A, sentence-transformers in B" in differences("a", "max")
    foreign.change_json(folder / "1_Pooling/config.json", pooling_mode="mean")
    text = differences("c", "d")
    assert " weights: " in text and "prompt" not in text and "another dataset" not in text
    root = tmp_path / "other" / "data"
    shutil.copytree(data, root)
    shutil.copy(data.with_name("data.json"), root.with_name("data.json"))
    file = root / "SentEval/downstream/STS/STSBenchmark/sts-dev.csv"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    own.write_text(own.read_text() + "one more,and another,7\n")
    evaluate("e", root)
    text = differences("d", "e")
    assert "3 scores computed on different datasets in A and B" in text and "weights" not in text
    assert "sts-dev/STS-B/all: sha256: " in text and "sets/own/pearson/all: n: 9 in A, 10 in B" in text


def ragged(text):
    """Return two or three numbers, depending on the number of words."""
    return [1.0] * (2 + len(text.split()) % 2)


@pytest.mark.parametrize(
    ("encoder", "words", "message"),
    [
        (lambda texts: np.zeros(len(texts)), {}, r"have shape \(\d+,\) and dtype float64"),
        (lambda texts: np.zeros((1, 4)), {}, "sentences have shape"),
        (lambda texts: [["a", "b"]] * len(texts), {}, "expected numbers"),
        (lambda texts: list(map(ragged, texts)), {}, "do not form an array"),
        (lambda texts: list(map(torch.tensor, map(ragged, texts))), {}, "do not form an array"),
        (letters, {"suites": "stss"}, 'suite "stss" is unknown'),
        (letters, {"pooling": "mean"}, "not for an open encoder"),
        (3, {}, "encoder is of type int; use a folder, a hub id, an encoder or a function"),
        ("no/such/folder", {}, "neither a folder nor a hub id"),
        ("gefäß", {}, "gefäß: neither a folder nor a hub id"),
        ("some--name/model@main", {}, "neither a folder nor a hub id"),
    ],
)
def test_an_encoder_that_gives_no_vectors_is_refused(data, encoder, words, message):
    with pytest.raises(replicse.BadInput, match=message):
        replicse.evaluate(encoder, **{"suites": "sts-dev", "data": data, "options": OPTIONS, **words})


def test_every_public_name_is_there_and_none_costs_torch_before_it_is_used():
    code = (
        "import sys, replicse; replicse.verdict([75.1, 74.2, 76.0], '76.25'); print('torch' in sys.modules)"
    )
    assert ran(sys.executable, "-c", code).stdout == "False\n"
    for name in replicse.__all__:
        assert getattr(replicse, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = replicse.nothing
