"""Specs: what is trained and what is evaluated, named by the hash of everything that changes a number.

A spec is built from plain data with `build`, which turns a mistake into one sentence. Fields added later must
have a default: `canonical` leaves out what equals its default, so old folders stay valid.
"""

import dataclasses
import hashlib
import json
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from replicse.errors import BadInput, nearest

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def tidy(value: Any) -> Any:
    """Return plain data with numbers in one spelling: "3e-5" -> 3e-05, 1.0 -> 1, tuples -> lists."""
    if isinstance(value, Mapping):
        return {str(key): tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(entry) for entry in value]
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and math.isfinite(value):
        value = float(format(value, ".12g"))  # 3e-5 times 10 is 3e-4, not 0.00030000000000000003
        return int(value) if value.is_integer() else value
    return value


def digest(value: Any, length: int = 12) -> str:
    """Return the first hexadecimal digits of the sha256 of sorted, space-free JSON."""
    text = json.dumps(tidy(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _fitted(value: Any, wanted: Any, where: str) -> Any:
    """Return `value` as the annotated type of a spec field, or raise BadInput naming the key."""
    if isinstance(wanted, types.UnionType):
        if value is None:
            return None
        wanted = next(kind for kind in typing.get_args(wanted) if kind is not types.NoneType)
    origin = typing.get_origin(wanted) or wanted
    if dataclasses.is_dataclass(wanted):
        return wanted if isinstance(value, wanted) else build(wanted, value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise BadInput(f"{where} is {value!r}; expected a list")
        return tuple(tidy(entry) for entry in value)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise BadInput(f"{where} is {value!r}; expected a mapping")
        return tidy(value)
    if origin in (float, int):
        value = tidy(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"{where} is {value!r}; expected a number")
        if origin is int and not isinstance(value, int):
            raise BadInput(f"{where} is {value!r}; expected a whole number")
        return origin(value)
    if origin is str and not isinstance(value, str):
        raise BadInput(f"{where} is {value!r}; expected text")
    return value


def build(cls: type, values: Any, where: str) -> Any:
    """Return `cls` from plain data; BadInput names the key, the value and the nearest known key."""
    if not isinstance(values, Mapping):
        raise BadInput(f"{where} is {values!r}; expected a mapping")
    hints = typing.get_type_hints(cls)
    names = [entry.name for entry in dataclasses.fields(cls)]
    for key in values:
        if key not in names:
            raise BadInput(f'{where}: unknown key "{key}"{nearest(key, names)}')
    arguments = {key: _fitted(entry, hints[key], f"{where}.{key}") for key, entry in values.items()}
    try:
        return cls(**arguments)
    except TypeError:
        missing = [
            entry.name
            for entry in dataclasses.fields(cls)
            if entry.default is dataclasses.MISSING
            and entry.default_factory is dataclasses.MISSING
            and entry.name not in arguments
        ]
        raise BadInput(f"{where}: {', '.join(missing)} must be given") from None


def plain(spec: Any, drop_defaults: bool = True, leave_out: Sequence[str] = ()) -> dict[str, Any]:
    """Return a spec as plain data without the fields that equal their defaults."""
    result = {}
    for entry in dataclasses.fields(spec):
        value = getattr(spec, entry.name)
        if entry.name in leave_out:
            continue
        if dataclasses.is_dataclass(value):
            value = plain(value, drop_defaults)
            if value or not drop_defaults:
                result[entry.name] = value
            continue
        default = entry.default if entry.default_factory is dataclasses.MISSING else entry.default_factory()
        if not drop_defaults or value != default:
            result[entry.name] = tidy(value)
    return result


def _one_of(value: str, known: Sequence[str], where: str) -> None:
    if value not in known:
        raise BadInput(f'{where} is "{value}"{nearest(value, known)}')


POOLINGS = ("cls", "cls-head", "random-head", "mean", "first-last", "first-last-0", "last2")
HEADS = ("mlp", "projector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropout:
    """Dropout of a run. SimCSE Table 3 sets both rates to p (methods 1.7)."""

    hidden: float = 0.1
    attention: float = 0.1
    masks: str = "independent"

    def __post_init__(self) -> None:
        _one_of(self.masks, ("independent", "fixed"), "dropout.masks")
        for name in ("hidden", "attention"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"dropout.{name} is {getattr(self, name)}; expected a rate in [0, 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooling:
    """How a sentence vector is read from the encoder in training and at test time."""

    train: str = "cls-head"
    test: str = "cls"

    def __post_init__(self) -> None:
        _one_of(self.train, [name for name in POOLINGS if name != "random-head"], "pooling.train")
        _one_of(self.test, POOLINGS, "pooling.test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimisation:
    """AdamW with linear decay and no warm-up, as SimCSE's scripts run it (methods 1.4)."""

    batch_size: int = 64
    learning_rate: float = 3e-5
    epochs: int = 1
    steps: int | None = None
    warmup: float = 0.0
    weight_decay: float = 0.0
    clip: float = 1.0
    max_length: int = 32

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "max_length"):
            if getattr(self, name) < 1:
                raise BadInput(f"optimisation.{name} is {getattr(self, name)}; expected at least 1")
        if self.steps is not None and self.steps < 1:
            raise BadInput(f"optimisation.steps is {self.steps}; expected at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which checkpoint is best: the metric on a development set, read every `every` steps (0: never)."""

    metric: str = "sts-dev/STS-B/all"
    every: int = 125


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """Steps whose checkpoints are kept for a figure: 0, every, 2 every, ... until (0: none)."""

    every: int = 0
    until: int = 0

    def steps(self) -> tuple[int, ...]:
        """Return the steps to keep, in order."""
        return tuple(range(0, self.until + 1, self.every)) if self.every else ()

    def joined(self, other: Self) -> Self:
        """Return a trajectory that holds the steps of both; BadInput when their strides differ."""
        if not self.every or not other.every:
            return self if self.every else other
        if self.every != other.every:
            raise BadInput(
                f"trajectory: two items ask one run for every {self.every} and every {other.every} steps;"
                " give them the same stride"
            )
        return type(self)(every=self.every, until=max(self.until, other.until))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One training run. Two tables that ask for equal specs share one folder.

    `init` is exactly one of `{"hub": id, "revision": r}`, `{"folder": path below the data root}`, `{"run": id}` or
    `{"fresh": {architecture, tokenizer, embeddings}}`; `corpus` is a recipe that `read_corpus` understands. `head` is
    what pooling "cls-head" applies: a linear layer with tanh, or DiffCSE's projector with batch normalisation.
    The trajectory is not part of the name: keeping checkpoints changes no number.
    """

    init: dict[str, Any]
    corpus: dict[str, Any]
    views: tuple[dict[str, Any], ...]
    objective: tuple[dict[str, Any], ...]
    encoders: str = "shared"
    dropout: Dropout = field(default_factory=Dropout)
    pooling: Pooling = field(default_factory=Pooling)
    optimisation: Optimisation = field(default_factory=Optimisation)
    selection: Selection = field(default_factory=Selection)
    trajectory: Trajectory = field(default_factory=Trajectory)
    seed: int = 42
    head: str = "mlp"

    def __post_init__(self) -> None:
        _one_of(self.encoders, ("shared", "two"), "encoders")
        _one_of(self.head, HEADS, "head")
        if len(set(self.init) & {"hub", "folder", "run", "fresh"}) != 1:
            raise BadInput(f"init is {self.init}; expected exactly one of hub, folder, run, fresh")
        if not self.views:
            raise BadInput("views is empty; expected at least one column of the corpus")
        if not self.objective:
            raise BadInput("objective is empty; expected at least one term")

    def canonical(self) -> dict[str, Any]:
        """Return the plain data that names the run: nothing else is hashed."""
        return plain(self, leave_out=("trajectory",))

    @property
    def run_id(self) -> str:
        """Return a readable prefix and 12 hexadecimal digits; safe as a path and as a wildcard."""
        terms = "-".join(str(term["term"]) for term in self.objective)
        return f"{terms}-s{self.seed}-{digest(self.canonical())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSpec:
    """What is evaluated: a source, a test-time pooling and a post-processing.

    `source` is one of `{"run": id}`, `{"hub": id, "revision": r}`, `{"folder": path}`, `{"vectors": path}`, and
    `{"data": "counts"}` for numbers that are counted from the data and need no encoder. `postprocess` is None,
    `{"name": "whitening" | "flow", "fit": corpus recipe}` or with `"fit": "target"`: each task's own sentences.
    """

    source: dict[str, Any]
    pooling: str = "cls"
    checkpoint: str = "best"
    postprocess: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        _one_of(self.pooling, POOLINGS, "pooling")
        _one_of(self.checkpoint, ("best", "last"), "checkpoint")
        if not set(self.source) & {"run", "hub", "folder", "vectors", "data"}:
            raise BadInput(
                f"encoder source is {self.source}; expected one of run, hub, folder, vectors, data"
            )

    @property
    def encoder_id(self) -> str:
        """Return the run's name or the backbone's, the pooling, and 8 hexadecimal digits; `data` for counts."""
        if "data" in self.source:
            return "data"
        name = next(
            str(self.source[key]) for key in ("run", "hub", "folder", "vectors") if key in self.source
        )
        stem = re.sub(r"[^A-Za-z0-9]+", "-", name.rsplit("/", 1)[-1]).strip("-")
        return f"{stem}-{self.pooling}-{digest(plain(self), 8)}"
