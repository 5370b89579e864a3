"""Broken and hostile input through the verbs: one sentence and exit code 2, never a traceback.

Files of every kind that people write or steps read back are changed at random, by seeds that do not change, and given
to the verb that reads them. What is refused is told in one line; what is read is right or harmless, and exits 0.
"""

import json
import random
import shutil
from pathlib import Path

import micro
import pytest
import torch
import yaml
from made_up import write_paper, write_scores
from places import ROOT

from replicse.cli import main
from replicse.files import write_json
from replicse.study.paper.config import read_config
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import item_result
from replicse.study.results.values import Evaluations
from replicse.training.loop import train

ROUNDS = 12
ODD = (
    None, True, False, 0, -1, 1, 3.5, 1e308, float("inf"), "", "x", "../../etc/passwd", "/etc/passwd", "a/b/c",
    "ö\u0000", "nan", "<script>alert(1)</script>", "{run}", "$(touch X)", "1e999", [], {}, [[]], {"a": 1},
    ["a"], {"": None}, "9" * 30, 10**30, -(10**18),
)  # fmt: skip


def changed_bytes(content, draw):
    """Return bytes cut, flipped, doubled, emptied or with others put in."""
    content, place = bytearray(content), draw.randrange(len(content) + 1)
    match draw.randrange(6):
        case 0:
            del content[place:]
        case 1:
            for _ in range(draw.randrange(1, 9)):
                if content:
                    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        case 2:
            content[place:place] = content[: draw.randrange(len(content) + 1)][:4000]
        case 3:
            content[place:place] = draw.randbytes(draw.randrange(1, 40))
        case 4:
            del content[place : place + draw.randrange(1, 60)]
        case _:
            content[place:place] = draw.choice(
                [b"\0", b"\xff\xfe", b"\r", b'"', b"{" * 99, b"\t\t", b",,", b"\n\n"]
            )
    return bytes(content)


def changed_value(node, draw, depth=0):
    """Return plain data in which one value, key or entry is another."""
    if isinstance(node, dict | list) and node and draw.random() < 0.93 - 0.1 * (depth > 6):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = draw.choice(keys)
        node = dict(node) if isinstance(node, dict) else list(node)
        match draw.randrange(12):
            case 0:
                del node[key]
            case 1 if isinstance(node, dict):
                node[draw.choice(["x", "", 7, key if isinstance(key, str) else "y", "../x"])] = node.pop(key)
            case 2 if isinstance(node, list):
                node.append(node[key])
            case _:
                node[key] = changed_value(node[key], draw, depth + 1)
        return node
    return draw.choice(ODD)


def spoil(file, draw):
    """Change a file as text, or as the document that it holds."""
    content = file.read_bytes()
    if file.suffix in (".yaml", ".json") and draw.random() < 0.7:
        document = changed_value(
            yaml.safe_load(content) if file.suffix == ".yaml" else json.loads(content), draw
        )
        text = (
            yaml.safe_dump(document, allow_unicode=True, sort_keys=False)
            if file.suffix == ".yaml"
            else json.dumps(document)
        )
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
    else:
        file.write_bytes(changed_bytes(content, draw))


def refused_or_right(words, capsys, what):
    """Run a verb; what it refuses it tells in one line, and nothing else escapes."""
    capsys.readouterr()
    try:
        code = main([str(word) for word in words])
    except SystemExit as stop:
        code = stop.code
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    said = capsys.readouterr().err
    assert code in (0, 1, 2), what
    if code:
        lines = [line for line in said.splitlines() if line.startswith("replicse ")]
        assert len(lines) == 1 and code == 2, f"{what}: exit code {code}, {said}"
    return code


def rounds(folder, files, commands, capsys, monkeypatch, count=ROUNDS):
    """Spoil each file so many times, and give it to each command; return how often something was refused."""
    monkeypatch.chdir(folder)
    refused = 0
    for file in files:
        whole = file.read_bytes()
        for seed in range(count):
            spoil(file, random.Random(f"{file.name}/{seed}"))
            for command in commands:
                what = f"{file} (seed {seed}): {command[0]}"
                refused += refused_or_right(command, capsys, what) == 2
            file.write_bytes(whole)
    return refused


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with a small workflow, a config, made-up evaluations and the results of its items."""
    folder = tmp_path_factory.mktemp("study")
    table = {
        "baseline": "a",
        "rows": [
            {
                "id": name,
                "label": name,
                "encoder": {"use": "plain", "run": {"optimisation": {"batch_size": size}}},
            }
            for name, size in (("a", 64), ("b", 32))
        ],
        "columns": [
            {"id": "dev", "label": "dev", "metric": "spearman", "metric_path": "sts-dev/STS-B/all"},
            {"id": "more", "label": "more", "metric": "spearman", "metric_path": "sts/STS12/all"},
        ],
    }
    table.pop("baseline")
    reported = [
        {"item": "table1", "row": row, "column": column, "value": value}
        for row, column, value in (("a", "dev", "80.1"), ("b", "dev", "79.95"), ("a", "more", "70.0"))
    ]
    workflow = folder / "workflow"
    write_paper(workflow, "made", {"table1": table}, reported)
    (workflow / "scales").unlink()
    shutil.copytree(ROOT / "workflow" / "scales", workflow / "scales")
    shutil.copy(ROOT / "workflow" / "datasets.yaml", workflow)
    for name in ("hub.lock.yaml",):
        shutil.copy(ROOT / "workflow" / name, workflow)
    (folder / "config.yaml").write_text("scale: micro\npapers: {made: all}\nseeds: [0, 1, 2]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        plan = load_plan(read_config([Path("config.yaml")]), workflow)
        write_scores(plan, plan.items, lambda cell, place: 61.25 + place)
        (item,) = plan.items.values()
        write_json(plan.paths.item(item.id), item_result(plan, item, Evaluations(plan)).plain())
        write_json(plan.paths.study, plan.record)
    return folder


STUDY = ["--study", "config.yaml", "--workflow", "workflow"]


def test_config_and_papers(study, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "study"
    shutil.copytree(study, folder)
    files = [folder / "config.yaml", *sorted((folder / "workflow" / "papers").rglob("*.*"))]
    assert len(files) == 5
    found = rounds(folder, files, [["plan", *STUDY], ["claims", *STUDY]], capsys, monkeypatch)
    assert found > ROUNDS


def test_scales_and_datasets(study, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "study"
    shutil.copytree(study, folder)
    workflow = folder / "workflow"
    files = [workflow / "scales" / "micro.yaml", workflow / "datasets.yaml", workflow / "hub.lock.yaml"]
    assert rounds(folder, files, [["plan", *STUDY]], capsys, monkeypatch) > 5


def test_evaluations_and_results(study, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "study"
    shutil.copytree(study, folder)
    monkeypatch.chdir(folder)
    evaluation = sorted(Path("results").rglob("fast.json"))[0]
    commands = [
        ["status", *STUDY],
        ["show", "made/table1", *STUDY],
        ["why", "made/table1/a/dev", *STUDY],
        ["tabulate", *STUDY, "--item", "made/table1", "--out", "o.json", "--table", "o.csv"],
    ]
    assert rounds(folder, [folder / evaluation], commands, capsys, monkeypatch, 3 * ROUNDS) > 5
    item = folder / "results/micro/items/made/table1.json"
    figure = [["figures", "--item", item, "--out", "drawn.svg"]]
    assert rounds(folder, [item], figure, capsys, monkeypatch, 2 * ROUNDS) > 5


def test_data_files(tmp_path, capsys, monkeypatch):
    root = micro.dev_root(tmp_path / "data")
    (root / "lines.txt").write_text("\n".join(micro.sentences(20)) + "\n")
    (root / "triples.csv").write_text("a,b,c\n" + "".join(f'"{line}",x,y\n' for line in micro.sentences(9)))
    (root / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *micro.WORDS]))
    tokenizer = micro.tokenizer_file(tmp_path)

    def prepared(file, **corpus):
        spec = {
            "corpus": {"name": "c", "file": file, **corpus},
            "max_length": 16,
            "tokenizer": str(tokenizer),
        }
        spec["view"] = {"column": "text" if corpus["format"] == "lines" else "anchor"}
        return ["job", "store", json.dumps(spec), "--data", root, "--out", "store"]

    rounds(tmp_path, [root / "lines.txt"], [prepared("lines.txt", format="lines")], capsys, monkeypatch)
    rounds(tmp_path, [root / "triples.csv"], [prepared("triples.csv", format="triples")], capsys, monkeypatch)
    rounds(tmp_path, [tokenizer], [prepared("lines.txt", format="lines")], capsys, monkeypatch)
    made = ["job", "tokenizer", '{"vocabulary": "vocab.txt"}', "--data", root, "--out", "t.json"]
    rounds(tmp_path, [root / "vocab.txt"], [made], capsys, monkeypatch)
    (dev,) = root.rglob("sts-dev.csv")
    recorded = ["job", "data", json.dumps({"source": "local", "root": str(root)}), "--out", "data.json"]
    counted = ["job", "count", '{"read": ["data/sts/STS-B/dev"]}', "--data", root, "--out", "counts.json"]
    assert rounds(tmp_path, [dev], [recorded, counted], capsys, monkeypatch, 2 * ROUNDS) > 5


def test_files_outside_of_the_data_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for file in ("/etc/passwd", "../secret", "a/../../secret"):
        corpus = {"name": "c", "format": "lines", "file": file}
        spec = {"corpus": corpus, "view": {"column": "text"}, "tokenizer": "t", "max_length": 8}
        assert main(["job", "store", json.dumps(spec), "--data", "data", "--out", "s"]) == 2
        assert "a file below the data root" in capsys.readouterr().err
        for words in (
            ["tokenizer", json.dumps({"vocabulary": file})],
            ["backbone", json.dumps({"folder": file})],
            ["data", json.dumps({"source": "local", "root": "data", "file": [file]})],
        ):
            assert main(["job", *words, "--data", "data", "--out", "out.json"]) == 2
            assert "below the data root" in capsys.readouterr().err


def test_checkpoints_stores_and_jobs(tmp_path, capsys, monkeypatch):
    torch.set_num_threads(1)
    job, root = (
        micro.job(tmp_path, optimisation={"batch_size": 16, "steps": 2}),
        micro.dev_root(tmp_path / "data"),
    )
    train(job, root, tmp_path / "run", tmp_path / "state", torch.device("cpu"))
    encoder = tmp_path / "run" / "best"
    evaluated = ["evaluate", "--encoder", encoder, "--pooling", "cls-head", "--suite", "sts-dev"]
    evaluated += ["--data", root, "--out", "scores.json", "--threads", "1"]
    files = [encoder / name for name in ("config.json", "model.safetensors", "tokenizer.json")]
    assert rounds(tmp_path, files, [evaluated], capsys, monkeypatch, 2 * ROUNDS) > 5
    (encoder / "model.safetensors").rename(encoder / "kept")
    torch.save({"x": torch.zeros(3)}, encoder / "pytorch_model.bin")
    rounds(tmp_path, [encoder / "pytorch_model.bin"], [evaluated], capsys, monkeypatch)
    torch.save([1, 2], encoder / "pytorch_model.bin")
    assert refused_or_right(evaluated, capsys, "a list") == 2
    document = {"run": job.spec.plain(), "run_id": job.run_id, "init": "", "tokenizer": str(job.tokenizer)}
    document["stores"] = [str(store) for store in job.stores]
    monkeypatch.chdir(tmp_path)

    def trained(job):
        words = ["train", "--job", json.dumps(job), "--data", root, "--state", "s", "--out", "o"]
        return refused_or_right(words, capsys, json.dumps(job)[:3000])

    refused = 0
    for seed in range(3 * ROUNDS):
        spoilt = changed_value(document, random.Random(seed))
        refused += (trained(spoilt) if isinstance(spoilt, dict) else 2) == 2
        shutil.rmtree(tmp_path / "s", ignore_errors=True)
    assert refused > ROUNDS
    store = job.stores[0]
    for name in ("store.json", "tokens.npy", "offsets.npy"):
        whole = (store / name).read_bytes()
        for seed in range(ROUNDS // 2):
            spoil(store / name, random.Random(f"{name}/{seed}"))
            trained(document)
            (store / name).write_bytes(whole)
            shutil.rmtree(tmp_path / "s", ignore_errors=True)
