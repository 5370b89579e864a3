"""The benchmarks' own arithmetic, their records, and the tables of docs/speed.md; no test here asserts a time."""

import importlib.machinery
import importlib.util
import json
import sys

import numpy as np
import pytest
import torch
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import evaluation
import growth
import made_study
import record

from replicse.data.sts import StsSubset
from replicse.encoder.sentence import SentenceEncoder
from replicse.evaluation.sts import predict, score_task
from replicse.training import products


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
    assert set(run.BENCHMARKS) == files - {"record", "made_study"}


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


def test_the_power_of_a_growth_is_its_slope_on_log_log_axes():
    assert growth.power([[1, 7.0], [10, 3.0], [100, 300.0]]) == 2
    assert growth.power([[1, 7.0]]) is None
