"""The benchmarks' own arithmetic, their records, and the tables of docs/speed.md; no test here asserts a time."""

import importlib.machinery
import importlib.util
import json
import sys

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import dry_run
import evaluation
import growth
import made_study
import products
import record
import training_limit
import transfer_reference

from replicse.data.sts import StsSubset
from replicse.encoder.sentence import SentenceEncoder
from replicse.evaluation import transfer
from replicse.evaluation.linear_probe import ProbeSetting, with_bias
from replicse.evaluation.sts import predict, score_task


@pytest.fixture(scope="module")
def run():
    loader = importlib.machinery.SourceFileLoader("benchmarks_run", str(ROOT / "benchmarks" / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def test_the_page_on_speed_holds_the_tables_of_the_committed_records(run):
    gathered = json.loads(run.SUMMARY.read_text(encoding="utf-8"))
    page = run.PAGE.read_text(encoding="utf-8")
    assert run.with_table(page, gathered) == page
    entries = [entry for records in gathered.values() for entry in records.values()]
    assert all(row["what"] in page for entry in entries for row in entry["rows"])


def test_every_row_that_missed_its_goal_says_why_and_no_other_does(run):
    missed = {
        kind: {row["what"] for entry in records.values() for row in entry["rows"] if row["met"] is False}
        for kind, records in run.summary().items()
    }
    assert {kind: set(rows) for kind, rows in run.reasons().items()} == {k: v for k, v in missed.items() if v}


def test_the_summary_holds_the_lines_of_every_committed_record(run):
    assert json.loads(run.SUMMARY.read_text(encoding="utf-8")) == run.summary()
    assert {path.stem for path in run.RECORDS.glob("*/*.json")} <= set(run.BENCHMARKS)


def test_every_benchmark_is_a_file_and_every_file_with_a_record_a_benchmark(run):
    files = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert set(run.BENCHMARKS) == files - {
        "made_study",
        "peer",
        "products",
        "record",
        "self_test",
        "term_errors",
    }


def test_each_part_of_the_table_names_where_it_was_taken_and_what_was_missed(run):
    def entry(processor, *met):
        machine = {"processor": processor, "commit": "abcdef0123456", "dirty": True, "date": "2026-01-02"}
        return {"machine": machine, "rows": [record.row("w", "1", met=each) for each in met]}

    records = {"memory": entry("Other", None), "training_limit": entry("One", True, False)}
    text = run.table("a-kind", records, {"w": "its reason"})
    assert [line.split(" | ")[-2:] for line in text.splitlines()[4:7]] == [
        ["met", "A |"], ["missed", "A |"], ["", "B |"],
    ]  # fmt: skip
    assert "### a-kind" in text and "- w: its reason" in text
    assert "A: One, commit abcdef0123, changed, 2026-01-02." in text and "B: Other" in text


def test_a_record_names_the_machine_and_loses_nothing(tmp_path):
    record.write_record(tmp_path / "found.json", {"ours": 1}, [record.row("what", "1")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert {"processor", "cores", "torch", "commit", "dirty", "load_per_core", "date"} <= set(
        found["machine"]
    )
    with pytest.raises(ValueError, match="rows"):
        record.write_record(tmp_path / "found.json", {"rows": 256}, [])


def test_a_kind_of_processor_is_a_name_of_a_folder():
    assert record.kind({"processor": "AMD EPYC", "kernel_flags": "fma avx512_bf16"}) == "amd-epyc"
    flags = {"processor": "Intel(R) Xeon(R) Processor", "kernel_flags": "amx_bf16 amx_tile"}
    assert record.kind(flags) == "intel-xeon-amx"


def test_actions_take_turns():
    calls = []
    found = record.in_turn({name: lambda name=name: calls.append(name) for name in "ab"}, repeats=2)
    assert calls == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}


@pytest.mark.parametrize("first_only", [False, True])
def test_the_operations_of_a_pass_are_those_that_torch_counts(first_only):
    from torch.utils.flop_counter import FlopCounterMode

    from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN
    from replicse.encoder.batch import TokenBatch
    from replicse.encoder.packed.config import EncoderConfig
    from replicse.encoder.packed.transformer import PackedBackbone
    from replicse.registry.encoders import Architecture

    sizes = Architecture(family="bert", layers=3, hidden=32, heads=2, intermediate=128, positions=20)
    encoder = PackedBackbone(EncoderConfig.fresh(sizes, 30, 0))
    batch = TokenBatch.from_rows([np.arange(1, 9)] * 5)
    with FlopCounterMode(display=False) as counter:
        encoder(batch, FIRST_TOKEN if first_only else ALL_TOKENS)
    assert products.operations([8] * 5, 3, 32, first_only) == counter.get_total_flops()


def test_rates_are_of_all_products_of_a_layer():
    rates = products.Rates(hidden=32, rows=130, backward=True)
    rates.measure(("fp32",), repeats=1)
    assert rates.rows == 128 and len(rates.seconds) == 4 * 3
    rates.seconds = dict.fromkeys(rates.seconds, 0.5)
    assert rates.rate("fp32") == pytest.approx(3 * 2 * 128 * 12 * 32**2 / 6)


def test_rates_are_of_the_clock_that_they_are_given():
    ticks = iter(range(100))
    rates = products.Rates(hidden=32, rows=64, backward=False, clock=lambda: next(ticks))
    rates.measure(("fp32",), repeats=1)
    assert set(rates.seconds.values()) == {1}


def test_a_step_is_split_by_what_its_operations_do_each_at_its_least():
    steps = [{"aten::mm": 5.0, "aten::gelu": 2.0, "Python": 1.0}, {"aten::mm": 4.0, "aten::gelu": 3.0}]
    found = training_limit.by_kind(steps)
    assert {kind: spent for kind, spent in found.items() if spent} == {
        "products": 4, "GELU": 2, "the rest": 1,
    }  # fmt: skip
    case = {
        "times_sentence_transformers": {"ours": 1.0, "ours_bf16": 2.0}, "share": {"ours": 0.5, "ours_bf16": 0.5},
        "rows_per_second": {"ours": 1, "ours_bf16": 1, "sentence_transformers": 1, "plain_transformers": 1},
        "limit": {"ours": 1000.0, "ours_bf16": 9000.0}, "batch": 9, "step": {"bf16": found},
    }  # fmt: skip
    lines = training_limit.lines_of({"6x384": {"unsupervised": case}})
    assert [line["ratio"] for line in lines] == ["1.00x", "2.00x", "at most 25% of the limit"]
    assert lines[-1]["ours"].startswith("3 (") and "GELU 2" in lines[-1]["ours"]


def test_the_operations_of_a_step_are_those_that_torch_profiles(tmp_path, monkeypatch):
    monkeypatch.setattr(training_limit, "LEAST", 0)
    bench = training_limit.Bench(small_encoder(tmp_path / "encoder"), tmp_path, "unsupervised", 2, batch=4)
    found, stacks = bench.profiled("fp32")
    assert all(found[kind] > 0 for kind in ("products", "GELU", "LayerNorm", "softmax"))
    for path in (
        "forward;linear;addmm",
        "backward;Addmm;mm",
        "update;AdamW.step;_fused_adamw_",
    ):
        assert stacks[path] > 0
    assert {path.partition(";")[0] for path in stacks} == set(training_limit.PHASES)


def test_a_flame_is_as_wide_as_what_it_holds_and_ours_lies_over_the_limit(tmp_path, monkeypatch):
    bars, barh = [], Axes.barh

    def noted(axis, depth, width, left=0, **style):
        bars.append((depth, width, left))
        return barh(axis, depth, width, left=left, **style)

    monkeypatch.setattr(Axes, "barh", noted)
    stacks = {"backward;Gelu;gelu_backward": 2.0, "forward;linear;addmm": 5.0, "backward;Addmm;mm": 8.0}
    case = {"stacks": {"bf16": stacks}, "batch": 64, "limit": {"ours_bf16": 8000.0}}
    training_limit.draw({"6x384": {"unsupervised": case}}, tmp_path / "step.png")
    assert (tmp_path / "step.png").exists()
    # Depth, width, left: forward first, then the widest part of backward.
    assert bars == [
        (0, 5.0, 0.0), (1, 5.0, 0.0), (2, 5.0, 0.0), (0, 10.0, 5.0), (1, 8.0, 5.0), (2, 8.0, 5.0), (1, 2.0, 13.0),
        (2, 2.0, 13.0), (-1, 8.0, 0),
    ]  # fmt: skip


def test_the_official_loop_sorts_pairs_by_words_and_gives_the_same_score(tmp_path):
    texts = ["one", "a b c", "two words", "a b", "four of them here", "x"]
    subset = StsSubset("made", tuple(texts), tuple(reversed(texts)), np.array([1.0, 2, 3, 4, 5, 0]))
    ordered = evaluation.sorted_by_words(subset)
    assert [len(text.split()) for text in ordered.first] == sorted(len(text.split()) for text in texts)
    assert dict(zip(ordered.first, ordered.gold, strict=True)) == dict(zip(texts, subset.gold, strict=True))
    folder = small_encoder(tmp_path)
    loop, encoder = evaluation.OfficialLoop(folder, "mean"), SentenceEncoder.open(folder, "mean")
    found = loop.scores({"made": [ordered]})["made"]
    assert found == pytest.approx(score_task([subset], predict([subset], encoder))[0]["all"], abs=0.01)
    assert loop.sentences == 12
    sorted_first = evaluation.in_batches(encoder, {"made": [subset]}, loop.sorted_rows)["made"]
    assert sorted_first == pytest.approx(found, abs=0.01) and loop.sentences == 24


def test_sentevals_classifier_written_apart_is_ours_up_to_its_draws():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 400)
    features = (generator.normal(size=(400, 8)) + 0.4 * labels[:, None]).astype(np.float32)
    setting = ProbeSetting(3, "adam", 0.01, 16, tenacity=2, epoch_size=1)
    rows = {"train": np.arange(200), "test": np.arange(200, 400)}
    theirs = [
        transfer_reference.SentEval(features, labels, setting, seed).accuracy(rows) for seed in range(3)
    ]
    ours, _ = transfer.folds_then_test(with_bias([features]), labels, rows["train"], rows["test"], setting)
    assert 100 * ours == pytest.approx(np.mean(theirs), abs=4)
    assert len(set(theirs)) > 1 and min(theirs) > 60
    ends = transfer_reference.to_the_end(features, labels, rows, setting, 0)
    assert max(ends[0]) == pytest.approx(max(ends[1]), abs=3)


def test_sentevals_classifier_stops_at_the_miss_after_those_it_tolerates(monkeypatch):
    shares = iter([0.5, 0.7, 0.6, 0.7, 0.8, 0.1, 0.9])
    monkeypatch.setattr(transfer_reference.SentEval, "share_right", lambda *_: next(shares))
    setting = ProbeSetting(3, "adam", 0.01, 16, tenacity=2, epoch_size=1)
    classifier = transfer_reference.SentEval(np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1]), setting, 0)
    assert classifier.fitted(np.arange(4), 1e-4, np.arange(4))[0] == 0.8
    assert next(shares) == 0.9


def test_the_rows_of_transfer_compare_with_sentevals_and_show_the_regression():
    task = {"difference": 0.2, "regression_difference": -1.17, "unstopped_difference": 0.26, "spread": 0.38}
    tasks = {"CR": task, "TREC": task | {"difference": -0.4}}
    found = {"tasks": tasks, "folds": 10, "seeds": 5, "seeds_of_senteval": 1, "encoder": "e", "goal": 1.0}
    first, second = transfer_reference.lines_of(found | {"data": "real"})
    assert "CR, TREC; 10 folds" in first["what"] and "5 of ours, 1 of SentEval's" in first["what"]
    assert first["ours"] == "0.40 (standard deviation of one seed: up to 0.38)" and first["met"]
    assert next(transfer_reference.lines_of(found | {"data": "embedded world"}))["met"] is None
    assert second["ours"] == "1.17; ours not stopped either: 0.26" and second["met"] is None


def small_encoder(folder):
    import transformers

    from replicse.data.tokenizer import train_tokenizer

    tokenizer = train_tokenizer("wordpiece", ["one two words a b c four of them here x"] * 9, 60, True)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    return folder


def test_a_made_up_study_has_the_cells_that_its_factor_says(tmp_path, monkeypatch):
    made_study.write_study(tmp_path / "study", 1)
    monkeypatch.chdir(tmp_path / "study")
    plan = made_study.planned()
    rows = made_study.PAPERS * made_study.TABLES * made_study.ROWS
    assert sum(map(len, plan.cells.values())) == rows * len(made_study.COLUMNS)
    assert len(plan.runs) == rows * len(made_study.SEEDS)


def test_a_made_up_study_is_judged_and_reported(tmp_path, monkeypatch):
    for name in ("PAPERS", "TABLES"):
        monkeypatch.setattr(made_study, name, 1)
    monkeypatch.setattr("replicse.report.document.find_engine", None)
    made_study.write_study(tmp_path / "study", 1)
    monkeypatch.chdir(tmp_path / "study")
    made_study.judge()
    cells = made_study.ROWS * len(made_study.COLUMNS)
    assert made_study.report()["cells"] == cells
    text = (tmp_path / "study/reports/report.html").read_text(encoding="utf-8")
    assert f"{cells} of {cells} cells have a printed number" in text


def test_the_workflow_beside_a_dry_run_has_its_jobs_and_needs():
    shape = dry_run.shape(1)
    made = {f"{stage}/{name}/0" for stage, found in shape.items() for name in found["needs"]}
    needed = {need for found in shape.values() for needs in found["needs"].values() for need in needs}
    assert len(made) > 3000 and needed < made
    assert all(found["needs"] and found["files"] for found in shape.values())


def test_the_power_of_a_growth_is_its_slope_on_log_log_axes():
    assert growth.power([[1, 7.0], [10, 3.0], [100, 300.0]]) == 2
    assert growth.power([[1, 7.0]]) is None
