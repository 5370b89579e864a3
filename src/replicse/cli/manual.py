"""Print pages of the documentation (`replicse help PAGE`)."""

import inspect
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from replicse.cli import GROUPS, verb_parser
from replicse.errors import check_known
from replicse.spec.claims import Claim
from replicse.spec.config import Config
from replicse.spec.datasets import Datasets
from replicse.spec.models import Recipe
from replicse.spec.papers import About, Corpora, Sets
from replicse.spec.protocols import Protocol
from replicse.spec.scales import Scale
from replicse.spec.tables import Item
from replicse.workspace import packaged

MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
# The first names of the API page.
FIRST = ("load", "evaluate", "train")
# Further classes for plug-ins.
GIVEN = (
    "objective.terms.Step",
    "objective.terms.Term",
    "objective.frozen.FrozenEncoder",
    "registry.frozen.FrozenModel",
    "encoder.backbone.Backbone",
    "encoder.backbone.Hidden",
    "encoder.batch.TokenBatch",
)


def find_pages() -> dict[str, Path]:
    """Return a dict from the name of each page to the Markdown file."""
    return {file.stem: file for file in sorted(packaged("docs").glob("*.md"))}


def read_page(name: str) -> str:
    """Load a page as Markdown and fill in the generated parts.

    Args:
        name: the name of a page, such as "formats".

    Raises:
        BadInput: if there is no such page; the message contains the nearest name.
    """
    pages = find_pages()
    check_known(name, pages, f'unknown page "{name}"')
    return MARK.sub(lambda mark: GENERATED[mark[1]](), pages[name].read_text(encoding="utf-8"))


def public_names() -> list[str]:
    """Return the names on the API page: public names, then plug-in types."""
    others = [name for name in resolve_name("replicse").__all__ if not name.startswith("_")]
    return list(dict.fromkeys([*FIRST, *others, *GIVEN]))


def interface() -> str:
    """Return the signatures and docstrings of the API page as Markdown.

    Public methods of classes are included.
    """
    parts = []
    for name in public_names():
        value = resolve_name(f"replicse.{name}")
        parts.append(f"## replicse.{name}\n\n{_described(name, value)}")
        members = vars(value).items() if isinstance(value, type) else ()
        for key, member in members:
            is_method = callable(member) or isinstance(member, property)
            if is_method and not key.startswith("_") and inspect.getdoc(member):
                parts.append(_described(key, member))
    return "\n\n".join(parts)


def _described(name: str, value: Any) -> str:
    """Format name, signature and docstring as a code block."""
    signature: object = ""
    with suppress(TypeError, ValueError):  # properties and some exception classes have no signature
        signature = inspect.signature(value)
    return indented(f"{name.rpartition('.')[2]}{signature}\n\n{inspect.getdoc(value) or ''}")


def commands() -> str:
    """Return the help of every verb as Markdown."""
    os.environ["COLUMNS"] = "80"
    parts = []
    for group, verbs in GROUPS.items():
        parts.append(f"## {group.capitalize()}")
        for verb in verbs:
            parts.append(f"### {verb}\n\n{indented(verb_parser(verb).format_help())}")
    return "\n\n".join(parts)


def indented(text: str) -> str:
    """Indent text as a Markdown code block."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def formats() -> str:
    """Describe the keys of every kind of file as Markdown.

    Shared parts come last.
    """
    kinds = file_schemas()
    shared: dict[str, dict[str, Any]] = {}
    parts = []
    for name, schema in kinds.items():
        shared.update(schema.get("$defs", {}))
        parts.append(f"## {name}\n\n{keys(schema)}")
    parts.append("## Parts of files")
    for name, schema in sorted(shared.items()):
        parts.append(f"### {name}\n\n{keys(schema)}")
    return "\n\n".join(parts)


def file_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of every kind of file."""
    kinds: dict[str, Any] = {
        "config": Config, "paper": About, "table": Item, "recipes": dict[str, Recipe], "protocols": list[Protocol],
        "claims": list[Claim], "corpora": Corpora, "sets": Sets, "scale": Scale, "datasets": Datasets,
    }  # fmt: skip
    return {
        name: TypeAdapter(kind).json_schema(schema_generator=DescribedKeys) for name, kind in kinds.items()
    }


class DescribedKeys(GenerateJsonSchema):
    """A JSON Schema generator with descriptions of keys.

    The descriptions are the `Attributes` in the docstring of the class.
    """

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a model with descriptions.

        Descriptions of base classes are included.
        """
        written = super().model_schema(schema)
        meanings: dict[str, str] = {}
        for kind in reversed(schema["cls"].__mro__):
            about, attributes = split_docstring(inspect.cleandoc(kind.__doc__ or ""))
            meanings |= attributes
        written["description"] = about
        for key, value in written.get("properties", {}).items():
            value["description"] = meanings.get(key, "")
        return written


def split_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split the docstring of a class at `Attributes:`.

    Args:
        text: the docstring without indentation.

    Returns:
        The text before `Attributes:`, and a dict from attribute to meaning.
    """
    about, _, listed = text.partition("\nAttributes:\n")
    attributes: dict[str, str] = {}
    for line in inspect.cleandoc(listed).splitlines():
        name, colon, meaning = line.partition(": ")
        if colon and name.replace("-", "_").isidentifier():
            attributes[name] = meaning
        elif attributes:
            last = next(reversed(attributes))
            attributes[last] = f"{attributes[last]} {line.strip()}".strip()
    return about.strip(), attributes


def keys(schema: Mapping[str, Any]) -> str:
    """Describe a file: a table of keys for an object, otherwise the type.

    Args:
        schema: a JSON Schema.
    """
    about = schema.get("description", "").replace("\n\n", "\n")
    if "properties" not in schema:
        return f"{about}\n\nA file is a {kind(schema)}."
    required = schema.get("required", ())
    lines = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    for key, value in schema["properties"].items():
        default = "required" if key in required else format_default(value.get("default"))
        meaning = value.get("description", "")
        lines.append(f"| `{key}` | {kind(value)} | {default} | {meaning} |".replace("\n", " "))
    return "\n".join([about, "", *lines])


def format_default(value: Any) -> str:
    """Format a default as in YAML; an empty string if the default is empty."""
    is_empty = not any(value.values()) if isinstance(value, dict) else value in (None, "", [])
    if is_empty:
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def kind(value: Mapping[str, Any]) -> str:
    """Describe the allowed values of a schema, with links to shared parts.

    Args:
        value: a JSON Schema.
    """
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(map(_constant, value["enum"]))
    several = value.get("anyOf") or value.get("oneOf")
    if several:
        return " or ".join(dict.fromkeys(map(kind, several)))
    return plural(value)


def _constant(value: str) -> str:
    return f"`{value}`" if value else "empty"


def plural(value: Mapping[str, Any]) -> str:
    """Describe a list, a dict, a string, a number or a boolean."""
    if value.get("type") == "array":
        members = value.get("items") or {"anyOf": value.get("prefixItems", [{}])}
        return f"list of {kind(members)}"
    if value.get("type") == "object":
        members = value.get("additionalProperties")
        return f"dict of {kind(members)}" if isinstance(members, dict) and members else "dict"
    words = {"boolean": "true or false"}
    bounds = [f"{sign} {value[name]}" for name, sign in BOUNDS.items() if name in value]
    return " ".join([words.get(value.get("type", ""), value.get("type", "any value")), *bounds])


BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
GENERATED = {"commands": commands, "interface": interface, "formats": formats}
