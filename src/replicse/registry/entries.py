"""What every registry of parameters shares: a class below its base is an entry, by the one name that it says."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Union, get_args

from pydantic import Field, create_model

from replicse.checked import Checked


class Entry(Checked):
    """Parameters that a file names by the value of `key`.

    A class that gives `key` itself is the base of a registry. A class below it that annotates that field with the
    Literal of one name is an entry of `known` by this name; others hold what entries share. `implementation` names
    module and function or class of what the parameters are for; where it is not given, the function of the entry's name
    in the module `home`.
    """

    key: ClassVar[str]
    known: ClassVar[dict[str, Any]]
    implementation: ClassVar[str]
    home: ClassVar[str]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Register an entry; ValueError where another one has its name."""
        if "key" in vars(cls):
            cls.known = {}
        elif cls.key in cls.__annotations__:
            (name,) = get_args(cls.model_fields[cls.key].annotation)
            if name in cls.known:
                raise ValueError(
                    f'{cls.__qualname__}: the {cls.key} "{name}" is that of {cls.known[name].__qualname__}'
                )
            cls.known[name] = cls
            if "implementation" not in vars(cls):
                cls.implementation = f"{cls.home}:{name.replace('-', '_')}"

    @classmethod
    def one_of(cls) -> Any:
        """Return the type of all entries, told apart by `key`; those that are defined later are none of it."""
        return Annotated[Union[tuple(cls.known.values())], Field(discriminator=cls.key)]  # noqa: UP007

    @classmethod
    def reader(cls, part: str, where: str) -> Callable[..., Any]:
        """Return the function that gives the entry of plain data, or BadInput; both names are of its errors."""
        fields: dict[str, Any] = {part: (cls.one_of(), ...)}
        document = create_model(part, __base__=Checked, **fields)

        def read(values: object, where: str = where) -> Any:
            return getattr(document.of({part: values}, where), part)

        return read
