"""Frozen models: encoders used in terms and never trained."""

from collections.abc import Callable, Mapping
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
    """An encoder used in a term and never trained.

    A term declares it with a field of this type. A file specifies it as a `backbone` or a `released` checkpoint
    of the scale, or by `use`: the last checkpoint of another recipe's run with the same seed. The default
    `pooling` and `checkpoint` are the settings with which the encoder was trained or released. The compiler
    replaces the name with a `folder`, which is serialised as a plain string if no other key is set.

    Attributes:
        backbone: a backbone of the scale.
        released: a released checkpoint of the scale.
        use: the recipe whose run with the same seed is used.
        folder: the folder, set by the planner.
        checkpoint: the checkpoint of the other run.
        pooling: the pooling. The default is the pooling of its training or release.
        engine: the implementation of the encoder.
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
        # A string without a slash would be parsed as a name.
        alone = set(values) == {"folder"} and "/" in values["folder"]
        return values["folder"] if alone else values

    @property
    def name(self) -> str:
        """Return the backbone, checkpoint, recipe or folder."""
        return self.backbone or self.released or self.use or self.folder or ""

    def of_paper(self, paper: str) -> Self:
        """Return the model with the full name of the recipe.

        Args:
            paper: The key of the paper that uses the recipe, the default paper of the name.
        """
        if not self.use or "/" in self.use:
            return self
        return self.replace(use=f"{paper}/{self.use}")


def frozen_models(part: object) -> list[FrozenModel]:
    """Return the frozen models in validated data, such as a term.

    Args:
        part: A model, or a tuple or dict of models.

    Returns:
        A list in the order of the fields.
    """
    models: list[FrozenModel] = []

    def note(model: FrozenModel) -> FrozenModel:
        models.append(model)
        return model

    with_frozen(part, note)
    return models


def with_frozen(part: Any, change: Callable[[FrozenModel], FrozenModel]) -> Any:
    """Return validated data with each frozen model changed.

    Args:
        part: A model, or a tuple or dict of models.
        change: A function that returns the new model.

    Returns:
        The changed data; the same object if it contains no frozen model.
    """
    if isinstance(part, FrozenModel):
        return change(part)
    if isinstance(part, Checked):
        changed = _changed_values(vars(part), change)
        return part.replace(**changed) if changed else part
    if isinstance(part, tuple):
        changed = _changed_values(dict(enumerate(part)), change)
        if not changed:
            return part
        return tuple(changed.get(place, old) for place, old in enumerate(part))
    if isinstance(part, dict):
        changed = _changed_values(part, change)
        return {**part, **changed} if changed else part
    return part


def _changed_values(
    values: Mapping[Any, Any], change: Callable[[FrozenModel], FrozenModel]
) -> dict[Any, Any]:
    """Return the values with a changed frozen model by key."""
    changed = {}
    for key, old in values.items():
        if isinstance(old, (Checked, tuple, dict)):
            new = with_frozen(old, change)
            if new is not old:
                changed[key] = new
    return changed
