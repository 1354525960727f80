"""The names of the package `assay` before 0.3.0, for one release: import assay instead."""
import warnings

from assay import (Case, CaseInfo, Dataset as _Dataset, FileError as DatasetError, GateError,
                   NoCaseError, NotComparable, Tensor, TensorInfo, Untrusted, assert_close, gate,
                   open as _open, write)

warnings.warn("assay_data goes with 0.3.0: import assay instead (Dataset is assay.open(), "
              "DatasetError assay.FileError, assert_gate assay.gate(...).check() or "
              "assay.assert_close())", DeprecationWarning, stacklevel=2)

__all__ = ["Case", "CaseInfo", "Dataset", "DatasetError", "GateError", "NoCaseError",
           "NotComparable", "Tensor", "TensorInfo", "Untrusted", "assert_gate", "write"]


def Dataset(path, max_bytes=None):  # noqa: N802: it was a class
    if max_bytes is not None:
        raise TypeError("max_bytes is gone: set the environment's ASSAY_MAX_DATASET_GIB")
    return _open(path)


def assert_gate(golden, outputs=None, **options):
    """assay.gate(golden, outputs, ...).check() of files; of a Case its judge(), of arrays
    assay.assert_close()."""
    __tracebackhide__ = True
    for gone in ("assay", "directory", "options"):
        if options.pop(gone, None):
            raise TypeError(f"{gone}= is gone: see assay.gate")
    if isinstance(golden, Case):
        golden.judge(outputs, **options).check()
        return ""
    if isinstance(golden, str) or hasattr(golden, "__fspath__"):
        report = gate(golden, outputs, **options)
        report.check()
        return report.text
    assert_close(outputs, golden, **options)
    return ""
