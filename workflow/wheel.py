"""What a wheel contains besides the package: the workflow, the documentation, and the numbers of committed studies."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BESIDE = ("Snakefile", "environment.yml", "workflow", "reports/studies")
DOCS = "docs/*.md"  # what `replicse help` prints
PAGES = (".html", ".pdf", ".tex", ".md")


class Beside(BuildHookInterface):
    """Puts what stands beside the package in a checkout inside of it: `replicse.workspace.packaged` finds both."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name each file and its place; an editable installation stays in its checkout and has all of it."""
        if version == "editable":
            return
        root = Path(self.root)
        for place in map(root.joinpath, BESIDE):
            for file in [place] if place.is_file() else sorted(filter(Path.is_file, place.rglob("*"))):
                if file.suffix != ".pyc" and (place.name != "studies" or file.suffix not in PAGES):
                    build_data["force_include"][str(file)] = f"replicse/{file.relative_to(root).as_posix()}"
        for file in sorted(root.glob(DOCS)):
            build_data["force_include"][str(file)] = f"replicse/{file.relative_to(root).as_posix()}"
