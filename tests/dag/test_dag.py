"""Dry runs of the DAG: job counts, single items and errors.

Tests that take minutes are in tests/e2e.
"""

import re

import pytest
from places import ROOT
from snakemake_runs import copied, jobs, snakemake

from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.spec.config import read_config

# A study of a table and a figure, compiled once for all tests of its parts.
WORDS = ("-n", "--config", "seeds=[0]", "papers={simcse: [figure2, table3]}")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Copy the checkout without results, for tests without jobs."""
    return copied(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def reduced(tmp_path_factory):
    """Return the output of a dry run of the reduced study."""
    folder = copied(tmp_path_factory.mktemp("reduced"))
    done = snakemake(folder, "-n", "--configfile", str(ROOT / "tests/e2e/reduced.yaml"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dry_run_plans_each_shared_run_once(reduced):
    found = jobs(reduced)
    assert found["train"] == 20, "nine methods and the backbone, two seeds"
    assert found["evaluate"] == 18 + 4, "the variant of two methods and seeds is evaluated, not trained"
    assert found["geometry"] == 8 + 4
    assert found["store"] == 2
    assert found["tabulate"] == 4
    assert found["study"] == found["judge"] == found["report"] == 1
    assert found["figures"] == 3, "all but the table"


def test_an_item_alone_brings_in_only_what_it_needs(checkout):
    """A single item only plans the jobs that it needs.

    The target `simcse/table3` once ended in a bare MissingRuleException.
    """
    done = snakemake(checkout, *WORDS, "--", "simcse/figure2")
    assert done.returncode == 0, done.stderr
    found = jobs(done.stdout)
    assert found["train"] == 5, "four methods, one seed, one backbone"
    assert "report" not in found and found["figures"] == found["page"] == 1
    assert "output: reports/micro/simcse/figure2.html" in done.stdout
    assert "input: results/micro/jobs/page/simcse/figure2.json" in done.stdout


def test_the_key_of_a_paper_is_a_target(checkout):
    """The key of a paper is a target of Snakemake.

    It once ended in MissingRuleException.
    """
    done = snakemake(checkout, *WORDS, "--", "simcse")
    assert done.returncode == 0, done.stderr
    assert jobs(done.stdout)["page"] == 2 and "report" not in jobs(done.stdout)
    assert snakemake(checkout, "simcse", "--rulegraph", *WORDS[1:]).stdout.startswith("digraph")


def test_as_a_module_it_leaves_the_other_workflow_its_target(checkout):
    module = 'module package:\n    snakefile: "Snakefile"\n    config: config\n'
    rules = "use rule * from package as package_*\n"
    mine = 'rule mine:\n    output: "mine.txt"\n    shell: "touch {output}"\n'
    (checkout / "theirs.smk").write_text(f'configfile: "config.yaml"\n{mine}{module}{rules}')
    done = snakemake(checkout, "-s", "theirs.smk", *WORDS)
    assert done.returncode == 0 and jobs(done.stdout) == {"mine": 1, "total": 1}, done.stdout + done.stderr


def test_jobs_and_rules_name_the_same_files(reduced):
    """The rules use the same paths as compile/jobs.py."""
    rules = re.findall(r"    input: (.*)\n    output: (.*)\n    log: (\S+)", reduced)
    ruled = {tuple(outputs.split(", ")): (inputs.split(", "), log) for inputs, outputs, log in rules}
    config = read_config([ROOT / "config.yaml", ROOT / "tests/e2e/reduced.yaml"])
    study = compile_study(config, ROOT / "workflow")
    for job in list_jobs(study).values():
        if job.stage != "page":
            inputs, log = ruled[next(each for each in ruled if job.outputs[0] in each)]
            (outputs,) = (each for each in ruled if job.outputs[0] in each)
            assert {*outputs} == {*job.outputs, str(job.copy)} and log == job.log, job
            # Every job depends on the data job.
            read = {*job.inputs, study.paths.specification(job.stage, job.id)}
            read |= set() if job.stage in ("data", "study") else {study.paths.data}
            assert {*inputs} == read, job


def test_nothing_of_snakemake_is_private_but_one_guarded_place():
    """Only one guarded place should use private parts of Snakemake.

    Undocumented parts can change with any release.
    """
    private = re.compile(
        r"workflow\.(?!is_main_process|is_rule|local_exec|current_basedir)\w+|snakemake\.(?!utils|exceptions)\w+|sys\.argv"
    )
    found = []
    for file in (ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk")):
        found += private.findall(file.read_text(encoding="utf-8"))
    assert found == ["workflow.scheduler", "workflow.scheduler"]


def test_a_mistake_in_the_config_is_said_before_any_rule(checkout):
    done = snakemake(checkout, "-n", "--config", "scale=mikro")
    assert done.returncode != 0
    assert 'config.yaml: scale is "mikro"; did you mean "micro"?' in done.stdout + done.stderr
