"""assay: how good is an operator's output against its golden reference? See docs/python.md.

    assay.assert_close(out, golden)
    v = assay.compare(out, golden, standard="torch")
    with assay.open("golden.h5") as d:
        d["mm/large"].judge(out).check()
    assay.gate("golden.h5", recorded="npu").check()

Names, units and sources of what there is: list_operators(), list_machines(), list_standards(),
list_metrics(), list_thresholds(), list_faults(), ...
"""
from ._case import Case, CaseInfo, TensorInfo
from ._core import (AbftVerdict, CampaignReport, CaseError, CaseReport, Dataset, FileError,
                    GateError, GateReport, Injection, Miss, NoCaseError, NotComparable, Tensor,
                    Untrusted, Verdict, __version__, assert_close, assert_product, campaign,
                    check_product, compare, emulate, gate, golden, inject, judge_case,
                    list_attributes, list_distributions, list_dtypes, list_faults, list_layouts,
                    list_machines, list_metrics, list_mutations, list_operators, list_standards,
                    list_thresholds, open, write)

__all__ = [name for name in dir() if not name.startswith("_")] + ["cases", "torch"]


def __getattr__(name):
    # What needs pytest or PyTorch is imported where it is asked for.
    import importlib
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    if name == "cases":
        return importlib.import_module(".pytest_plugin", __name__).cases
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
