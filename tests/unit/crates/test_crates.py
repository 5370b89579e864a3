"""Studies as crates: what goes in and comes out, hostile ones, and many labs as one."""

import hashlib
import io
import json
import random
import re
import shutil
import stat
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from made_up import write_folder
from places import ROOT

from replicse.archives import METADATA
from replicse.cli import main
from replicse.crates.merge import Brought, brought, expanded, first_difference, merged, merged_record
from replicse.crates.pack import specs_of, write_crate
from replicse.errors import BadInput
from replicse.files import read_json, read_rows, write_json
from replicse.report.forest import forest
from replicse.study.plan.planner import load_plan
from replicse.study.results.compare import compare
from replicse.study.results.folder import held, opened, study_folder
from replicse.study.results.labs import pooled

INTEL, EPYC = "Intel Xeon (avx512), cpu, 1 thread", "AMD EPYC (avx2), cpu, 1 thread"
VALUES = {"p0.0": (51.2, 53.3, 48.9), "p0.1": (64.8, 63.5, 63.4)}
VALIDATOR = ROOT / "build" / "crates" / "bin" / "python"


def rows(machine, first=0, shift=0.0, **more):
    """Return the tidy rows of two cells, each with three seeds of runs of their own."""
    return [
        {
            "paper": "made", "item": "table1", "row": row, "column": "a", "protocol": "as-described",
            "metric": "sts/STS12/all", "seed": first + place, "value": value + shift * (1 + 0.1 * place),
            "encoder": f"{row}-s{first + place}-cls", "run": f"{row}-s{first + place}", "group": "",
            "machine": machine, "package": "aa", "reported": "70.0", "published_sd": "", **more,
        }
        for row, values in VALUES.items()
        for place, value in enumerate(values)
    ]  # fmt: skip


def record(sha256="aa", **more):
    """Return a study's record, as a crate has it."""
    about = {
        "title": "made",
        "authors": "Nobody",
        "year": 2026,
        "venue": "a test",
        "url": "https://example.org",
    }
    return {
        "scale": "micro", "shows": "nothing", "comparable": False, "judges_orders": False, "seeds": [0, 1, 2],
        "protocols": [], "papers": {"made": about}, "items": ["made/table1"], "generated": "2026-11-24T00:00:00+00:00",
        "commit": "a" * 40, "data": [{"name": "wiki.txt", "sha256": sha256, "rows": 3}],
        "versions": {"transformers": "5.23.0"}, **more,
    }  # fmt: skip


def specs(first=0, rate=3e-5):
    """Return specs of the runs of `rows`, on a backbone of the seed."""
    seeds = range(first, first + 3)
    runs = {
        f"{row}-s{seed}": {"seed": seed, "init": {"run": f"mlm-s{seed}"}, "rate": rate}
        for row in VALUES
        for seed in seeds
    }
    return runs | {f"mlm-s{seed}": {"seed": seed, "init": {"fresh": "bert"}} for seed in seeds}


def crate(file, name, tidy, of=None, run_specs=None):
    """Write a crate of made-up rows and return it."""
    home = file.parent / f"{file.stem}-files" / "reports" / "studies" / name
    write_folder(home, tidy)
    write_json(home / "study.json", of or record())
    if run_specs:
        write_json(home / "specs.json", run_specs)
    top = home.parents[2]
    files = {each.relative_to(top).as_posix(): each for each in top.rglob("*") if each.is_file()}
    write_crate(name, files, of or record(), file)
    shutil.rmtree(top)
    return file


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setattr("replicse.study.results.folder._OPENED", {})
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def test_a_crate_comes_out_as_it_went_in(folder, capsys):
    file = crate(folder / "one.zip", "ours", rows(INTEL))
    assert main(["unpack", str(file)]) == 0
    assert held(Path("reports/studies/ours")) == held(study_folder(str(file)))
    assert main(["unpack", str(file)]) == 2 and "choose another one with --name" in capsys.readouterr().err
    assert (
        main(["unpack", str(file), "--name", "theirs"]) == 0 and Path("reports/studies/theirs/items").is_dir()
    )


def test_a_committed_study_is_packed_without_weights_and_shown_from_its_crate(folder, capsys):
    out = folder / "compact.zip"
    assert main(["pack", "compact", "--out", str(out), "--workflow", str(ROOT / "workflow")]) == 0
    names = zipfile.ZipFile(out).namelist()
    assert {f"reports/studies/compact/{name}" for name in ("config.json", "specs.json", "cells.csv")} < {
        *names
    }
    assert not any(name.endswith((".safetensors", ".npy", ".html")) for name in names)
    document = json.loads(zipfile.ZipFile(out).read(METADATA))
    (action,) = (each for each in document["@graph"] if each["@type"] == "CreateAction")
    assert action["instrument"] == {"@id": "Snakefile"} and len(action["result"]) > 20
    assert main(["show", "simcse/table3", "--study", str(out), "--workflow", str(ROOT / "workflow")]) == 0
    assert "82.5 → 63.4" in capsys.readouterr().out


@pytest.mark.skipif(not VALIDATOR.exists(), reason="make crates installs the validator of RO-Crates")
def test_a_crate_follows_the_profile_of_workflow_runs(folder):
    file = crate(folder / "one.zip", "ours", rows(INTEL))
    script = Path(__file__).with_name("validated.py")
    done = subprocess.run([VALIDATOR, script, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Hostile crates


def rewritten(file, out, change):
    """Write a crate whose entries, (name, bytes, attributes), a function has changed."""
    with zipfile.ZipFile(file) as archive:
        entries = [(info.filename, archive.read(info), 0) for info in archive.infolist()]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text, mode in change(entries):
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return out


def listed(entries, name, text):
    """Return entries with one more, which the metadata lists with its true sha256."""
    made = []
    for place, old, mode in entries:
        if place == METADATA:
            document = json.loads(old)
            entity = {"@id": name, "@type": "File", "sha256": hashlib.sha256(text).hexdigest()}
            document["@graph"].append(entity)
            old = json.dumps(document).encode()
        made.append((place, old, mode))
    return made


HOSTILE = {
    "is no plain path": ("../evil.txt", "/etc/evil", "a/../../evil", "C:\\evil", "a\\..\\evil", "<script>.csv", "a//b",
                         "reports/\x1b[2Jx", "-rf", ".git/hooks/x", "x" * 300, "reports/studies/ours/naïve.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE["is no plain path"])
def test_a_name_that_is_no_plain_path_is_refused(folder, name):
    file = crate(folder / "one.zip", "ours", rows(INTEL))
    bad = rewritten(file, folder / "bad.zip", lambda all_: [*listed(all_, name, b"x"), (name, b"x", 0)])
    with pytest.raises(BadInput, match=r"is no plain path|is there twice"):
        opened(bad)


def test_links_bombs_and_other_bytes_are_refused(folder):
    file = crate(folder / "one.zip", "ours", rows(INTEL))

    def refused(change, message):
        with pytest.raises(BadInput, match=message):
            opened(rewritten(file, folder / f"bad{len(list(folder.iterdir()))}.zip", change))

    refused(lambda all_: [*all_, ("a/link", b"/etc/passwd", stat.S_IFLNK | 0o777)], "is a link")
    refused(lambda all_: [*all_, ("zeros.csv", b"\0" * (64 << 20), 0)], r"expands from")
    refused(lambda all_: [*all_, ("more.csv", b"x", 0)], r"does not list more\.csv")
    refused(lambda all_: [(n, t + b" " * n.endswith("study.json"), m) for n, t, m in all_], "another sha256")
    refused(lambda all_: [each for each in all_ if "study.json" not in each[0]], "which is not in it")
    refused(lambda all_: [(n, b"[" * 100_000 if n == METADATA else t, m) for n, t, m in all_], "not JSON")
    refused(lambda all_: [(n, b"{}" if n == METADATA else t, m) for n, t, m in all_], "does not list")
    refused(lambda all_: [each for each in all_ if each[0] != METADATA], "no crate")
    nested = ("reports/studies/ours/items", b"x", 0)
    refused(lambda all_: [*listed(all_, *nested[:2]), nested], "is a file and a folder")


def test_no_archive_at_all_is_refused(folder):
    for text in (b"", b"PK", b"not a zip" * 99):
        (folder / "bad.zip").write_bytes(text)
        with pytest.raises(BadInput, match="no readable zip"):
            opened(folder / "bad.zip")
    with pytest.raises(BadInput, match="no such file"):
        opened(folder / "absent.zip")


def mutations(text, entries, count):
    """Yield mutated bytes of a crate: bytes changed, cut, doubled, and JSON of its own files put out of joint."""
    chance = random.Random(0)
    for place in range(count):
        kind = place % 4
        if kind == 0:
            broken = bytearray(text)
            for _ in range(chance.randint(1, 8)):
                broken[chance.randrange(len(broken))] = chance.randrange(256)
            yield bytes(broken)
        elif kind == 1:
            start = chance.randrange(len(text))
            yield text[:start] + text[start + chance.randint(1, 400) :]
        else:
            yield mutated_entries(entries, chance, relist=kind == 3)


def mutated_entries(entries, chance, relist):
    """Return a crate with one file of it changed, listed with its new sha256 or with the old one."""
    name = chance.choice([name for name in entries if name.endswith(".json")])
    text = entries[name].decode()
    start = chance.randrange(len(text))
    junk = chance.choice(
        ["null", "[]", '"', "1e999", "-1", "{", "<script>", "../..", "\\u202e", "[" * 5000, "true"]
    )
    changed = {**entries, name: (text[:start] + junk + text[start + chance.randint(0, 40) :]).encode()}
    if relist and name != METADATA:
        old, new = (hashlib.sha256(each[name]).hexdigest() for each in (entries, changed))
        changed[METADATA] = changed[METADATA].replace(old.encode(), new.encode())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in changed.items():
            archive.writestr(each, content)
    return stream.getvalue()


def test_two_hundred_mutated_crates_are_read_or_refused_and_write_nothing_elsewhere(
    folder, capsys, monkeypatch
):
    file = crate(folder / "one.zip", "ours", rows(INTEL), run_specs=specs())
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    (folder / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "scratch"))
    codes = []
    for count, text in enumerate(mutations(file.read_bytes(), entries, 200)):
        bad = folder / f"bad-{count}.zip"
        bad.write_bytes(text)
        codes.append(main(["unpack", str(bad), "--name", "read"]))
        said = capsys.readouterr()
        assert codes[-1] in (0, 2) and "Traceback" not in said.err + said.out, said.err
        written = {each.relative_to(folder).parts[0] for each in folder.rglob("*") if each.is_file()}
        assert written <= {"scratch", "one.zip", "here", *(f"bad-{each}.zip" for each in range(count + 1))}
        for kind in ("reports", "figures"):
            assert {each.parts[:3] for each in Path().glob(f"{kind}/*/*/*")} <= {(kind, "studies", "read")}
            shutil.rmtree(kind, ignore_errors=True)
        bad.unlink()
    assert codes.count(2) > 100 and codes.count(0) > 0


# Many labs


def lab(folder, name, tidy, of=None, run_specs=None):
    return brought(name, study_folder(str(crate(folder / f"{name}.zip", name, tidy, of, run_specs))))


def test_labs_with_the_same_runs_are_pooled_with_two_variances(folder, capsys):
    one, two = (
        str(crate(folder / f"{name}.zip", name, rows(machine, shift=shift)))
        for name, machine, shift in (("intel", INTEL, 0.0), ("epyc", EPYC, 2.0))
    )
    out = folder / "labs.zip"
    assert main(["merge", one, two, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert (
        "made/table1/p0.1/a" in said
        and "2 labs, 6 seeds: " in said
        and "2 of 2 cells from several labs" in said
    )
    (result,) = held(study_folder(str(out)))
    cell = result.cells[0]
    labs = {"Intel Xeon (avx512), transformers 5.23.0", "AMD EPYC (avx2), transformers 5.23.0"}
    assert {each.lab for each in cell.values} == labs and cell.n_seeds == 6
    values = list(VALUES["p0.0"])
    shifted = [value + 2 * (1 + 0.1 * place) for place, value in enumerate(values)]
    expected = pooled({"a": values, "b": shifted})
    assert (cell.labs.labs, cell.labs.seeds) == pytest.approx((expected.labs, expected.seeds))
    names = zipfile.ZipFile(out).namelist()
    assert sum("/forest/" in name for name in names) == 2
    home = study_folder(str(out))
    assert {row["lab"] for row in read_rows(home / "labs.csv")} == labs
    assert {row["machine"] for row in read_rows(home / "cells.csv")} == labs
    assert read_json(home / "study.json")["labs"] == [one, two]
    # Compared with one of them, the numbers of both count.
    assert [round(each.largest, 6) for each in compare(study_folder(one), home).cells] == [2.4, 2.4]


def test_the_same_values_of_one_lab_are_pooled_once(folder):
    (result,) = merged([lab(folder, "a", rows(INTEL)), lab(folder, "b", rows(INTEL))])
    assert len(result.cells[0].values) == 3 and result.cells[0].labs is None


def test_what_labs_give_to_the_last_bit_under_one_seed_is_one_draw(folder):
    """The verdict counted it once, the line of labs and the forest plot in each lab."""
    one, two = lab(folder, "a", rows(INTEL)), lab(folder, "b", rows(EPYC))
    (result,), (alone,) = merged([one, two]), merged([one, lab(folder, "c", rows(INTEL))])
    cell, single = result.cells[0], alone.cells[0]
    assert (cell.n_seeds, cell.low, cell.high) == (3, single.low, single.high)
    assert single.low is not None and len(cell.values) == 6 and cell.labs is None
    other = [{**row, "value": row["value"] + (row["seed"] == 2)} for row in rows(EPYC)]
    (result,) = merged([one, lab(folder, "d", other)])
    cell = result.cells[0]
    assert cell.n_seeds == 4 and cell.labs.text.startswith("2 labs, 4 seeds: ")
    forest(result, cell, folder / "one.svg")
    drawn = (folder / "one.svg").read_text()
    assert len(re.findall(r"<use [^>]*fill-opacity: 0\.45", drawn)) == 4 and "2 labs, 4 seeds: " in drawn


def searched(machine, first, rate=3e-5):
    """Return a lab's cells of several encoders, without a run of their own, and the specs of these."""
    tidy = rows(machine, first=first, run="", encoder="", group=f"group-{first}")
    return tidy, specs(first, rate)


def test_cells_of_several_encoders_are_pooled_under_other_seeds(folder):
    """A study with one search, or one difference of rows, was not merged with other seeds of it."""

    def brought_by(name, *what):
        tidy, run_specs = searched(*what)
        found = lab(folder, name, tidy, run_specs=run_specs)
        items = {}
        for key, item in found.items.items():
            cells = [
                cell.model_copy(
                    update={"encoders": tuple(f"{run}-cls" for run in run_specs if run.startswith(cell.row))}
                )
                for cell in item.cells
            ]
            items[key] = item.model_copy(update={"cells": tuple(cells)})
        return Brought(name, items, found.record, found.specs)

    ours = brought_by("a", INTEL, 0)
    (result,) = merged([ours, brought_by("b", EPYC, 3)])
    assert [each.seed for each in result.cells[0].values] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(BadInput, match=r"c: .*rate of a run of seed 3 is 1e-05, in a 3e-05"):
        merged([ours, brought_by("c", EPYC, 3, 1e-5)])
    bare = Brought("d", brought_by("d", EPYC, 3).items, ours.record, {})
    with pytest.raises(BadInput, match=r"d: .*no spec of a run of seed 3 in it"):
        merged([ours, bare])


def test_other_seeds_of_the_same_spec_are_pooled(folder):
    labs = [
        lab(folder, name, rows(machine, first=first), run_specs=specs(first))
        for name, machine, first in (("a", INTEL, 0), ("b", EPYC, 3))
    ]
    (result,) = merged(labs)
    assert [each.seed for each in result.cells[0].values] == [0, 1, 2, 3, 4, 5]
    found = merged_record([labs[0], replace(labs[1], record={**labs[1].record, "seeds": [3, 4, 5]})])
    assert found["seeds"] == [0, 1, 2, 3, 4, 5] and found["made_by"]["b"]["seeds"] == [3, 4, 5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tidy": rows(EPYC, reported="71.0")}, "reported is '71.0', in a '70.0'"),
        (
            {"tidy": rows(EPYC, metric="sts/STS13/all")},
            "metric_path is 'sts/STS13/all', in a 'sts/STS12/all'",
        ),
        ({"tidy": rows(EPYC), "of": record("bb")}, "data file wiki.txt has sha256 bb, in a aa"),
        (
            {"tidy": rows(EPYC, first=3), "run_specs": specs(3, rate=1e-5)},
            r"spec.rate of run p0.0-s3 is 1e-05, in a 3e-05",
        ),
        ({"tidy": rows(EPYC, first=3)}, "b: made/table1/p0.0/a/all: no spec of run p0.0-s3 in it"),
        ({"tidy": rows(EPYC, encoder="x", run="x")}, "no spec of run x in it"),
    ],
)
def test_what_differs_is_refused_with_its_name(folder, change, message):
    with pytest.raises(BadInput, match=message):
        merged([lab(folder, "a", rows(INTEL), run_specs=specs()), lab(folder, "b", **change)])


def test_a_spec_is_compared_with_those_that_it_starts_from():
    ours, theirs = specs(), specs()
    theirs["mlm-s0"] = {"seed": 0, "init": {"fresh": "roberta"}}
    one, two = (expanded(each, "p0.0-s0", with_seed=False) for each in (ours, theirs))
    assert first_difference(one, two) == ("spec.init.run.init.fresh", "bert", "roberta")
    assert first_difference(one, expanded(ours, "p0.0-s1", with_seed=False)) is None
    assert expanded(ours, "absent", with_seed=True) is None
    assert expanded({"a": {"init": {"run": "a"}}}, "a", with_seed=True) is None


MADE = {"commit": "a" * 40, "dirty": False, "versions": {"transformers": "5.23.0"}}


def results_folder(folder, tidy, sha256="aa", run_specs=None, **made):
    """Write a results folder as a run leaves it, and return it.

    What made its runs is in their records, and what they read in the data record, until the study is packed.
    """
    write_folder(folder, tidy)
    absent = ("commit", "versions", "data", "generated")
    write_json(folder / "study.json", {key: entry for key, entry in record().items() if key not in absent})
    files = [{"name": "wiki.txt", "sha256": sha256, "rows": 3}]
    write_json(folder / "data.json", {"files": files, "provenance": {}})
    for run, spec in (run_specs or specs(tidy[0]["seed"])).items():
        job = {"run": {**spec, "trajectory": {"every": 1 + spec["seed"]}}, "run_id": run}
        write_json(folder / "runs" / run / "provenance.json", {**MADE, **made, "job": job})
    evaluation = {"suites": {}, "provenance": {**MADE, **made, "seconds": 1.0}}
    for row in tidy:
        write_json(folder / "encoders" / row["encoder"] / "sts.json", evaluation)
    return folder


def test_a_crate_and_the_results_folder_that_it_was_packed_from_are_one_lab(folder, capsys):
    one = str(crate(folder / "ours.zip", "ours", rows(INTEL), record(package_sha256="cc", dirty=False)))
    two = str(results_folder(folder / "results", rows(INTEL)))
    for studies in ((one, two), (two, one)):
        assert main(["merge", *studies, "--out", str(folder / "labs.zip")]) == 0
        said = capsys.readouterr().out
        assert "0 of 2 cells from several labs" in said and "versions of the package" not in said
    (result,) = merged([brought(each, study_folder(each)) for each in (one, two)])
    assert {each.lab for each in result.cells[0].values} == {"Intel Xeon (avx512), transformers 5.23.0"}
    other = str(crate(folder / "other.zip", "other", rows(INTEL, package="bb")))
    assert main(["merge", one, other, "--out", str(folder / "labs.zip")]) == 0
    assert "made by different versions of the package" in capsys.readouterr().out


def test_other_seeds_of_results_folders_are_pooled_by_the_records_of_their_runs(folder):
    ours = brought("ours", results_folder(folder / "ours", rows(INTEL)))
    theirs = brought("theirs", results_folder(folder / "theirs", rows(EPYC, first=3)))
    (result,) = merged([ours, theirs])
    assert [each.seed for each in result.cells[0].values] == [0, 1, 2, 3, 4, 5]
    other = results_folder(folder / "other", rows(EPYC, first=3), run_specs=specs(3, rate=1e-5))
    with pytest.raises(BadInput, match=r"spec\.rate of run p0\.0-s3 is 1e-05, in ours 3e-05"):
        merged([ours, brought("other", other)])


def test_a_broken_record_of_a_results_folder_is_refused_and_an_older_one_has_no_specs(folder):
    ours = results_folder(folder / "ours", rows(INTEL))
    for file in ours.glob("runs/*/provenance.json"):
        write_json(file, MADE)
    assert brought("ours", ours).specs == {}
    write_json(ours / "data.json", {"files": [{"rows": 3}]})
    with pytest.raises(BadInput, match=r"ours: study\.json with data\.json: .*name"):
        brought("ours", ours)


def test_data_of_results_folders_are_compared(folder):
    one, two = (results_folder(folder / sha256, rows(INTEL), sha256) for sha256 in ("aa", "bb"))
    with pytest.raises(BadInput, match=r"data file wiki\.txt has sha256 bb, in a aa"):
        merged([brought("a", one), brought("b", two)])


def test_a_pooled_study_has_the_commit_that_all_labs_have_and_is_dirty_where_one_is(folder, capsys):
    ours, same, theirs = (
        str(results_folder(folder / name, rows(machine), commit=commit * 40, dirty=dirty))
        for name, machine, commit, dirty in (
            ("ours", INTEL, "a", False),
            ("same", EPYC, "a", False),
            ("theirs", EPYC, "b", True),
        )
    )
    out = str(folder / "labs.zip")
    assert main(["merge", ours, same, "--name", "same", "--out", out]) == 0
    found = read_json(study_folder(out) / "study.json")
    assert (found["commit"], found["dirty"], found["seeds"]) == ("a" * 40, False, [0, 1, 2])
    out = str(folder / "mixed.zip")
    assert main(["merge", ours, theirs, "--name", "mixed", "--out", out]) == 0
    found = read_json(study_folder(out) / "study.json")
    assert "commit" not in found and found["dirty"] is True and found["versions"] == MADE["versions"]
    each = [(made["commit"][0], made["dirty"]) for made in found["made_by"].values()]
    assert list(found["made_by"]) == [ours, theirs] and each == [("a", False), ("b", True)]
    capsys.readouterr()
    assert main(["contribute", out]) == 2 and "no commit in its record" in capsys.readouterr().err


def planned(paper, seed):
    """Return the specs of a paper's runs under one seed, as a crate has them."""
    return specs_of(
        load_plan({"scale": "micro", "papers": {paper: "all"}, "seeds": [seed]}, ROOT / "workflow")
    )


@pytest.mark.parametrize("paper", ["simcse", "diffcse", "rankcse"])
def test_planned_runs_of_other_seeds_are_the_same_but_for_the_seed(paper):
    ours, theirs = planned(paper, 0), planned(paper, 1)
    for one, two in zip(ours, theirs, strict=True):
        assert first_difference(expanded(ours, one, False), expanded(theirs, two, False)) is None
        assert first_difference(expanded(ours, one, True), expanded(theirs, two, True)) is not None


def test_a_frozen_model_is_compared_by_the_spec_of_its_run():
    ours, theirs = planned("rankcse", 0), planned("rankcse", 1)
    one, two = (next(run for run, spec in each.items() if "teachers" in str(spec)) for each in (ours, theirs))
    (term,) = (each for each in theirs[two]["objective"] if "teachers" in each)
    teacher = Path(term["teachers"][0]["folder"]).parent.name
    changed = {**theirs, teacher: {**theirs[teacher], "dropout": {"hidden": 0.3}}}
    path, _, rate = first_difference(expanded(ours, one, False), expanded(changed, two, False))
    assert path.endswith("teachers[0].folder.run.dropout") and rate == {"hidden": 0.3}
    assert expanded({run: spec for run, spec in ours.items() if run != one}, one, False) is None
    last = json.loads(json.dumps(theirs[two]).replace(f"{teacher}/best", f"{teacher}/last"))
    path, *which = first_difference(expanded(ours, one, False), expanded({**theirs, two: last}, two, False))
    assert path.endswith("teachers[0].folder.checkpoint") and which == ["best", "last"]
    del changed[teacher]
    assert expanded(changed, two, False) is None


def test_an_item_of_another_scale_than_its_study_is_refused(folder):
    """The scale of the first item was asked alone, and numbers of two scales were pooled."""
    ours = results_folder(folder / "ours", rows(INTEL))
    item = ours / "items/made/table1.json"
    write_json(item, {**read_json(item), "scale": "compact"})
    with pytest.raises(BadInput, match=r"table1\.json: scale is compact, in .*config\.json micro; delete it"):
        brought("ours", ours)


def test_a_crate_is_not_written_in_the_place_of_a_folder(folder, capsys):
    """The sentence named a temporary file."""
    words = ["pack", "compact", "--out", str(folder), "--workflow", str(ROOT / "workflow")]
    assert main(words) == 2 and f"{folder}: a folder; name a file to write" in capsys.readouterr().err


def test_a_merge_asks_for_two_studies_of_the_same_items(folder, capsys):
    file = str(crate(folder / "one.zip", "ours", rows(INTEL)))
    assert main(["merge", file]) == 2 and "name two studies at least" in capsys.readouterr().err
    other = Brought("other", {"made/table2": held(study_folder(file))[0]}, {}, {})
    with pytest.raises(BadInput, match="share no item"):
        merged([brought("a", study_folder(file)), other])
