"""The texts of the report's pages: paragraphs of the template `pages.md.j2`."""

from functools import cache
from typing import Any

from replicse.show.formats import templates


def paragraphs(page: str, *facts: object) -> tuple[str, ...]:
    """Return what a page says of itself, a paragraph each; `facts` are what its text depends on."""
    text = str(getattr(_texts(), page)(*facts))
    return tuple(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


@cache
def _texts() -> Any:
    return templates().get_template("pages.md.j2").module
