"""assay: judges an operator's output against its golden result. See docs/python.md.

    assay.assert_close(out, golden)
    v = assay.compare(out, golden, standard="torch")
    with assay.open("golden.h5") as d:
        d["mm/large"].judge(out).check()
    assay.gate("golden.h5", recorded="npu").check()

These functions list names, units and sources: list_operators(), list_machines(), list_standards(),
list_metrics(), list_thresholds(), list_faults(), ...
"""
import functools as _functools
import inspect as _inspect
import pathlib as _pathlib

try:
    from ._core import __version__
except ImportError as _error:
    if _error.name != "assay._core":
        raise
    raise ImportError(
        "assay: the compiled module assay._core is missing. `pip install .` in assay's source folder builds and installs "
        "it (about 4 minutes on two cores); after a build with CMake, put BUILD/python on PYTHONPATH.") from None
from ._case import ArrayInfo, Case, Output
from ._items import by_items as _by_items
from ._core import (AbftVerdict, CampaignReport, CaseError, CaseReport, Dataset, FileError,
                    Finding, GateError, GateReport, IdentificationReport, Injection, Mismatch,
                    NoCaseError, NotComparable, NotSupported, Tensor, TrialFailure, TrialReport, Untrusted, Verdict,
                    assert_close, assert_product, campaign, check_product, compare, emulate, gate,
                    golden, identify, inject, judge_case,
                    list_array_formats, list_attributes, list_distributions, list_dtypes,
                    list_faults, list_layouts, list_machines, list_metrics, list_mutations, list_operators, list_standards,
                    list_thresholds, open, write)

from ._trial import assert_trial, trial


def _signatures():
    """Returns the signatures of the module's functions. The stubs say them, and the module does not."""
    lines = (_pathlib.Path(__file__).parent / "_core.pyi").read_text().split("\n")
    functions = {}
    exec("from __future__ import annotations\n" +
         "\n".join(line for line in lines if line.startswith("def ")), {}, functions)
    return {name: _inspect.signature(function) for name, function in functions.items() if callable(function)}


def _spoken(function, signature):
    """Wraps a function so that it has its signature, and so that, on wrong argument types, its error names the types in
    a sentence. pybind11 would print the arrays."""
    @_functools.wraps(function)
    def call(*args, **kwargs):
        __tracebackhide__ = True  # in pytest
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
        types = [type(value).__name__ for value in args]
        types += [f"{name}={type(value).__name__}" for name, value in kwargs.items()]
        takes = function.__doc__.split("\n")[0].split(" -> ")[0]
        raise TypeError(f"{takes} was called with ({', '.join(types)})")
    call.__module__ = "assay"
    call.__doc__ = function.__doc__.replace("assay._core.", "assay.")
    call.__signature__ = signature
    return call


_signatures_by_name = _signatures()
for _name, _value in list(globals().items()):
    if type(_value).__name__ == "builtin_function_or_method" and not _name.startswith("_"):
        globals()[_name] = _spoken(_value, _signatures_by_name[_name])

compare, assert_close = _by_items(compare), _by_items(assert_close)


def _with_absolute_datasets(plan):
    """Returns the plan with paths of datasets that do not depend on the plan's own folder."""
    if isinstance(plan, list):
        return [_with_absolute_datasets(part) for part in plan]
    if not isinstance(plan, dict):
        return plan
    return {key: str(_pathlib.Path(value).absolute()) if key == "dataset" and isinstance(value, str)
            else _with_absolute_datasets(value) for key, value in plan.items()}


def _with_plans(function):
    """Lets campaign() take a plan as a dict. Its datasets are relative to the current folder."""
    @_functools.wraps(function)
    def call(plan, *args, **kwargs):
        __tracebackhide__ = True
        if not isinstance(plan, dict):
            return function(plan, *args, **kwargs)
        import json
        import tempfile
        with tempfile.TemporaryDirectory(prefix="assay_") as folder:
            path = _pathlib.Path(folder) / "plan.json"
            path.write_text(json.dumps(_with_absolute_datasets(plan)))
            try:
                return function(path, *args, **kwargs)
            except (FileError, ValueError) as error:
                raise type(error)(str(error).replace(str(path), "the plan")) from None
    return call


campaign = _with_plans(campaign)

# The names that are defined below need pytest or PyTorch. They are left out of __all__, so that `from assay import *`
# works without pytest and PyTorch.
__all__ = [name for name in dir() if not name.startswith("_")]


def __getattr__(name):
    # The submodules that need pytest or PyTorch are imported when they are first used.
    import importlib
    if name in ("testing", "torch"):
        return importlib.import_module("." + name, __name__)
    if name == "cases":
        return importlib.import_module(".pytest_plugin", __name__).cases
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
