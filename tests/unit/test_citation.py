"""The metadata of archives come from CITATION.cff.

README and package should have the same metadata.
"""

import runpy
import tomllib

from places import CHECKOUT, ROOT


def test_the_files_of_archives_say_what_the_citation_says():
    for name, text in runpy.run_path(str(ROOT / "workflow/citation.py"))["records"]().items():
        assert (CHECKOUT / name).read_text(encoding="utf-8") == text


def test_one_description_is_everywhere():
    said = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["description"]
    texts = {name: (CHECKOUT / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "mkdocs.yml")}
    assert [name for name, text in texts.items() if f": {said}\n" not in text] == []
    for name in ("README.md", "docs/index.md"):
        assert "SimCSE and nine related papers" in (CHECKOUT / name).read_text(encoding="utf-8").replace(
            "\n", " "
        )
