"""A test case as data."""
import dataclasses
from typing import Dict, Optional, Tuple

from . import _core


def _tensor_of(array, dtype):
    """What a Tensor is unpickled by."""
    return _core.Tensor.of(array, dtype)


def _by_name():
    return dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Output:
    """One of several outputs of a case: its golden result and the results that producers recorded."""
    golden: Optional[object] = None  # None: not computed yet
    recorded: Dict[str, object] = _by_name()  # by producer
    attributes: Dict[str, object] = _by_name()  # output_dtype, standard, rtol, ... over the case's
    compared: bool = True  # False: the output has no golden result and is not judged
    # As those of Case.
    accumulators: Dict[str, object] = _by_name()
    residuals: Dict[str, object] = _by_name()
    machines: Dict[str, str] = _by_name()


@dataclasses.dataclass
class Case:
    """An operator with its parameters, inputs, the golden result, and recorded results.

    Operands and results are whatever Tensor.of takes; a case that was read has Tensors. An input
    that is None is absent; a list of arrays is one input that is a list. `attributes` holds the
    operator's parameters, those of list_attributes() and notes of your own, whose names begin with
    x_. A case with several outputs has them in `outputs`, and nothing in `golden`, `recorded`,
    `accumulators`, `residuals` and `machines`.
    """
    name: str  # parts joined by '/'
    op: str = "external"  # an operator that assay emulates, or this
    inputs: Dict[str, object] = _by_name()
    golden: Optional[object] = None  # in at least the precision of the output
    recorded: Dict[str, object] = _by_name()  # by producer
    attributes: Dict[str, object] = _by_name()
    outputs: Dict[str, Output] = _by_name()  # of a case with several, by name
    # What the kernel gave beside a recorded result, by producer: the output before its cast, of its
    # shape, or R = sum (before - after) over the columns of each check (docs/abft.md); float32.
    accumulators: Dict[str, object] = _by_name()
    residuals: Dict[str, object] = _by_name()
    machines: Dict[str, str] = _by_name()  # that computed a recorded result, by producer
    file: str = ""  # where it was read

    def judge(self, output=None, **request):
        """The CaseReport of an output: what judge_case(self, output, ...) gives."""
        __tracebackhide__ = True  # in pytest
        return _core.judge_case(self, output, **request)

    def result(self):
        """The golden result that the operator's reference computes from the inputs."""
        return _core.case_golden(self)

    def emulate(self, machine):
        """What a machine computes from the inputs."""
        return _core.case_emulate(self, machine)


@dataclasses.dataclass(frozen=True)
class ArrayInfo:
    """Stands for an array of a case whose data was not read."""
    dtype: str
    shape: Tuple[int, ...]
