"""Requirements: a single pin each, declared imports, and environment.yml."""

import ast
import re
import runpy
import sys
import tomllib

import pytest
import yaml
from places import CHECKOUT, ROOT

from replicse.provenance.record import PACKAGES

FILES = {name: ROOT / "requirements" / f"{name}.txt" for name in ("run", "mteb", "bench", "dev")}
# Dict from an import name to the distribution, if they differ.
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "markdown_it": "markdown-it-py",
    "markupsafe": "jinja2",
    "pydantic_core": "pydantic",
    "yaml": "pyyaml",
}
# Libraries for documents and for the output of a run. Scores do not depend on them.
PRESENTATION = {
    "jinja2", "markdown-it-py", "matplotlib", "psutil", "pylatexenc", "rich",
    "rocrate", "snakemake-interface-logger-plugins",
}  # fmt: skip
# A program with a separate command, and a library for hub datasets.
NOT_IMPORTED = {"snakemake", "datasets"}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name):
    lines = FILES[name].read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r "))]


def declared(extra=None):
    """Return the set of required packages, by default those without an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {normal(re.match(r"[\w.-]+", text)[0]) for text in listed}


def imported():
    """Return the set of distributions imported by the package.

    The standard library and the package itself are not included.
    """
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.partition(".")[0])
    names = found - set(sys.stdlib_module_names) - {"replicse"}
    return {normal(DISTRIBUTIONS.get(name, name)) for name in names}


def test_every_pin_is_exact_and_stands_once():
    names = []
    for name in FILES:
        for line in pins(name):
            assert re.fullmatch(r"[\w.-]+==[\w.+]+", line)
            names.append(normal(line.partition("==")[0]))
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "below"), [("mteb", "run"), ("bench", "mteb"), ("dev", "bench")])
def test_a_larger_environment_is_the_smaller_one_and_more(name, below):
    assert f"-r {below}.txt" in FILES[name].read_text().splitlines()


def test_what_is_declared_is_pinned_for_a_study():
    for extra, file in ((None, "run"), ("mteb", "mteb")):
        assert declared(extra) <= {normal(line.partition("==")[0]) for line in pins(file)}


def test_what_the_package_imports_is_declared_and_nothing_else():
    assert imported() <= declared() | declared("mteb") | declared("peft")
    assert declared() - imported() <= NOT_IMPORTED | PRESENTATION


def test_provenance_names_every_package_that_can_change_a_number():
    assert set(map(normal, PACKAGES)) >= (declared() | declared("mteb") | declared("peft")) - PRESENTATION


def test_the_conda_environment_is_made_of_the_pins():
    made = runpy.run_path(str(ROOT / "workflow" / "environment.py"))["environment"](ROOT / "requirements")
    assert (ROOT / "environment.yml").read_text() == made, "run make environment"
    assert "      - torch==2.13.0\n" in made and "pytest" not in made


def test_the_hooks_of_a_commit_are_commands_of_make_lint():
    (repository,) = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text())["repos"]
    recipe = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")
    assert repository["repo"] == "local" and len(repository["hooks"]) == 3
    assert [hook["id"] for hook in repository["hooks"] if f"\t{hook['entry']} " not in recipe] == []


def private_names(text):
    """Yield the private attributes of torch and Snakemake in a module.

    This includes names that are only imported.
    """
    tree, owners = ast.parse(text), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None)
            for alias in node.names:
                full = f"{module}.{alias.name}" if module else alias.name
                if full.partition(".")[0] in ("torch", "snakemake"):
                    owners.add((alias.asname or alias.name).partition(".")[0])
                    if re.search(r"\._[A-Za-z]", full):
                        yield full
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[a-zA-Z]", node.attr):
            name = ast.unparse(node)
            if name.partition(".")[0] in owners:
                yield name


def test_nothing_private_of_torch_or_snakemake_is_used():
    """The package should not use private attributes of torch or Snakemake.

    Other versions might lack them, and users may need another build of torch.
    """
    for home in ("src", "workflow", "benchmarks"):
        for path in (ROOT / home).rglob("*.py"):
            assert list(private_names(path.read_text())) == [], path
    rules = "".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    assert not re.findall(r"\b(?:workflow|snakemake|rules|dag)(?:\.\w+)*\._[a-z]\w*", rules)
