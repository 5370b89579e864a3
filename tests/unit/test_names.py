"""The code should not depend on the name of a paper or a scale.

Special cases should be in the files of the paper or the scale.
"""

import ast
import re

from places import ROOT

PAPERS = {file.parent.name for file in ROOT.glob("workflow/papers/*/paper.yaml")}
SCALES = {file.stem for file in ROOT.glob("workflow/scales/*.yaml")}
# Keys that are also English nouns, for example in column names. They are still found as part of an id.
NOUNS = {"causes", "paper", "reference", "short"}
ID = re.compile(rf"(?<![\w./-])({'|'.join(sorted(PAPERS))})/[\w-]+|--scale ({'|'.join(sorted(SCALES))})\b")


def texts(tree):
    """Yield every string in a module, except documentation.

    Documentation is a docstring, or an example in the help of a verb.
    """
    documentation = set()
    for node in ast.walk(tree):
        example = isinstance(node, ast.Assign | ast.AugAssign) and ast.unparse(node).startswith(
            ("parser.epilog", "EXAMPLES")
        )
        if example or (isinstance(node, ast.Call) and ast.unparse(node.func) == "add_study_arguments"):
            documentation |= set(ast.walk(node))
        elif isinstance(node, ast.Expr):
            documentation.add(node.value)
    for node in set(ast.walk(tree)) - documentation:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def named(source):
    """Return the strings of a module that name a paper or a scale.

    This includes strings that contain the id of an item.
    """
    names = (PAPERS | SCALES) - NOUNS
    return {text for text in texts(ast.parse(source)) if text in names or ID.search(text)}


def test_no_name_of_a_paper_or_a_scale_is_in_the_package():
    files = sorted((ROOT / "src").rglob("*.py"))
    found = {str(file): named(file.read_text(encoding="utf-8")) for file in files}
    assert {file: texts for file, texts in found.items() if texts} == {}


def test_a_name_is_found_in_code_and_not_in_documentation():
    assert named('"""As simcse/table3."""\nif scale == "micro":\n    run(f"{x} simcse/table3 --scale paper")') == {
        "micro", " simcse/table3 --scale paper",
    }  # fmt: skip
    assert named('parser.epilog = "replicse show simcse/table3"\npaper = row["paper"]') == set()
