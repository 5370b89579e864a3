"""The image and the conda environment should install the same pins."""

import re
import shutil

import pytest
import yaml
from places import CHECKOUT, ROOT
from snakemake_runs import ran

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_installs_the_pins_of_the_conda_environment():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (python,) = [each for each in environment["dependencies"] if str(each).startswith("python=")]
    assert re.search(r"^FROM python:(\d+\.\d+)\.", DOCKERFILE, re.MULTILINE)[1] == python.partition("=")[2]
    assert "--requirement requirements/mteb.txt" in DOCKERFILE
    assert "environment.yml" in DOCKERFILE, "the rules name it"


def test_what_the_image_copies_is_there():
    copies = re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = {name for names in copies for name in names.split()}
    assert {"src", "workflow", "reports/studies", "Snakefile"} <= names
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []


def test_hadolint_finds_nothing():
    if not shutil.which("hadolint"):
        pytest.skip("hadolint is not installed (requirements/dev.txt)")
    done = ran("hadolint", "-", input=DOCKERFILE)
    assert done.returncode == 0, done.stdout


def test_the_catalogue_finds_what_it_reads():
    usage = yaml.safe_load((CHECKOUT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    for name in ("config/README.md", "Snakefile", "environment.yml"):
        assert (ROOT / name).is_file()
