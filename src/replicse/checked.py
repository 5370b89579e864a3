"""Checked data: the base of every model, YAML read safely, and a mistake reported in one sentence."""

import difflib
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from replicse import files
from replicse.errors import UNLISTED, BadInput, nearest
from replicse.printable import some

SCIENTIFIC, LIST = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"), "a list, as [a, b]"


def _number(value: object) -> object:
    """Return what may become a number: neither yes nor no, and of texts only 1e-5, which is text to YAML 1.1."""
    if type(value) in (int, float):
        return value
    if isinstance(value, bool) or (isinstance(value, str) and not SCIENTIFIC.fullmatch(value)):
        raise ValueError("a number")
    return float(value) if isinstance(value, str) else value


def _whole(value: object) -> object:
    try:
        return _number(value)
    except ValueError:
        raise ValueError("a whole number") from None


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_whole)]
Positive = Annotated[Number, Field(gt=0)]
Count = Annotated[Whole, Field(ge=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
Rate = Annotated[Number, Field(ge=0, lt=1)]
Text = Annotated[str, Field(min_length=1, strict=True)]
# Ids become folders, wildcards and parts of names that are split at slashes.
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.@_-]*$", max_length=80, strict=True)]


class UserMessage(ValueError):
    """A mistake as a complete sentence; of any other ValueError, the text is what was expected."""


class Checked(BaseModel):
    """Frozen data without unknown keys; `of` turns every mistake into BadInput."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, protected_namespaces=(), defer_build=True
    )

    @classmethod
    def of(cls, values: object, where: str) -> Self:
        """Return the model of plain data; BadInput names place, key, value, and what was expected."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise BadInput(f"{where}: {sentence(error.errors(include_url=False), values, cls)}") from None

    @classmethod
    def problem(cls, values: object, partly: bool = False) -> str:
        """Return the first mistake of plain data, blank where there is none; `partly` lets keys be left out."""
        try:
            cls.model_validate(values)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            if partly:
                # A key that is left out may stand elsewhere, and so may what the whole needs beside it.
                errors = [each for each in errors if _counts_in_part(each)]
            return sentence(errors, values, cls) if errors else ""
        return ""

    def plain(self) -> dict[str, Any]:
        """Return plain data (mappings, lists, text, numbers) without what equals its default."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)

    def entries(self) -> dict[str, Any]:
        """Return what was given by key, defaults that were written out included: a layer to lay over another."""
        return {key: getattr(self, key) for key in self.model_fields_set}

    def replace(self, **values: Any) -> Self:
        """Return a copy with other values, unchecked, and without what was computed of the original."""
        copied = self.model_copy(update=values)
        for key in copied.__dict__.keys() - type(self).__pydantic_fields__.keys():
            del copied.__dict__[key]
        return copied

    def without(self, *keys: str) -> Self:
        """Return data in which some keys are not given: itself where none is."""
        if self.model_fields_set.isdisjoint(keys):
            return self
        fields = type(self).__pydantic_fields__
        copied = self.replace(**{key: fields[key].get_default(call_default_factory=True) for key in keys})
        copied.model_fields_set.difference_update(keys)
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return itself, which never changes: a default is the same object in all."""
        return self

    def written(self) -> dict[str, Any]:
        """Return as plain data what was given, defaults that were written out included: a layer to lay over another."""
        return (
            self.model_dump(mode="json", exclude_unset=True, by_alias=True) if self.model_fields_set else {}
        )


Model = TypeVar("Model", bound=Checked)


def one_of(*keys: str) -> Any:
    """Return a check of a model: exactly one of some keys is given."""

    def check(model: Model) -> Model:
        if sum(getattr(model, key) is not None for key in keys) != 1:
            names = (type(model).model_fields[key].alias or key for key in keys)
            raise ValueError(f"exactly one of {', '.join(names)}")
        return model

    return model_validator(mode="after")(check)


def only_with(needed: str, *keys: str) -> Any:
    """Return a check of a model: some keys are given only next to another one."""

    def check(model: Model) -> Model:
        if getattr(model, needed) is None and any(getattr(model, key) for key in keys):
            raise ValueError(f"{' and '.join(keys)} only with {needed}")
        return model

    return model_validator(mode="after")(check)


# Mistakes as sentences


def sentence(errors: Sequence[ErrorDetails], values: object, model: type["Checked"]) -> str:
    """Return the first mistake of a validation: its place, its value, what was expected, the nearest known name."""
    error = min(errors, key=_rank)
    place, value = _place(error["loc"], values) or "the document", error["input"]
    match error["type"]:
        case "extra_forbidden":
            key, inside = str(error["loc"][-1]), _place(error["loc"][:-1], values)
            of = f" in {inside}" if inside else ""
            return f'unknown key "{key}"{of}{nearest(key, _known(model, error["loc"][:-1]))}'
        case "missing":
            return f'{_place(error["loc"][:-1], values) or "the document"} lacks the key "{error["loc"][-1]}"'
        case "literal_error" | "enum":
            return f"{place} is {excerpt(value)}{nearest(value, _quoted(error['ctx']['expected']))}"
        case "union_tag_invalid":
            key = error["ctx"]["discriminator"].strip("'\"")
            tag, tags = value[key], _quoted(error["ctx"]["expected_tags"])
            near = nearest(tag, tags)
            # Entries of the registry have other keys than the kinds of columns and heads, which no plug-in brings.
            more = UNLISTED if near.startswith("; known") and key != "kind" else ""
            return f"{place}.{key} is {excerpt(tag)}{near}{more}"
        case "union_tag_not_found":
            key = error["ctx"]["discriminator"].strip("'\"")
            if not isinstance(value, Mapping):
                return f"{place} is {excerpt(value)}; expected a mapping"
            close = difflib.get_close_matches(key, map(str, value), n=1)
            return f'{place} lacks the key "{key}"' + (f'; is it meant by "{close[0]}"?' if close else "")
        case "value_error":
            problem = error["ctx"]["error"]
            if isinstance(problem, UserMessage):
                return f"{place}: {problem}" if error["loc"] else str(problem)
            if isinstance(value, Mapping | list | tuple | BaseModel):
                return f"{place}: expected {problem}" if error["loc"] else f"expected {problem}"
            return f"{place} is {excerpt(value)}; expected {problem}"
    keys = some(_known(model, error["loc"])) if error["type"].startswith("model_") else ""
    return f"{place} is {excerpt(value)}; expected {_expected(error)}{keys and f' of {keys}'}"


def _quoted(text: str) -> list[str]:
    """Return the names that are in quotes in a message of the checking library."""
    return re.findall(r"'((?:[^'\\]|\\.)*)'", text)


def _counts_in_part(error: ErrorDetails) -> bool:
    """Return whether a mistake is one also if keys are left out."""
    is_inside = len(error["loc"]) > (error["type"] == "missing")
    return is_inside or isinstance(error.get("ctx", {}).get("error"), UserMessage)


def _rank(error: ErrorDetails) -> tuple[bool, int]:
    # Of several alternatives of a union, the one that went deepest is the one that was meant.
    return error["type"] != "extra_forbidden", -len(error["loc"])


def excerpt(value: object) -> str:
    """Return a value as an error prints it: short, on one line."""
    if isinstance(value, Mapping):
        return f"a mapping with the keys {', '.join(map(str, value))}"[:80] if value else "an empty mapping"
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _expected(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    words = {
        "dict_type": "a mapping", "model_type": "a mapping", "model_attributes_type": "a mapping",
        "mapping_type": "a mapping", "tuple_type": LIST, "list_type": LIST, "string_type": "text",
        "bool_type": "true or false", "bool_parsing": "true or false", "finite_number": "a finite number",
        "string_too_short": "text", "none_required": "nothing",
    }  # fmt: skip
    if kind in words:
        return words[kind]
    if kind.startswith(("int_", "float_")):
        return "a whole number" if kind.startswith("int_") else "a number"
    limits = {
        "greater_than": "a number above {gt}", "greater_than_equal": "a number at least {ge}",
        "less_than": "a number below {lt}", "less_than_equal": "a number at most {le}",
        "too_short": "at least {min_length} of them", "too_long": "at most {max_length} of them",
    }  # fmt: skip
    if kind in limits:
        return limits[kind].format_map(context)
    if kind == "string_pattern_mismatch":
        return "letters, digits, dot, dash or underscore, a letter or digit first"
    return str(error["msg"]).removeprefix("Input should be ").lower()


def _place(location: Sequence[str | int], values: object) -> str:
    """Return `rows[3] (p0.1).encoder.use`: keys joined, and the id of a list's entry after its number."""
    text, node = "", values
    for part in location:
        if isinstance(part, int):
            node = node[part] if isinstance(node, list | tuple) and part < len(node) else None
            name = node.get("id", node.get("term")) if isinstance(node, Mapping) else None
            text += f"[{part}]" + (f" ({name})" if isinstance(name, str) else "")
        elif isinstance(node, Mapping) and part in node:
            node = node[part]
            text += f".{part}" if text else part
        # Otherwise it names the alternative of a union, which is no key of the document.
    return text


def _known(model: type[Checked], location: Sequence[str | int]) -> list[str]:
    """Return the keys that are known at a place of a model, over all alternatives that a union has there."""
    kinds: list[Any] = [model]
    for part in location:
        kinds = [inner for kind in kinds for inner in _inside(kind, part)]
    return [
        entry.alias or name for kind in kinds if _is_model(kind) for name, entry in kind.model_fields.items()
    ]


def _inside(kind: Any, part: str | int) -> Iterator[Any]:
    """Yield the types that may be below a key, a place of a list, or the tag of a union."""
    for each in _alternatives(kind):
        arguments = typing.get_args(each)
        if _is_model(each):
            fields = {entry.alias or name: entry.annotation for name, entry in each.model_fields.items()}
            # The tag of a discriminated union stands in the place of an error, and leads to one alternative.
            yield from _alternatives(fields[part]) if part in fields else [each] * (part in _tags(each))
        elif arguments:
            yield from _alternatives(arguments[-1] if arguments[-1] is not ... else arguments[0])


def _alternatives(kind: Any) -> Iterator[Any]:
    if typing.get_origin(kind) is Annotated:
        yield from _alternatives(typing.get_args(kind)[0])
    elif typing.get_origin(kind) in (typing.Union, types.UnionType):
        for each in typing.get_args(kind):
            yield from _alternatives(each)
    elif isinstance(kind, type) and "key" in vars(kind) and hasattr(kind, "known"):
        yield from kind.known().values()
    else:
        yield kind


def _tags(model: type[Checked]) -> list[str]:
    fields = (entry.annotation for entry in model.model_fields.values())
    return [
        tag for kind in fields if typing.get_origin(kind) is typing.Literal for tag in typing.get_args(kind)
    ]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


# YAML


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):
    """The safe loader, but a key that is given twice is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return the mapping of a node; ConstructorError names a key that occurs twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f'key "{key.value}" is given twice; keep one', key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_text(path: Path) -> str:
    """Return the text of a file that a person wrote; MissingData or BadInput as `files.read_text` raises them."""
    text = files.read_text(path, "save the file as UTF-8")
    if "\r" in text.replace("\r\n", "\n"):
        raise BadInput(f"{path}: a line ends with CR alone; save it with LF line ends")
    return text


def read_yaml(path: Path) -> Any:
    """Return the document of a YAML file; BadInput names the line of a mistake, a key given twice included."""
    text = read_text(path)
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:  # an impossible date is a ValueError
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", error)).split())
        if mark and "cannot start any token" in problem and "\t" in text.split("\n")[mark.line]:
            problem = "a tab, but YAML is indented by spaces"
        raise BadInput(f"{path}{line}: {problem}; fix the YAML") from None


def checked_yaml(path: Path, model: type[Model]) -> Model:
    """Return the model of a YAML file; BadInput names the file and the first mistake in it."""
    return model.of(read_yaml(path), str(path))


def checked_entries(path: Path, model: type[Model]) -> list[Model]:
    """Return the models of a YAML file that holds a list of them, no id twice; none where there is no such file."""
    document = (read_yaml(path) if path.exists() else None) or []  # of a file of comments too
    if not isinstance(document, list):
        raise BadInput(f"{path}: the document is no list; give every entry a dash")
    ids = [entry.get("id") if isinstance(entry, Mapping) else None for entry in document]
    for name in filter(None, ids):
        if ids.count(name) > 1:
            raise BadInput(f'{path}: {model.__name__.lower()} "{name}" is given twice; keep one')
    names = (name if isinstance(name, str) else f"[{place}]" for place, name in enumerate(ids))
    return [model.of(entry, f"{path}: {name}") for entry, name in zip(document, names, strict=True)]
