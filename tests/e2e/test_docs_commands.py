"""Run the commands of README and documentation in a bare clone.

The output of each command equals the output shown below it.
"""

import doctest
import json
import re
import shlex
import shutil

import pytest
from places import ROOT
from read_once import papers_read_once

from replicse.cli import INTERNAL, VERBS, main, run

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once"]

COMMAND = re.compile(r"^    (.*\breplicse [a-z].*)$|`(replicse [a-z][^`]*)`", re.MULTILINE)
# Placeholders for the reader's names, such as NAME, FILE.yaml, mine/table5 or ./profile.
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(\.yaml|\.zip)?|<.*>|(mine|my-|\./).*")
# Verbs that need a network, a GPU, an encoder, the user's results or an empty folder. `validate` and `report`
# take seconds and have separate tests.
NOT_HERE = {"fetch", "benchmark", "keep", "compare", "train", "init", "validate", "report"}
# Commands that fail in a bare clone because of missing files, and their exit codes.
LACKING = {"doctor": 1, "run --study reference": 2}


def commands():
    """Return the commands of README and documentation, without duplicates.

    Returns:
        List of tuples of words, without environment variables and `replicse`.
    """
    found = []
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block, inline in COMMAND.findall(file.read_text(encoding="utf-8")):
            words = shlex.split(block or inline, comments=True)
            if "replicse" in words:
                found.append(tuple(words[words.index("replicse") + 1 :]))
    return list(dict.fromkeys(found))


def runs_here(words):
    """Return whether a command only needs the checkout.

    `run` can be tested, because the tests replace Snakemake.
    """
    return words[0] not in NOT_HERE and not any(map(PLACEHOLDER.fullmatch, words))


def lacking(words):
    """Return the exit code of a command that a bare clone cannot run.

    Returns None if the clone has all files that the command needs.
    """
    if "gpu-box" in words:  # a profile that is refused if there is no GPU
        return 2
    return LACKING.get(words[0], LACKING.get(" ".join(words)))


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Copy the parts of a clone needed by verbs."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("config", "workflow", "reports/studies", "figures/studies"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "config.yaml", folder)
    return folder


@pytest.mark.parametrize("words", list(filter(runs_here, commands())), ids=" ".join)
def test_every_printed_command_runs_in_a_bare_clone(clone, monkeypatch, words):
    """Every documented command should run in a bare clone.

    `replicse why CELL --scale compact` once failed with "reproduced nothing yet".
    """
    monkeypatch.chdir(clone)
    monkeypatch.delenv("REPLICSE_WORKFLOW", raising=False)
    monkeypatch.setattr(run, "exit_code", lambda *_: 0)
    assert main(words) in (0, lacking(words))


def test_the_commands_are_found_and_few_are_left_out():
    found = commands()
    assert {words[0] for words in found} <= {*VERBS, *INTERNAL, "help", "--help"}
    assert ("why", "simcse/table5/unsup-simcse-bert-base/avg", "--study", "record") in found
    assert sum(map(runs_here, found)) >= 30


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_the_numbers_shown_below_a_command_are_its_output(clone, monkeypatch, capsys, name):
    """The numbers below a documented command should be in the output.

    The rows in the documentation once ended in a symbol that the output no longer had.
    """
    monkeypatch.chdir(clone)
    monkeypatch.setenv("COLUMNS", "80")
    output, checked = [], 0
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("    replicse ") and runs_here(words := shlex.split(line, comments=True)[1:]):
            assert main(words) in (0, lacking(words)) if words[0] != "run" else True
            output = capsys.readouterr().out.splitlines()
        if re.match(r"    (.* → |[+−?] |  paper's numbers: |\d+ (runs|reruns)\b)", line):
            assert line[4:] in output
            checked += 1
    assert checked >= 4


def test_the_python_of_the_readme_prints_what_is_shown(clone, monkeypatch):
    """The README's Python code should print the output shown there.

    Only the code before the evaluation is run, because an evaluation needs an encoder and SentEval.
    """
    monkeypatch.chdir(clone)
    examples = doctest.DocTestParser().get_examples((ROOT / "README.md").read_text(encoding="utf-8"))
    here = [each for each in examples if not re.search("scores|task =", each.source)]
    assert len(here) == 4
    assert doctest.DocTestRunner().run(doctest.DocTest(here, {}, "README.md", None, None, None)).failed == 0


def test_the_page_on_the_paper_scale_prints_what_plan_gives(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "paper-scale.md").read_text(encoding="utf-8")
    lines, encoding = {}, []
    for seeds in ("1", "5"):
        assert main(["plan", "--json", "--scale", "paper", "--seeds", seeds]) == 0
        told = json.loads(capsys.readouterr().out)
        (table3,) = (item for item in told["items"] if item["item"] == "simcse/table3")
        encoding.append(f"{told['evaluation']['hours']:.0f}")
        released = {"runs": 0, **told["released"]}
        parts = {"released": released, "table3": table3, "no searches": told["not_searched"], "all": told}
        for name, part in parts.items():
            hours = part["hours"]
            lines[name] = lines.get(name, "") + f" {part['runs']:,} | {hours:,.{int(hours < 10)}f} |"
    assert [line for line in lines.values() if f"|{line}\n" not in page] == []
    page = " ".join(page.split())
    encoded = f"{told['released']['encoders']} encoders as their authors released them"
    size = f"{told['download_bytes'] / 1e9:.0f} GB and take {told['disk_bytes'] / 1e9:.0f} GB on disk"
    assert encoded in page and size in page and f"| {' | 0 | '.join(encoding)} |" in page
