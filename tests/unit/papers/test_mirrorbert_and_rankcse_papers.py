"""Mirror-BERT and RankCSE as data: printed numbers against the material, and what their rows ask for."""

import pytest
from collected import collected, printed_of
from places import ROOT

from replicse.data.corpora import read_corpus
from replicse.registry.frozen import frozen_models
from replicse.registry.terms import TermParameters
from replicse.study.paper.papers import load_paper
from replicse.study.plan.planner import load_plan

WORKFLOW = ROOT / "workflow"
KEYS = ("mirrorbert", "rankcse")
ITEMS = {"readme-sts-avg": "readme", "leaderboard-copy": "leaderboard"}
ROWS = {
    "sentence-bert supervised baseline": "sentence-bert",
    "mirror-bert-base-uncased-sentence (released model)": "bert",
    "mirror-roberta-base-sentence (released model)": "roberta",
    "mirror-bert-base-uncased-sentence-drophead (released model)": "bert-drophead",
    "mirror-roberta-base-sentence-drophead (released model)": "roberta-drophead",
    "Mirror-BERT-base": "bert",
    "Mirror-RoBERTa-base": "roberta",
}
COLUMNS = {"avg": "avg", "STS12": "STS12", "STSB": "STS-B", "SICKR": "SICK-R"}
LEFT_OUT = {("readme-word", row): "similarity of words is no suite" for row in
            ("fasttext", "mirror-bert-base-uncased-word")}  # fmt: skip


def test_every_collected_number_is_here_or_left_out_with_a_reason():
    here = printed_of("mirrorbert")
    found = set()
    for row in collected(*KEYS):
        assert row["paper"] == "mirrorbert", "no number of RankCSE was seen"
        if (row["item"], row["row"]) in LEFT_OUT:
            continue
        cell = ITEMS[row["item"]], ROWS[row["row"]], COLUMNS[row["column"]]
        assert here[cell]["value"] == row["value"], cell
        assert here[cell]["source"].split(" (")[0] in row["source"], cell
        found.add(cell)
    assert found == set(here) and not printed_of("rankcse")


@pytest.mark.parametrize("scale", ["micro", "short", "compact", "paper"])
def test_all_rows_are_planned_with_all_their_protocols(scale):
    config = {"scale": scale, "papers": dict.fromkeys(KEYS, "all"), "seeds": [0], "adjudicate": "all"}
    plan = load_plan(config, WORKFLOW)
    for key in KEYS:
        protocols = {protocol.id for protocol in load_paper(WORKFLOW / "papers" / key).protocols}
        cells = [cell for item, cells in plan.cells.items() if item.startswith(key) for cell in cells]
        assert {cell.protocol for cell in cells} == {"as-described", *protocols}
        assert all(cell.encoders for cell in cells if cell.row.id != "sentence-bert")


@pytest.fixture(scope="module")
def runs():
    """The run of each recipe at the papers' scale."""
    config = {"scale": "paper", "papers": dict.fromkeys(KEYS, "all"), "seeds": [0]}
    plan = load_plan(config, WORKFLOW)
    cells = [cell for cells in plan.cells.values() for cell in cells if cell.encoders]
    sources = {cell.row.id: plan.encoders[cell.encoders[0]].source.run for cell in cells}
    return {row: plan.runs[run] for row, run in sources.items() if run}


def test_mirror_bert_is_that_of_the_scripts(runs):
    for row, backbone, rates in (
        ("bert", "bert-base-uncased", (0.1, 0.1, 0)),
        ("bert-drophead", "bert-base-uncased", (0, 0, 0.2)),
        ("roberta", "roberta-base", (0.1, 0.1, 0)),
        ("roberta-drophead", "roberta-base", (0, 0, 0.05)),
    ):
        run = runs[row]
        assert run.init.hub == backbone
        assert (run.dropout.hidden, run.dropout.attention, run.dropout.heads) == rates
        options = run.optimisation
        assert (options.batch_size, options.learning_rate, options.weight_decay) == (200, 2e-5, 0.01)
        assert (options.decay, options.epochs, options.max_length) == ("none", 1, 50)
        assert run.corpus["sample"] == {"rows": 10000, "seed": 42} and run.selection.every == 0
        assert run.objective == (TermParameters.of({"term": "nt-xent", "temperature": 0.04}, "term"),)
        assert run.views[0].augment is None and run.views[1].augment.mask == "[MASK]"
        expected = ("cls", "cls") if "roberta" in row else ("mean (pad_to 50)", "mean (pad_to 64)")
        assert (str(run.pooling.train), str(run.pooling.test)) == expected


def test_rankcse_has_the_teachers_of_the_script(runs):
    for row in ("listmle", "listnet"):
        contrastive, consistent, ranked = runs[row].objective
        assert (contrastive.term, consistent.term, ranked.term) == ("infonce", "ranking-consistency", row)
        teachers = [model.folder.rpartition("/")[2] for model in frozen_models(ranked)]
        assert "diffcse-bert-base-uncased-sts" in teachers[0]
        assert "unsup-simcse-bert-large-uncased" in teachers[1]
        assert {str(model.pooling) for model in frozen_models(ranked)} == {"cls"}
        assert ranked.shares == (0.33, 0.67) and runs[row].optimisation.batch_size == 128
    assert runs["listmle"].objective[2].diagonal and not runs["listnet"].objective[2].diagonal


def test_the_corpus_is_a_sample_of_the_training_sentences(runs, real_data):
    rows = read_corpus(real_data, runs["bert"].corpus)["text"]
    file = real_data / "SentEval" / "downstream" / "STS" / "STSBenchmark" / "sts-train.csv"
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    sentences = {text.strip() for line in lines for text in line[5:7]}
    assert len(rows) == 10000 and {text.strip() for text in rows} <= sentences
