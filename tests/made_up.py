"""Synthetic papers and evaluations, stored in the folders of a study."""

import csv
import json
import re
import shutil
from itertools import chain
from pathlib import Path

import yaml
from places import ROOT

from replicse.compile.compiler import compile_study
from replicse.files import write_json
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.digests import digest
from replicse.registry.suites import file_of
from replicse.spec.config import Config


def write_evaluation(plan, path, values, failures=None, pairs=None):
    """Write the evaluation or trajectory file of an encoder.

    Args:
        plan: The compiled study.
        path: Path of the file in the study.
        values: Dict from a metric path, such as "sts/STS-B/all", to a number.
        failures: Dict from a metric path to the reason of an undefined number. Default: empty.
        pairs: Packed pairs by task. Default: empty.
    """
    suites = {}
    for metric_path, value in values.items():
        *parents, last = metric_path.split("/")
        node = suites
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = value
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    place = plan.evaluated(file.parent.name, file.stem)
    parts = {"suites": suites, "failures": failures or {}, "pairs": pairs or {}}
    file.write_text(json.dumps({**place, **parts}))


def write_scores(plan, items, score, protocols=None, failures=None):
    """Write all evaluations of some items.

    Args:
        plan: The compiled study.
        items: List of item ids.
        score: Function from a cell and the index of an encoder in the cell to a score.
        protocols: If given, only cells of these protocols are written.
        failures: Dict from a metric path to the reason of an undefined number, used in files with this path.
    """
    found = {}
    for cell in chain.from_iterable(plan.cells[item] for item in items):
        for operand in cell.operands or (cell,):
            if operand.metric_path and (protocols is None or cell.protocol in protocols):
                for place, encoder in enumerate(operand.encoders):
                    path = plan.paths.evaluation(encoder, file_of(operand.metric_path))
                    found.setdefault(path, {})[operand.metric_path] = score(operand, place)
    for path, values in found.items():
        held = {name: reason for name, reason in (failures or {}).items() if name in values}
        write_evaluation(plan, path, values, held)


def write_folder(folder, rows):
    """Write a results folder with the record and the items of some values.

    Args:
        folder: Results folder to create.
        rows: List of dicts, in the format of `tidy_rows`.
    """
    items = {}
    for row in rows:
        cells = items.setdefault((row["paper"], row["item"]), {})
        cell = cells.setdefault(
            (row["row"], row["column"], row["protocol"], row["metric"]), {"values": [], **row}
        )
        seed = None if row["seed"] == "" else row["seed"]
        value = None if row["value"] == "" else row["value"]
        own = {name: row.get(name, "") for name in ("encoder", "run", "group")}
        cell["values"].append({"seed": seed, "value": value, **own})
    papers = {}
    for paper, name in items:
        papers.setdefault(paper, []).append(name)
    config = Config.of({"scale": "micro", "papers": papers, "seeds": [0]}, "config.json")
    write_json(Path(folder) / "config.json", config.plain())
    for (paper, name), cells in items.items():
        lines, columns, *_ = map(_heads, zip(*cells, strict=True))
        result = ItemResult(
            item=f"{paper}/{name}", paper=paper, scale="micro", comparable=False, kind="table", title=name,
            place=name, rows=lines, columns=columns, cells=list(map(_cell_result, cells.values())),
            config=digest(config.settings_of_item(f"{paper}/{name}")),
        )  # fmt: skip
        write_json(Path(folder) / "items" / paper / f"{name}.json", result.plain())


def _heads(names):
    return [{"id": name, "label": name} for name in dict.fromkeys(names)]


def _cell_result(cell):
    parts = ("processor", "flags", "device", "threads")
    machines = re.findall(r"([^|]+) \((.+?)\), (\w+), (\d+ threads?)(?: [|] )?", cell["machine"])
    machines = [dict(zip(parts, found, strict=True)) for found in machines]
    printed, spread = cell["reported"], cell["published_sd"]
    return {
        "row": cell["row"],
        "column": cell["column"],
        "protocol": cell["protocol"],
        "values": cell["values"],
        "metric": cell["metric"].rpartition("/")[2],
        "metric_path": cell["metric"],
        "encoders": [value["encoder"] for value in cell["values"]],
        "reported": {"value": printed, "source": "a page"} if printed else None,
        "published_sd": float(spread) if spread else None,
        "machines": machines,
        "packages": [cell["package"]] if cell["package"] else [],
    }


# Unsupervised SimCSE, as in the recipes of the papers.
RECIPE = {
    "init": {"backbone": "bert-base"},
    "corpus": "wiki",
    "views": [{"column": "text"}, {"column": "text"}],
    "objective": [{"term": "infonce", "temperature": 0.05}],
}
FIELDS = ("item", "row", "column", "metric", "value", "source", "note", "statistic", "q", "seeds", "sd")


def write_paper(workflow, key, tables, reported=(), recipes=None, protocols=None):
    """Write a synthetic paper to a workflow.

    Args:
        workflow: Folder of the workflow. The scales and datasets.yaml are added if the folder is new.
        key: Key of the paper.
        tables: Dict from the name of a table to the content. A default title is added.
        reported: List of rows of reported.csv. Default values are used for missing columns.
        recipes: Dict of recipes. Default: `RECIPE` as "plain".
        protocols: List of protocols. If it is not given, the paper has no protocols.
    """
    folder = Path(workflow) / "papers" / key
    (folder / "tables").mkdir(parents=True)
    if not (Path(workflow) / "scales").exists():
        (Path(workflow) / "scales").symlink_to(ROOT / "workflow" / "scales")
        shutil.copy(ROOT / "workflow" / "datasets.yaml", workflow)
    about = {"title": key, "authors": "Nobody", "year": 2026, "venue": "a test", "url": "https://example.org"}
    _write_yaml(folder / "paper.yaml", about)
    _write_yaml(folder / "recipes.yaml", {"plain": RECIPE} if recipes is None else recipes)
    if protocols:
        _write_yaml(folder / "protocols.yaml", protocols)
    for name, table in tables.items():
        head = {"id": f"{key}/{name}", "kind": "table", "title": name, "place": name}
        _write_yaml(folder / "tables" / f"{name}.yaml", {**head, **table})
    with (folder / "reported.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        writer.writeheader()
        for entry in reported:
            writer.writerow({"source": "a page", "metric": "spearman", **entry})


def made_plan(folder, key="made", **config):
    """Compile a synthetic paper.

    Args:
        folder: Workflow folder with the paper.
        key: Key of the paper. Default: "made".
        config: Further settings. Default: scale paper, seeds 0 and 1.
    """
    values = {"scale": "paper", "papers": {key: "all"}, "seeds": [0, 1], **config}
    return compile_study(values, Path(folder))


def _write_yaml(path, document):
    path.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")


def write_workflow(folder):
    """Copy the shipped workflow, and add the papers of tests/papers.

    Scale micro gets the backbones of these papers.
    """
    shutil.copytree(ROOT / "workflow", folder)
    for paper in (ROOT / "tests" / "papers").glob("*/"):
        if not plugins_of(paper):
            shutil.copytree(paper, Path(folder) / "papers" / paper.name)
    file = Path(folder) / "scales" / "micro.yaml"
    scale = yaml.safe_load(file.read_text(encoding="utf-8"))
    more = yaml.safe_load((ROOT / "tests" / "papers" / "backbones.yaml").read_text(encoding="utf-8"))
    _write_yaml(file, {**scale, "backbones": {**scale["backbones"], **more}})


def plugins_of(paper):
    """Return the plug-ins in the folder of a paper: files and packages."""
    packages = [file.parent for file in paper.glob("*/__init__.py")]
    if (paper / "method.py").exists():
        return sorted(packages)
    return sorted([*paper.glob("*.py"), *packages])


def write_workspace(folder, key):
    """Turn a folder into a workspace for a paper of tests/papers.

    Args:
        folder: Existing folder.
        key: Key of the paper, whose plug-ins are copied, too.

    Returns:
        The config as a dict, which is also written to config.yaml.
    """
    paper = Path("papers") / key
    shutil.copytree(ROOT / "tests" / "papers" / key, Path(folder) / paper)
    plugins = [str(paper / each.name) for each in plugins_of(Path(folder) / paper)]
    config = {"scale": "micro", "papers": {key: "all"}, "seeds": [0], "plugins": plugins}
    (Path(folder) / "config.yaml").unlink(missing_ok=True)
    _write_yaml(Path(folder) / "config.yaml", config)
    return config


def write_electra(folder, lines):
    """Write a small random ELECTRA.

    Args:
        folder: Folder of the encoder.
        lines: List of sentences on which the tokenizer is trained.
    """
    import torch
    import transformers

    from replicse.data.tokenizer import train_tokenizer

    tokenizer = train_tokenizer("wordpiece", lines, 500, True)
    config = transformers.ElectraConfig(
        vocab_size=tokenizer.get_vocab_size(), embedding_size=16, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=64, max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.ElectraModel(config).save_pretrained(folder)
    tokenizer.save(str(Path(folder) / "tokenizer.json"))
