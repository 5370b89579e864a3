"""CITATION.cff is the one source of what archives read."""

import runpy

from places import CHECKOUT, ROOT


def test_the_files_of_archives_say_what_the_citation_says():
    for name, text in runpy.run_path(str(ROOT / "workflow/citation.py"))["records"]().items():
        assert (CHECKOUT / name).read_text(encoding="utf-8") == text
