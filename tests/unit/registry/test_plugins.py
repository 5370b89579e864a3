"""Plug-ins of workspaces and packages, which work like built-in entries."""

import json
import sys
from pathlib import Path

import pytest
from cases import cases
from micro import job

from replicse.errors import BadInput, MissingData
from replicse.objective.terms import make_term
from replicse.provenance.record import provenance
from replicse.provenance.source import SourceCode
from replicse.registry.augmentations import augmentation_of
from replicse.registry.encoders import Architecture
from replicse.registry.plugins import (
    family_code,
    installed_plugins,
    plugin_places,
    plugins_of,
    suite_code,
    unit_of,
    use_plugins,
)
from replicse.registry.registry import current
from replicse.registry.run_specs import RunSpec
from replicse.registry.runs import Run
from replicse.registry.suites import is_metric
from replicse.registry.terms import TermParameters

TERM = """
from typing import Literal
from replicse.checked import Positive
from replicse.registry.terms import TermParameters

class NearParameters(TermParameters):
    term: Literal["near"]
    margin: Positive = 0.5

def near(step, parameters):
    return step.vectors[0].sum() * parameters.margin
"""
SUITE = """
from replicse.registry.suites import COUNT, Suite

SUITES = {"letters": Suite(__name__, "letters", {"n": COUNT})}

def evaluate(root, vectors):
    return {"n": 26}
"""
FAMILY = """
FAMILIES = {"windowed": f"{__name__}:register"}

def register():
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, BertConfig, BertForMaskedLM, BertModel

    class Windowed(BertConfig):
        model_type = "windowed"

    AutoConfig.register("windowed", Windowed, exist_ok=True)
    for auto, model in ((AutoModel, BertModel), (AutoModelForMaskedLM, BertForMaskedLM)):
        auto.register(Windowed, type(model.__name__, (model,), {"config_class": Windowed}), exist_ok=True)
"""
PLUGINS = {"TERM": TERM, "SUITE": SUITE, "FAMILY": FAMILY}
SIZES = {"layers": 2, "hidden": 16, "heads": 2, "intermediate": 32, "positions": 64}


PAIRS = """
from pathlib import Path
from replicse.registry.suite_options import SuiteOptions
from replicse.registry.suites import COUNT, Suite

class PairsOptions(SuiteOptions):
    results: str = ""

SUITES = {"lengths": Suite(__name__, "lengths", {"n": COUNT}, options=PairsOptions)}

def evaluate(root, vectors, results=""):
    if results:
        Path(results).mkdir(parents=True, exist_ok=True)
        (Path(results) / "lengths.csv").write_text("3")
    return {"n": 1}
"""


@pytest.fixture(autouse=True)
def _nothing_in_use_after():
    yield
    use_plugins([])


def written(name, text):
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return name


def test_a_term_of_a_plugin_is_read_as_one_that_is_built_in():
    use_plugins([written("nearness.py", TERM)])
    run = job(Path(), objective=[{"term": "near", "margin": 0.25}]).spec
    (term,) = run.objective
    assert (type(term).__name__, term.margin, term.implementation) == (
        "NearParameters",
        0.25,
        "nearness:near",
    )
    assert run.run_id.startswith("near-s7-") and Run.of(json.loads(json.dumps(run.plain())), "again") == run
    for mistake, told in (
        ({"term": "near", "margin": -1}, "objective[0] (near).margin is -1; expected a number above 0"),
        ({"term": "near", "marge": 1}, 'unknown key "marge" in objective[0] (near); did you mean "margin"?'),
        ({"term": "neer"}, 'objective[0] (neer).term is "neer"; did you mean "near"?'),
    ):
        with pytest.raises(BadInput) as error:
            RunSpec.of({"objective": [mistake]}, "recipes.yaml")
        assert str(error.value) == f"recipes.yaml: {told}"
    schema = json.dumps(Run.model_json_schema())
    assert '"near"' in schema and '"margin"' in schema
    use_plugins([])
    assert "near" not in TermParameters.known() and "nearness" not in sys.modules
    assert '"near"' not in json.dumps(Run.model_json_schema())
    with pytest.raises(BadInput, match=r'term is "near"'):
        RunSpec.of({"objective": [{"term": "near"}]}, "recipes.yaml")


def test_torch_stays_out_of_a_plan():
    import subprocess

    written("nearness.py", TERM)
    code = "import sys; from replicse.registry.plugins import use_plugins; use_plugins(['nearness.py'])"
    asked = f"{code}; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stdout == "False\n"


def test_a_name_that_no_plugin_in_use_brings_is_refused_with_where_plugins_are_listed():
    with pytest.raises(
        BadInput, match=r'"windowing"; known: .*; names of a plug-in are known if plugins in config\.yaml'
    ):
        augmentation_of({"name": "windowing"})


def test_augmentations_and_suites():
    text = """
from typing import Literal
from replicse.registry.augmentations import AugmentationParameters

class Reverse(AugmentationParameters):
    name: Literal["reverse"]

def reverse(lines, *, seed):
    return [line[::-1] for line in lines]
"""
    from replicse.augment import augment
    from replicse.evaluation.suites import run_suites
    from replicse.judge.values.evaluation_files import check_evaluation

    use_plugins([written("mine.py", text + SUITE)])
    assert augment(["ab", "cd"], {"name": "reverse"}) == ["ba", "dc"]
    assert is_metric("letters/n") and suite_code("letters") == "mine"
    assert suite_code("sts") == "replicse.evaluation.sts"

    class Vectors:
        def prepare(self, sentences):
            pass

    assert run_suites(Path(), Vectors(), ["letters"])["suites"] == {"letters": {"n": 26}}
    for wrong, asked in (({"letters": {"n": 0.5}}, ()), ({"letters": {}}, ("letters/n",))):
        with pytest.raises(BadInput, match=r"letters/n.*; fix suite letters in .*mine\.py$"):
            check_evaluation({"suites": wrong}, "a.json", {}, asked, partly=False)
    use_plugins([])
    assert "letters" not in current().suites and not is_metric("letters/n")
    with pytest.raises(BadInput, match="reverse"):
        augmentation_of({"name": "reverse"})


def test_a_family_of_a_plugin_is_made_saved_and_opened_again(tmp_path):
    import torch
    from micro import sentences

    from replicse.data.tokenizer import train_tokenizer
    from replicse.encoder.fresh import fresh_backbone
    from replicse.encoder.opening import open_backbone

    architecture = {"family": "windowed", **SIZES}
    with pytest.raises(BadInput, match='neither transformers nor a plug-in has a family "windowed"'):
        Architecture.of(architecture, "here")
    use_plugins([written("mine.py", FAMILY)])
    with pytest.raises(BadInput, match='has a family "window"; did you mean "windowed"'):
        Architecture.of({**architecture, "family": "window"}, "here")
    assert (family_code("windowed"), family_code("bert")) == ("mine", "")
    tokenizer = tmp_path / "tokenizer.json"
    train_tokenizer("wordpiece", sentences(50), 300, True).save(str(tokenizer))
    made = fresh_backbone(Architecture.of(architecture, "here"), tokenizer)
    made.save(tmp_path / "made")
    opened = open_backbone(tmp_path / "made")
    assert opened.model.config.model_type == "windowed" and opened.predicts_tokens and not opened.causal
    for name, weight in made.state_dict().items():
        assert torch.equal(opened.state_dict()[name], weight)
    use_plugins([])
    assert "windowed" not in current().families


@cases
def test_a_mistake_in_a_plugin_is_told_in_a_sentence_and_leaves_nothing(of, old, new, told):
    text = PLUGINS[of].replace(old, new) if of else new
    before = current()
    with pytest.raises(BadInput) as error:
        use_plugins([written("mine.py", text)])
    assert told in str(error.value) and "\n" not in str(error.value)
    assert current() is before and "mine" not in sys.modules


@cases
def test_a_place_that_is_no_plugin(name, told):
    for file in ("json.py", "replicse.py", "my-terms.py", "notes.txt", "empty/notes.txt"):
        written(file, TERM)
    modules, before = set(sys.modules), current()
    with pytest.raises(BadInput) as error:
        use_plugins([name])
    assert told in str(error.value)
    assert modules <= set(sys.modules) and current() is before
    assert isinstance(error.value, MissingData) == ("gone" in name)


def test_a_digest_takes_all_of_a_plugin_but_no_comment():
    written("nearby/__init__.py", TERM)
    written("nearby/loss.py", "import replicse.objective.infonce\n\nSIZE = 3\n")
    written("nearby/words.txt", "one\n")

    def digest():
        use_plugins(["nearby"])
        return SourceCode(plugins=plugin_places()).digest("nearby")

    first = digest()
    assert plugins_of(["nearby:NearParameters", "replicse.training.loop"]) == ["nearby"]
    written("nearby/loss.py", "# a comment\nimport replicse.objective.infonce\n\nSIZE = 3\n")
    assert digest() == first
    seen = {first}
    for name, text in (("loss.py", "SIZE = 3\n"), ("loss.py", "SIZE = 4\n"), ("words.txt", "two\n")):
        written(f"nearby/{name}", text)
        assert digest() not in seen
        seen.add(digest())


def test_a_digest_takes_the_modules_next_to_a_plugin_that_it_imports():
    written("mine.py", f"import helper\nfrom others.sizes import SIZE\n{TERM}")
    written("helper.py", "SIZE = 3\n")
    written("others/__init__.py", "")
    written("others/sizes.py", "SIZE = 3\n")
    written("unused.py", "SIZE = 3\n")

    def digest():
        return SourceCode(plugins=plugin_places()).digest("mine")

    sys.path.insert(0, str(Path.cwd()))
    try:
        use_plugins(["mine.py"])
        seen = {digest()}
        written("unused.py", "SIZE = 4\n")
        assert digest() in seen
        for name in ("helper.py", "others/sizes.py"):
            written(name, "SIZE = 4\n")
            assert digest() not in seen
            seen.add(digest())
    finally:
        sys.path.remove(str(Path.cwd()))
        use_plugins([])


def test_a_digest_has_no_modules_of_other_packages_in_the_same_folder(tmp_path):
    """Digest a package as in a wheel, where torch is in the same folder.

    A module of torch that imports its own module `memory` once added a plug-in of this name to all jobs.
    """
    package, plugin = tmp_path / "replicse", tmp_path / "plugins/memory.py"
    written(package / "__init__.py", "")
    written(package / "loss.py", "import torch\nfrom replicse import size\n")
    written(package / "size.py", "SIZE = 3\n")
    written(tmp_path / "torch/__init__.py", "from .memory import snapshot\n")
    written(plugin, "SIZE = 5\n")

    def digest(**plugins):
        return SourceCode(package, plugins=plugins).digest("replicse.loss")

    before = digest()
    assert digest(memory=plugin) == before
    written(tmp_path / "torch/__init__.py", "from .memory import snapshot, history\n")
    assert digest() == before
    written(package / "size.py", "SIZE = 4\n")
    assert digest() != before


def test_a_relative_import_of_a_plugin_is_a_module_of_its_package(tmp_path):
    home = tmp_path / "nearby"
    written(home / "__init__.py", "")
    written(home / "loss.py", "from .parts.sizes import SIZE\n")
    written(home / "parts/__init__.py", "")
    written(home / "parts/sizes.py", "from ..constants import SIZE\n")
    written(home / "constants.py", "SIZE = 3\n")

    def digest():
        return SourceCode(plugins={"nearby": home}).digest("nearby.loss")

    before = digest()
    written(home / "constants.py", "SIZE = 4\n")
    assert digest() != before


def test_unchanged_plugins_stay_in_use_as_they_are():
    use_plugins([written("nearness.py", TERM)])
    before = current()
    use_plugins(["nearness.py"])
    assert current() is before


def test_a_paper_of_the_workspace_brings_its_method_and_nobody_names_it():
    term = TERM.replace(
        "    term:", '    implementation: ClassVar[str] = "papers.mine.losses:Near"\n    term:'
    )
    written("papers/mine/method.py", term.replace("import Literal", "import ClassVar, Literal"))
    loss = "class Near(Term[NearParameters]):\n    def forward(self, step):\n        return 3.0\n"
    imports = "from replicse.objective import Term\n\nfrom .method import NearParameters\n\n"
    written("papers/mine/losses.py", imports + loss)
    use_plugins([])
    try:
        entry = TermParameters.known()["near"]
        assert make_term(entry(term="near"))(None) == 3.0
        assert plugins_of([f"{entry.__module__}:NearParameters"]) == []
        assert [record["name"] for record in provenance()["plugins"]] == ["papers/mine"]
        unit = unit_of("papers.mine.method:NearParameters")
        assert unit == "papers.mine"
        before = SourceCode(plugins=plugin_places()).digest(unit)
        written("papers/mine/tables/table1.yaml", "data, and no code")
        assert SourceCode(plugins=plugin_places()).digest(unit) == before
        written("papers/mine/losses.py", imports + loss.replace("3.0", "4.0"))
        assert SourceCode(plugins=plugin_places()).digest(unit) != before
        use_plugins([])  # a changed file next to method.py should be imported again, too
        assert make_term(TermParameters.known()["near"](term="near"))(None) == 4.0
        written("papers/mine/method.py", "x = 1 / 0\n")
        with pytest.raises(BadInput, match=r"method.py:1: ZeroDivisionError: division by zero; fix it$"):
            use_plugins([])
    finally:
        Path("papers/mine/method.py").unlink()
    use_plugins([])
    assert "near" not in TermParameters.known()
    for name in sys.modules:
        assert not name.startswith("papers.mine")


def test_a_package_brings_what_its_entry_point_names(tmp_path, monkeypatch):
    home = tmp_path / "library"
    written(home / "nearlib/__init__.py", "")
    written(home / "nearlib/terms.py", TERM)
    written(home / "nearlib-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: nearlib\nVersion: 1.2\n")
    written(home / "nearlib-1.2.dist-info/entry_points.txt", "[replicse.plugins]\nnear = nearlib.terms\n")
    monkeypatch.syspath_prepend(home)
    assert installed_plugins() == ["replicse.plugins:near"]
    use_plugins(installed_plugins())
    assert TermParameters.known()["near"].implementation == "nearlib.terms:near"
    assert plugin_places()["nearlib"] == home / "nearlib"
    (record,) = provenance()["plugins"]
    assert (record["name"], record["version"]) == ("replicse.plugins:near", "1.2")
    use_plugins([])
    assert (
        "near" not in TermParameters.known() and "nearlib" in sys.modules
    )  # an installed package stays imported


def test_a_suite_may_write_a_file_per_example_in_the_folder_of_a_job(tmp_path, monkeypatch):
    from replicse.encoder.vectors import CallableVectors
    from replicse.evaluation.suites import run_suites

    monkeypatch.chdir(tmp_path)
    use_plugins([written("plugins/lengths.py", PAIRS)])
    given = {"results": "out/lengths", "folder": "models/mine", "model": "mine"}
    for context in ({}, given):
        found = run_suites(tmp_path, CallableVectors(len), ["lengths"], context=context)
        assert found["suites"] == {"lengths": {"n": 1}}
        assert Path("out/lengths/lengths.csv").is_file() == bool(context)
