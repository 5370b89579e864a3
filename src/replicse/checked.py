"""Validated data: base class of models, YAML, and errors in one sentence."""

import difflib
import re
import reprlib
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
from replicse.yaml_text import check_nesting, find_line

# The built-in `repr` fails for lists that are nested too deeply.
EXCERPT = reprlib.Repr()
EXCERPT.maxlevel = EXCERPT.maxlist = EXCERPT.maxtuple = EXCERPT.maxdict = EXCERPT.maxset = 80
EXCERPT.maxstring = EXCERPT.maxlong = EXCERPT.maxother = 80
SCIENTIFIC, LIST = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"), "a list, as [a, b]"


def _number(value: object) -> object:
    """Convert a value to a number; YAML 1.1 parses 1e-5 as a string."""
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
# Ids are used as folders, wildcards and parts of names that are split at slashes.
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.@_-]*$", max_length=80, strict=True)]


class UserMessage(ValueError):
    """A mistake as a sentence; other ValueErrors have only the expected value."""


class Checked(BaseModel):
    """Frozen data without unknown keys; `of` converts mistakes to BadInput."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, protected_namespaces=(), defer_build=True
    )

    @classmethod
    def of(cls, values: object, where: str, file: Path | None = None, keys: Sequence[str | int] = ()) -> Self:
        """Validate JSON-like data.

        Args:
            values: The data.
            where: The location in messages, such as a file name.
            file: A YAML file in `where`; messages contain its line. Default: None.
            keys: The keys of the data in the file. Default: the document.

        Raises:
            BadInput: If the data is not valid. The message contains location, key, value and expected value.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            if file:
                line = find_line(read_text(file), (*keys, *min(errors, key=_rank)["loc"]))
                where = where.replace(str(file), f"{file}:{line}", 1)
            raise BadInput(f"{where}: {sentence(errors, values, cls)}") from None

    @classmethod
    def problem(cls, values: object, partly: bool = False) -> str:
        """Return the first mistake in JSON-like data, or an empty string.

        Args:
            values: The data.
            partly: Whether keys can be missing. Default: False.
        """
        try:
            cls.model_validate(values)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
            if partly:
                # A missing key can be in another layer, and so can keys that depend on it.
                errors = [error for error in errors if _counts_in_part(error)]
            return sentence(errors, values, cls) if errors else ""
        return ""

    def plain(self) -> dict[str, Any]:
        """Return JSON-like data (dicts, lists, strings, numbers) without defaults."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)

    def entries(self) -> dict[str, Any]:
        """Return the fields that were set, as a layer to merge over another layer."""
        return {key: getattr(self, key) for key in self.model_fields_set}

    def replace(self, **values: Any) -> Self:
        """Return a copy with other, unvalidated values, and no cached properties."""
        copied = self.model_copy(update=values)
        for key in copied.__dict__.keys() - type(self).__pydantic_fields__.keys():
            del copied.__dict__[key]
        return copied

    def without(self, *keys: str) -> Self:
        """Return a copy in which some keys are not set."""
        if self.model_fields_set.isdisjoint(keys):
            return self
        fields = type(self).__pydantic_fields__
        copied = self.replace(**{key: fields[key].get_default(call_default_factory=True) for key in keys})
        copied.model_fields_set.difference_update(keys)
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return itself, because it is immutable."""
        return self

    def written(self) -> dict[str, Any]:
        """Return the fields that were set as JSON-like data, like `entries`."""
        if not self.model_fields_set:
            return {}
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)


Model = TypeVar("Model", bound=Checked)


def one_of(*keys: str) -> Any:
    """Create a validator of a model: exactly one of some keys should be set."""

    def check(model: Model) -> Model:
        if sum(getattr(model, key) is not None for key in keys) != 1:
            names = (type(model).model_fields[key].alias or key for key in keys)
            raise ValueError(f"exactly one of {', '.join(names)}")
        return model

    return model_validator(mode="after")(check)


def only_with(needed: str, *keys: str) -> Any:
    """Create a validator of a model: some keys need another key."""

    def check(model: Model) -> Model:
        if getattr(model, needed) is None and any(getattr(model, key) for key in keys):
            raise ValueError(f"{' and '.join(keys)} only if {needed} is set")
        return model

    return model_validator(mode="after")(check)


def sentence(errors: Sequence[ErrorDetails], values: object, model: type["Checked"]) -> str:
    """Describe the first error: location, value, expected value, nearest name."""
    error = min(errors, key=_rank)
    place, value = _place(error["loc"], values) or "the document", error["input"]
    match error["type"]:
        case "extra_forbidden":
            key, parent = str(error["loc"][-1]), _place(error["loc"][:-1], values)
            location = f" in {parent}" if parent else ""
            return f'unknown key "{key}"{location}{nearest(key, _known(model, error["loc"][:-1]))}'
        case "missing":
            return f'{_place(error["loc"][:-1], values) or "the document"} lacks the key "{error["loc"][-1]}"'
        case "literal_error" | "enum":
            return f"{place} is {excerpt(value)}{nearest(value, _quoted(error['ctx']['expected']))}"
        case "union_tag_invalid":
            key = error["ctx"]["discriminator"].strip("'\"")
            tag, tags = value[key], _quoted(error["ctx"]["expected_tags"])
            near = nearest(tag, tags)
            # The key of a registry entry is never `kind`, which is for columns and heads that plug-ins cannot add.
            more = UNLISTED if near.startswith("; known") and key != "kind" else ""
            return f"{place}.{key} is {excerpt(tag)}{near}{more}"
        case "union_tag_not_found":
            key = error["ctx"]["discriminator"].strip("'\"")
            if not isinstance(value, Mapping):
                return f"{place} is {excerpt(value)}; expected a dict"
            close = difflib.get_close_matches(key, map(str, value), n=1)
            hint = f'; did you mean it by "{close[0]}"?' if close else ""
            return f'{place} lacks the key "{key}"{hint}'
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
    """Return the quoted names in a message of pydantic."""
    return re.findall(r"'((?:[^'\\]|\\.)*)'", text)


def _counts_in_part(error: ErrorDetails) -> bool:
    """Return whether an error remains if keys can be missing."""
    is_inside = len(error["loc"]) > (error["type"] == "missing")
    return is_inside or isinstance(error.get("ctx", {}).get("error"), UserMessage)


def _rank(error: ErrorDetails) -> tuple[bool, int]:
    # The alternative of a union that was validated deepest is probably the intended one.
    return error["type"] != "extra_forbidden", -len(error["loc"])


def excerpt(value: object) -> str:
    """Format a value for an error message: short, on one line."""
    if isinstance(value, Mapping):
        return f"a dict with the keys {', '.join(map(str, value))}"[:80] if value else "an empty dict"
    text = f'"{value}"' if isinstance(value, str) else EXCERPT.repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _expected(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    words = {
        "dict_type": "a dict", "model_type": "a dict", "model_attributes_type": "a dict",
        "mapping_type": "a dict", "tuple_type": LIST, "list_type": LIST, "string_type": "text",
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
    """Return a location such as `rows[3] (p0.1).encoder.use`."""
    text, node = "", values
    for part in location:
        if isinstance(part, int):
            node = node[part] if isinstance(node, list | tuple) and part < len(node) else None
            name = node.get("id", node.get("term")) if isinstance(node, Mapping) else None
            text += f"[{part}]"
            if isinstance(name, str):
                text += f" ({name})"
        elif isinstance(node, Mapping) and part in node:
            node = node[part]
            text += f".{part}" if text else part
        # Otherwise it is the name of a union's alternative, which is not a key of the document.
    return text


def _known(model: type[Checked], location: Sequence[str | int]) -> list[str]:
    """Return the known keys at a location of a model, for all alternatives."""
    kinds: list[Any] = [model]
    for part in location:
        inner: list[Any] = []
        for kind in kinds:
            inner += _inside(kind, part)
        kinds = inner
    keys: list[str] = []
    for kind in filter(_is_model, kinds):
        keys += [entry.alias or name for name, entry in kind.model_fields.items()]
    return keys


def _inside(kind: Any, part: str | int) -> Iterator[Any]:
    """Yield the possible types below a key, an index, or the tag of a union."""
    for each in _alternatives(kind):
        arguments = typing.get_args(each)
        if _is_model(each):
            fields = {entry.alias or name: entry.annotation for name, entry in each.model_fields.items()}
            if part in fields:
                yield from _alternatives(fields[part])
            elif part in _tags(each):
                # The location of an error contains the tag of a discriminated union.
                yield each
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
    tags: list[str] = []
    for entry in model.model_fields.values():
        if typing.get_origin(entry.annotation) is typing.Literal:
            tags += typing.get_args(entry.annotation)
    return tags


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):
    """The safe loader; a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return the dict of a node; ConstructorError if a key occurs twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f'key "{key.value}" is given twice; remove the duplicate', key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_text(path: Path) -> str:
    """Load the text of a file that a person wrote, as `files.read_text` does."""
    text = files.read_text(path, "save the file as UTF-8")
    if "\r" in text.replace("\r\n", "\n"):
        raise BadInput(f"{path}: a line ends with CR alone; save it with LF line ends")
    return text


def read_yaml(path: Path) -> Any:
    """Load a YAML file.

    Raises:
        BadInput: If the file is not valid YAML. The message contains the line.
    """
    text = read_text(path)
    try:
        check_nesting(text)
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:  # an impossible date is a ValueError
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", error)).split())
        if mark and "cannot start any token" in problem and "\t" in text.split("\n")[mark.line]:
            problem = "a tab, but YAML needs spaces for indentation"
        raise BadInput(f"{path}{line}: {problem}; fix the YAML") from None


def checked_yaml(path: Path, model: type[Model]) -> Model:
    """Load a YAML file as a model."""
    return model.of(read_yaml(path), str(path), path)


def checked_entries(path: Path, model: type[Model]) -> list[Model]:
    """Load a YAML file with a list of models with unique ids.

    Returns:
        A list of models, empty if the file does not exist.
    """
    document = read_yaml(path) if path.exists() else None
    document = document or []  # a file with only comments is None
    if not isinstance(document, list):
        raise BadInput(f"{path}: the document is not a list; begin every entry with a dash")
    ids = [entry.get("id") for entry in document if isinstance(entry, Mapping)]
    for name in filter(None, ids):
        if ids.count(name) > 1:
            raise BadInput(f'{path}: {model.__name__.lower()} "{name}" is given twice; remove the duplicate')
    models = []
    for place, entry in enumerate(document):
        name = entry.get("id") if isinstance(entry, Mapping) else None
        label = name if isinstance(name, str) else f"[{place}]"
        models.append(model.of(entry, f"{path}: {label}", path, (place,)))
    return models
