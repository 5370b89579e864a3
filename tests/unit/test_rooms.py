"""Checks of `make lint` on folders, files, names and variables.

Also tests environment variables, and the sizes that are printed.
"""

import runpy

from places import CHECKOUT

CHECK = runpy.run_path(str(CHECKOUT / "docs" / "check_rooms.py"))
PAGE = """`plan` and `task` never import torch.

| room | what | imports |
| --- | --- | --- |
| `plan` | plans | |
| `task` | does it | `plan.one` |
| `gone` | nothing | every room |
"""


def test_what_a_room_may_not_do_is_found_and_its_size_is_printed_without_a_limit(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text(PAGE)
    for room in ("plan", "task", "new"):
        (tmp_path / "src" / "replicse" / room).mkdir(parents=True)
        (tmp_path / "src" / "replicse" / room / "__init__.py").write_text('"""A room."""\n')
    (tmp_path / "src/replicse/plan/one.py").write_text(
        '"""Twice."""\nfrom torch import nn\nimport replicse.task.one\n# Code:\nclass Two: pass\na = 1\nb = (\n 2)\n'
    )
    (tmp_path / "src/replicse/task/one.py").write_text(
        "from replicse.plan.one import a; import replicse.plan\nclass Two: pass\n" + "\n" * 399
    )
    assert sorted(CHECK["of_rooms"](tmp_path)) == [
        "docs/architecture.md: room gone is in the table or in src/replicse, not in both",
        "docs/architecture.md: room new is in the table or in src/replicse, not in both",
        "src/replicse/plan imports replicse.task.one; docs/architecture.md does not list it",
        "src/replicse/plan imports torch",
        "src/replicse/task imports replicse.plan; docs/architecture.md does not list it",
    ]
    assert sorted(CHECK["of_files"](tmp_path)) == [
        "class Two is in src/replicse/plan/one.py and src/replicse/task/one.py",
        "src/replicse/task/one.py has 401 lines, at most 400",
    ]
    assert list(CHECK["sizes"](tmp_path).items()) == [("plan", 4), ("task", 1), ("new", 0), ("at the top", 0)]


def test_an_entry_that_nothing_uses_is_a_warning_and_fails_nothing(monkeypatch):
    unused = CHECK["unused_entries"]
    monkeypatch.setitem(unused.__globals__, "USERS", ())
    warnings = list(unused(CHECKOUT))
    assert "term infonce is used by no paper, scale or test paper" in warnings
    assert not set(warnings) & set(CHECK["found"](CHECKOUT))
