"""The DAG by dry-run: job counts, items asked for alone, errors; what runs for minutes is in tests/e2e."""

import os
import re

import pytest
from places import ROOT
from snakemake_runs import copied, jobs, snakemake

from replicse.compile.compiler import compile_study
from replicse.spec.config import read_config

# One study of a table and a figure, which all who ask for parts of it compile once.
WORDS = ("-n", "--config", "seeds=[0]", "papers={simcse: [figure2, table3]}")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout without results, for all that only plan."""
    return copied(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def reduced(tmp_path_factory):
    """What a dry-run of the reduced study prints."""
    folder = copied(tmp_path_factory.mktemp("reduced"))
    done = snakemake(folder, "-n", "--configfile", str(ROOT / "tests/e2e/reduced.yaml"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dry_run_plans_each_shared_run_once(reduced):
    found = jobs(reduced)
    assert found["train"] == 20, "nine methods and the backbone, two seeds"
    assert found["evaluate"] == 18 + 4, "the variant of two methods and seeds is evaluated, not trained"
    assert found["align_uniformity_checkpoints"] == 8 + 4
    assert found["store"] == 2
    assert found["tabulate"] == 4
    assert found["config"] == found["judge"] == found["report"] == 1
    assert found["figures"] == 3, "all but the table"


def test_an_item_alone_brings_in_only_what_it_needs(checkout):
    """By its name as everywhere else: `snakemake simcse/table3` once ended in a bare MissingRuleException."""
    done = snakemake(checkout, *WORDS, "--", "simcse/figure2")
    assert done.returncode == 0, done.stderr
    found = jobs(done.stdout)
    assert found["train"] == 5, "four methods, one seed, one backbone"
    assert "report" not in found and found["figures"] == found["page"] == 1
    assert "output: reports/micro/simcse/figure2.html" in done.stdout


def test_the_key_of_a_paper_is_a_target(checkout):
    """It ended in MissingRuleException."""
    done = snakemake(checkout, *WORDS, "--", "simcse")
    assert done.returncode == 0, done.stderr
    assert jobs(done.stdout)["page"] == 2 and "report" not in jobs(done.stdout)
    assert snakemake(checkout, "simcse", "--rulegraph", *WORDS[1:]).stdout.startswith("digraph")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--until", "train"], "write --omit-from evaluate align_uniformity_checkpoints"),
        (["--", "simcse/tabel3"], 'no target "simcse/tabel3"; did you mean "simcse/table3"?'),
        (["--", "simsce"], 'no target "simsce"; did you mean "simcse"?'),
    ],
)
def test_what_snakemake_cannot_make_is_refused_with_what_to_write(checkout, words, said):
    """The first ended in "BUG: Out of jobs", the others in MissingRuleException."""
    done = snakemake(checkout, *WORDS, *words, env={**os.environ})  # what a process says as it ends
    assert done.returncode == 1 and done.stderr.endswith(f"{said}\n"), done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_as_a_module_it_leaves_the_other_workflow_its_target(checkout):
    """Where it was named, it took over the target, and a prefix failed only after the dry run."""
    module = 'module package:\n    snakefile: "Snakefile"\n    config: config\n'
    rules = "use rule * from package as package_*\n"
    mine = 'rule mine:\n    output: "mine.txt"\n    shell: "touch {output}"\n'
    (checkout / "theirs.smk").write_text(f'configfile: "config.yaml"\n{mine}{module}{rules}')
    done = snakemake(checkout, "-s", "theirs.smk", *WORDS)
    assert done.returncode == 0 and jobs(done.stdout) == {"mine": 1, "total": 1}, done.stdout + done.stderr
    (checkout / "theirs.smk").write_text(
        f'configfile: "config.yaml"\n{mine}{module}    prefix: "sub"\n{rules}'
    )
    done = snakemake(checkout, "-s", "theirs.smk", *WORDS)
    assert done.returncode == 1 and "prefix is not supported" in done.stdout + done.stderr


def test_the_jobs_that_explain_a_failure_are_those_of_the_rules(reduced):
    """What failed is told by a job's log and its outputs: both are named in compile/job.py alone."""
    rules = re.findall(r"    output: (.*)\n    log: (\S+)", reduced)
    ruled = {file: log for outputs, log in rules for file in outputs.split(", ")}
    config = read_config([ROOT / "config.yaml", ROOT / "tests/e2e/reduced.yaml"])
    jobs = compile_study(config, ROOT / "workflow").jobs.values()
    assert {job.stage for job in jobs} >= {"data", "tokenizer", "store", "train", "evaluate", "geometry"}
    for job in (job for job in jobs if job.stage != "page"):
        assert {ruled[file] for file in job.outputs} == {job.log}


def test_a_mistake_in_the_config_is_said_before_any_rule(checkout):
    done = snakemake(checkout, "-n", "--config", "scale=mikro")
    assert done.returncode != 0
    assert 'config.yaml: scale is "mikro"; did you mean "micro"?' in done.stdout + done.stderr
