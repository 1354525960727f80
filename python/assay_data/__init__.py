"""Dataset files of assay from Python, bit for bit, and its gate in pytest. See docs/python.md.

    write("gemms.h5", Case("gemm/m64", op="matmul", inputs={"a": a, "b": b}, outputs={"npu": c}))
    with Dataset("gemms.h5") as file:
        c = file.read("gemm/m64").outputs["npu"].numpy()
    assert_gate("golden.h5", recorded="npu")
"""
from .case import Case, CaseInfo, TensorInfo
from .errors import DatasetError, NoCaseError
from .gate import GateError, NotComparable, Untrusted, assert_gate
from .reader import Dataset
from .tensor import FORMATS, Format, Tensor
from .writer import write

__all__ = ["Case", "CaseInfo", "Dataset", "DatasetError", "FORMATS", "Format", "GateError",
           "NoCaseError", "NotComparable", "Tensor", "TensorInfo", "Untrusted", "assert_gate",
           "write"]
__version__ = "0.2.0"
