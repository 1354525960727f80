"""A test case as data."""
import dataclasses
from typing import Dict, Optional, Tuple

from . import _core


def _tensor_of(array, dtype):
    """What a Tensor is unpickled by."""
    return _core.Tensor.of(array, dtype)


@dataclasses.dataclass
class Case:
    """An operator with its parameters, inputs, the golden result, and recorded results.

    Operands and results are whatever Tensor.of takes; a case that was read has Tensors. An input
    that is None is absent; a list of arrays is one input that is a list. `attributes` holds the
    operator's parameters, those of list_attributes() and notes of your own, whose names begin with
    x_. Of a case with several outputs `golden` is a dict by the output's name (None: not compared),
    and so is what each producer has in `outputs`, `accumulators` and `residuals`.
    """
    name: str  # parts joined by '/'
    op: str = "external"  # an operator that assay emulates, or this
    inputs: Dict[str, object] = dataclasses.field(default_factory=dict)
    golden: Optional[object] = None  # in at least the precision of the output
    outputs: Dict[str, object] = dataclasses.field(default_factory=dict)  # by producer
    attributes: Dict[str, object] = dataclasses.field(default_factory=dict)
    # What the kernel gave beside an output, by producer: the output before its cast, of its shape,
    # or R = sum (before - after) over the columns of each check (docs/abft.md); float32.
    accumulators: Dict[str, object] = dataclasses.field(default_factory=dict)
    residuals: Dict[str, object] = dataclasses.field(default_factory=dict)
    # Of one of several outputs, by its name: output_dtype, standard, rtol, ... over those above.
    output_attributes: Dict[str, Dict[str, object]] = dataclasses.field(default_factory=dict)
    # The machine that computed an output, by producer.
    output_machines: Dict[str, str] = dataclasses.field(default_factory=dict)
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
class TensorInfo:
    dtype: str
    shape: Tuple[int, ...]


@dataclasses.dataclass
class CaseInfo:
    """A case without its data: TensorInfo where a Case has tensors."""
    name: str
    op: str
    inputs: Dict[str, object]
    golden: Optional[object]
    outputs: Dict[str, object]
    attributes: Dict[str, object]
    accumulators: Dict[str, object] = dataclasses.field(default_factory=dict)
    residuals: Dict[str, object] = dataclasses.field(default_factory=dict)
    output_attributes: Dict[str, Dict[str, object]] = dataclasses.field(default_factory=dict)
