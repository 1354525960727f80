"""A test case as data."""
import dataclasses
from typing import Dict, Optional, Tuple

from . import _core


def _tensor_of(array, dtype):
    """Restores a Tensor when it is unpickled."""
    return _core.Tensor.of(array, dtype)


def _by_name():
    return dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Output:
    """One of several outputs of a case: its golden result and the results that producers recorded."""
    golden: Optional[object] = None  # None if it is not computed yet, or if the output is not compared.
    recorded: Dict[str, object] = _by_name()  # The recorded results by producer.

    # These attributes override those of the case: output_dtype, standard, rtol, ...
    attributes: Dict[str, object] = _by_name()
    compared: bool = True  # False if the output has no golden result and is not judged

    # The next three fields have the meaning that they have in Case.
    accumulators: Dict[str, object] = _by_name()
    residuals: Dict[str, object] = _by_name()
    machines: Dict[str, str] = _by_name()


@dataclasses.dataclass
class Case:
    """An operator with its parameters, inputs, the golden result, and recorded results.

    Operands and results are any objects that Tensor.of accepts. A case that was read from a file
    has Tensors. An input that is None is absent, and a list of arrays is one input that is a list.
    `attributes` holds the operator's parameters, those of list_attributes() and notes of your own,
    whose names begin with x_. A case with several outputs has them in `outputs`, and nothing in
    `golden`, `recorded`, `accumulators`, `residuals` and `machines`.
    """
    name: str  # The parts of the name are joined by '/'.
    op: str = "external"  # The name of an operator that assay emulates, or "external" for any other.
    inputs: Dict[str, object] = _by_name()
    golden: Optional[object] = None  # The golden result, with at least the precision of the output.
    recorded: Dict[str, object] = _by_name()  # The recorded results by producer.
    attributes: Dict[str, object] = _by_name()
    outputs: Dict[str, Output] = _by_name()  # The outputs by name, if the case has several.

    # The arrays that a kernel returned with a recorded result, by producer, in float32. `accumulators` has the outputs
    # before their cast, in their shape. `residuals` has R, the sum of (value before the cast - value after it) over the
    # columns of each check (docs/abft.md).
    accumulators: Dict[str, object] = _by_name()
    residuals: Dict[str, object] = _by_name()
    # The machine that computed a recorded result, by producer.
    machines: Dict[str, str] = _by_name()
    file: str = ""  # The path of the file from which the case was read.

    def judge(self, output=None, **request):
        """Judges an output and returns its CaseReport, as judge_case(self, output, ...) does."""
        __tracebackhide__ = True  # in pytest
        return _core.judge_case(self, output, **request)

    def result(self):
        """Returns the golden result that the operator's reference computes from the inputs."""
        return _core.case_golden(self)

    def emulate(self, machine):
        """Returns the output that a machine computes from the inputs."""
        return _core.case_emulate(self, machine)


@dataclasses.dataclass(frozen=True)
class ArrayInfo:
    """The dtype and shape of an array of a case whose data was not read."""
    dtype: str
    shape: Tuple[int, ...]
