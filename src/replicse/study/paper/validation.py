"""Check a YAML document against its JSON Schema and say what is wrong in one sentence."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from replicse.errors import BadInput, MissingData, nearest

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return the document of a YAML file; BadInput names the line of a syntax error."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)
    except FileNotFoundError:
        raise MissingData(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise BadInput(f"{path}{line}: {getattr(error, 'problem', error)}; mend the YAML syntax") from None


@cache
def _validator(schema: Path) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))


def check(document: Any, schema: Path, file: Path | str) -> None:
    """Raise BadInput with file, key, value, expectation and nearest known name if the document does not fit."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(schema).iter_errors(document))
    if error is not None:
        raise BadInput(f"{file}: {_sentence(error)}")


def _sentence(error: Any) -> str:
    place = _place(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = error.schema.get("properties", {})
        unknown = next(key for key in error.instance if key not in known)
        inside = f" in {place}" if place else ""
        return f'unknown key "{unknown}"{inside}{nearest(unknown, known)}'
    if error.validator == "enum":
        return f"{place} is {json.dumps(error.instance)}{nearest(error.instance, map(str, error.validator_value))}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f'{place or "the document"} lacks the key "{missing}"'
    expected = error.schema.get("description") or error.message
    return f"{place or 'the document'} is {json.dumps(error.instance)[:80]}; expected {expected}"


def _place(path: Any) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
