"""Write codemeta.json and .zenodo.json from CITATION.cff.

Run it as `python workflow/citation.py`.
"""

import json
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


def names(authors: list[dict[str, str]]) -> list[str]:
    """Return the names of authors, family names first."""
    return [author.get("name") or f"{author['family-names']}, {author['given-names']}" for author in authors]


def codemeta(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the record of CodeMeta 3.0."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": facts["title"].partition(":")[0],
        "description": facts["abstract"],
        "license": f"https://spdx.org/licenses/{facts['license']}",
        "programmingLanguage": "Python",
        "author": [{"@type": "Organization", "name": name} for name in names(facts["authors"])],
    }


def zenodo(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a release for Zenodo."""
    return {
        "title": facts["title"],
        "description": facts["abstract"],
        "upload_type": facts["type"],
        "license": facts["license"],
        "creators": [{"name": name} for name in names(facts["authors"])],
    }


def records(root: Path = ROOT) -> dict[str, str]:
    """Return the content of each file by its name."""
    facts = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    made = {"codemeta.json": codemeta(facts), ".zenodo.json": zenodo(facts)}
    return {name: json.dumps(record, indent=2, ensure_ascii=False) + "\n" for name, record in made.items()}


if __name__ == "__main__":
    for name, text in records().items():
        (ROOT / name).write_text(text, encoding="utf-8")
