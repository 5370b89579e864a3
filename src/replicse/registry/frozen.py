"""Frozen models: encoders that a term reads and nothing trains, by their name until the plan puts their folder."""

from collections.abc import Callable
from typing import Any, Self

from pydantic import (
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from replicse.checked import Checked, Id, Text, only_with
from replicse.registry.encoders import Checkpoint, Engine
from replicse.registry.poolings import TrainingPooling

SYMBOLS = ("backbone", "released", "use")
BY_NAME = "{backbone: NAME}, {released: NAME} or {use: RECIPE}"


class FrozenModel(Checked):
    """An encoder that a term reads and never trains: a field of this type is all that a term has to declare.

    It is named as a backbone or a released checkpoint of the scale, or by `use` as the end of another recipe's run of
    the same seed. `pooling` and `checkpoint` are those that it was trained with or released for, where they are not
    given. Resolved it is a `folder`, which is written as its text alone where nothing is next to it.
    """

    backbone: Id | None = None
    released: Id | None = None
    use: Text | None = None
    folder: Text | None = None
    checkpoint: Checkpoint | None = None
    pooling: TrainingPooling | None = None
    engine: Engine = "auto"

    @model_validator(mode="wrap")
    @classmethod
    def _of_text(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(value, str) and "/" not in value:
            raise ValueError(BY_NAME)
        return handler({"folder": value} if isinstance(value, str) else value)

    @model_validator(mode="after")
    def _is_one_source(self) -> Self:
        sources = (self.backbone, self.released, self.use, self.folder)
        if sum(each is not None for each in sources) != 1:
            raise ValueError(f"exactly one of {', '.join(SYMBOLS)}")
        return self

    _is_of_a_run = only_with("use", "checkpoint")

    @model_serializer(mode="wrap")
    def _as_text(self, handler: SerializerFunctionWrapHandler) -> Any:
        values = handler(self)
        alone = set(values) == {"folder"} and "/" in values["folder"]  # other text would be read as a name
        return values["folder"] if alone else values

    @property
    def name(self) -> str:
        """Return the backbone, checkpoint, recipe or folder."""
        return self.backbone or self.released or self.use or self.folder or ""

    def of_paper(self, paper: str) -> Self:
        """Return the model with its recipe named by the paper that names it, not by the one that asks for it."""
        return self.replace(use=f"{paper}/{self.use}") if self.use and "/" not in self.use else self


def frozen_models(part: object) -> list[FrozenModel]:
    """Return the frozen models of checked data such as a term, wherever they are in it."""
    models: list[FrozenModel] = []

    def note(model: FrozenModel) -> FrozenModel:
        models.append(model)
        return model

    with_frozen(part, note)
    return models


def with_frozen(part: Any, change: Callable[[FrozenModel], FrozenModel]) -> Any:
    """Return checked data with each of its frozen models changed; the same object where it has none."""
    if isinstance(part, FrozenModel):
        return change(part)
    if isinstance(part, Checked):
        changed = {
            key: new
            for key, old in vars(part).items()
            if isinstance(old, (Checked, tuple, dict)) and (new := with_frozen(old, change)) is not old
        }
        return part.replace(**changed) if changed else part
    if isinstance(part, tuple):
        each = tuple(with_frozen(old, change) for old in part)
        return each if any(new is not old for new, old in zip(each, part, strict=True)) else part
    if isinstance(part, dict):
        both = {key: with_frozen(old, change) for key, old in part.items()}
        return both if any(both[key] is not part[key] for key in part) else part
    return part
