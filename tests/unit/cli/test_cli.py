"""The command line: verbs on a study, exit codes, and evaluation."""

import json
import os
import re
import resource
import signal
import subprocess
import sys

import pytest
import torch
from places import ROOT

from replicse.cli import GROUPS, VERBS, main
from replicse.cli.answers import SCREEN, print_error
from replicse.errors import refusing
from replicse.files import write_json

CONFIG = ROOT / "tests" / "e2e" / "reduced.yaml"
STUDY = ["--study", str(CONFIG), "--workflow", str(ROOT / "workflow")]


def test_the_help_of_every_verb_has_an_example_and_fits_the_width_of_a_screen(capsys):
    for verb in VERBS:
        assert main([verb, "--help"]) == 0
        told = capsys.readouterr().out
        assert f"example:\n  replicse {verb}" in told
        assert max(map(len, told.splitlines())) <= 80, verb
    assert main(["diagnose", "--help", "--all"]) == 0
    assert "--batch BATCH " in capsys.readouterr().out


def test_the_help_is_grouped_and_a_bare_call_shows_what_is_done_every_day(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    bare = capsys.readouterr().out
    verbs = [line.split()[1] for line in bare.splitlines() if line.startswith("  ")]
    assert verbs == list(GROUPS["every day"])
    assert main(["--help"]) == 0
    whole = capsys.readouterr().out
    assert [line[:-1] for line in whole.splitlines() if line.endswith(":")] == list(GROUPS)
    for verb in VERBS:
        assert re.search(rf"^  (replicse )?{verb} ", whole, re.MULTILINE)
    assert max(map(len, whole.splitlines())) <= 80


def test_ctrl_c_is_one_sentence(capsys, monkeypatch):
    def pressed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("replicse.cli.verb_parser", pressed)
    assert main(["plan"]) == 130
    assert capsys.readouterr().err == "replicse plan: interrupted; start it again\n"
    # A scheduler ends a job with this signal.
    monkeypatch.setattr("replicse.cli.verb_parser", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["job", "data.json"]) == 130
    assert capsys.readouterr().err == "replicse job: interrupted; start it again\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        torch.OutOfMemoryError("CUDA out of memory"),
    ],
)
def test_memory_that_ends_is_one_sentence(capsys, monkeypatch, error):
    """If memory is exhausted, a sentence is printed.

    The log of a training once ended in a traceback.
    """

    def fail(_):
        raise error

    monkeypatch.setattr("replicse.cli.verb_parser", fail)
    assert main(["job", "results/x.json"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("replicse job: not enough memory (") and said.count("\n") == 1
    # A library's lack of memory is no fault of the file that it loads.
    with pytest.raises(type(error)), refusing("x.json: cannot be loaded", "fix it"):
        raise error
    error = RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(RuntimeError, match="mat1"):
        main(["job", "results/x.json"])


@pytest.mark.parametrize("scale", ["micro", "paper"])
def test_no_line_of_a_plan_is_wider_than_80_columns(capsys, tmp_path, monkeypatch, scale):
    """The lines of a plan are wrapped at 80 columns.

    Lines of 579 columns were once written to a pipe.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(f"scale: {scale}\npapers: all\nseeds: [0]\n")
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    assert main(["plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN and lines[-1].endswith(": replicse plan --all")
    assert main(["plan", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for line in lines:
        assert not line.endswith("...")
    assert not re.search(r"\b\d{4,} (runs|encoders)", " ".join(lines)), "1404 runs next to 2,489 h"


def test_a_reader_that_has_enough_ends_the_output_and_nothing_is_said_of_it(monkeypatch):
    """If the reader closes the pipe, the command should end quietly.

    `replicse plan | head` once ended with Python's error about the last buffer.
    """
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("sys.stdout", os.fdopen(writer, "w", encoding="utf-8"))
    assert main(["plan", *STUDY]) == 1
    sys.stdout.close()


def test_config_files_are_laid_over_each_other_as_snakemake_lays_them(capsys, tmp_path, monkeypatch):
    """Several config files are merged as Snakemake merges them.

    `--config` once replaced config.yaml, but `--configfile` was merged into it.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0]\n")
    (tmp_path / "more.yaml").write_text("papers: {repro: [table5]}\n")
    (tmp_path / "seeds.yaml").write_text("seeds: [0, 1]\n")
    words = ["--workflow", str(ROOT / "workflow"), "--json"]

    def planned(*more):
        assert main(["plan", *words, *more]) == 0
        plan = json.loads(capsys.readouterr().out)
        return plan["scale"], plan["seeds"], [item["item"] for item in plan["items"]]

    assert planned() == ("micro", [0], ["simcse/table3"])
    assert planned("--config", "more.yaml") == ("micro", [0], ["simcse/table3", "repro/table5"])
    assert planned("--configfile", "more.yaml", "--config", "seeds=[3,4]", "--config", "scale=compact") == (
        "compact", [3, 4], ["simcse/table3", "repro/table5"],
    )  # fmt: skip
    layers = ["--config", "more.yaml", "--config", "seeds.yaml"]
    assert planned(*layers)[1] == [0, 1] and len(planned(*layers)[2]) == 2
    assert planned(*layers, "--scale", "paper", "--seeds", "3")[:2] == ("paper", [0, 1, 2])
    for verb in ("plan", "validate"):
        assert main([verb, *words, "--config", "seeds=three"]) == 2
        assert 'config.yaml with --config: seeds is "three"; expected a list' in capsys.readouterr().err


def test_an_error_in_a_terminal_is_broken_at_words_and_its_command_is_not(capsys, monkeypatch):
    sentence = (
        "replicse show: results/micro has no table of simcse/table3, for it was not run; {}; then show it"
    )
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for command in ("python -c 'import pandas; print(1, 2)'", "replicse run simcse/table3 --scale micro"):
        print_error(sentence.format(command))
        first, *lines = capsys.readouterr().err.splitlines()
        assert max(map(len, (first, *lines))) <= 80 and lines[0] == f"    {command}; then show it"
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    print_error(sentence.format(command))
    assert capsys.readouterr().err == f"{sentence.format(command)}\n"


def test_an_output_that_the_caller_closed_is_no_error():
    words = f'exec "{sys.executable}" -m replicse --version >&- 2>&-'
    assert subprocess.run(["sh", "-c", words]).returncode == 0


def test_the_log_of_a_job_ends_with_its_time_and_memory(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    outputs, payload = ["results/micro/record.json"], {"config": {}, "record": {}}
    specification = {"stage": "study", "id": "", "digests": {}, "payload": payload, "inputs": []}
    write_json("results/micro/jobs/study.json", {**specification, "outputs": outputs})
    with caplog.at_level("INFO"):
        assert main(["job", "results/micro/jobs/study.json"]) == 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = caplog.messages[-1].partition(" ")
    assert end[0] == f"wrote={outputs[0]}"
    cpu_seconds, peak_mib = (float(number) for number in re.findall(r"=(\d+(?:\.\d)?)(?: |$)", end[2]))
    assert cpu_seconds == pytest.approx(used.ru_utime + used.ru_stime, abs=5)
    assert peak_mib == pytest.approx(used.ru_maxrss / 1024, abs=100)
