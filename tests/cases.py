"""Test cases from the YAML file beside a test module.

A case is a dict of arguments: the inputs and the expected results.
"""

from collections.abc import Callable
from inspect import getfile
from itertools import chain
from pathlib import Path

import pytest
import yaml


def cases(test: Callable[..., None]) -> Callable[..., None]:
    """Parametrise a test with the cases from the YAML file beside the module.

    The file has a list of cases for each test, by the test's name without `test_`. An argument is None if a
    case omits it.
    """
    document = yaml.safe_load(Path(getfile(test)).with_suffix(".yaml").read_text(encoding="utf-8"))
    found = document[test.__name__.removeprefix("test_")]
    names = list(dict.fromkeys(chain.from_iterable(found)))
    rows = [list(map(case.get, names)) for case in found]
    return pytest.mark.parametrize(names, rows)(test)
