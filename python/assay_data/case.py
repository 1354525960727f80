"""A test case in memory, and what may be in one."""
import dataclasses
import re
from typing import Dict, Optional, Tuple

import numpy as np

from .tensor import Tensor, find_format, no_dtype

PARTS = ("inputs", "outputs", "golden")


def is_case_name(name):
    """One or more parts of [A-Za-z0-9_.=]+ joined by '/', none of them a reserved word."""
    return all(re.fullmatch(r"[A-Za-z0-9_.=]+", part) and part not in (*PARTS, ".", "..")
               for part in name.split("/"))


def is_list(value):
    """Whether an input is a list of tensors; a list of numbers is one tensor."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(
        one is None or (hasattr(one, "dtype") and hasattr(one, "shape") and
                        not isinstance(one, np.generic)) for one in value)


@dataclasses.dataclass
class Case:
    """An operator with its parameters, inputs, the golden result, and recorded results.

    Operands and results are a Tensor, a numpy array (an ml_dtypes one too), a PyTorch tensor or
    what numpy makes an array of; a case that was read has Tensors. `attributes` holds the
    operator's parameters, what `assay list attributes` names where it is wanted (`output_dtype`,
    `standard`, `rtol`, `atol`, ...), and notes of your own, whose names begin with x_: str, int,
    float or bool.

    An input that is None is absent; a list of tensors is one input that is a list. Of a case with
    several outputs `golden` is a dict by the output's name (None: it is not compared), and so is what
    each producer has in `outputs`, `accumulators` and `residuals`.
    """
    name: str                          # parts joined by '/'
    op: str = "external"               # an operator that assay emulates, or this
    inputs: Dict[str, object] = dataclasses.field(default_factory=dict)
    golden: Optional[object] = None    # in at least the precision of the output
    outputs: Dict[str, object] = dataclasses.field(default_factory=dict)  # by producer
    attributes: Dict[str, object] = dataclasses.field(default_factory=dict)
    # What the kernel gave beside an output, by producer: the output before its cast, of its shape,
    # or R = sum (before - after) over the columns of each check (docs/abft.md); float32.
    accumulators: Dict[str, object] = dataclasses.field(default_factory=dict)
    residuals: Dict[str, object] = dataclasses.field(default_factory=dict)
    # Of one of several outputs, by its name: output_dtype, standard, rtol, ... over those above.
    output_attributes: Dict[str, Dict[str, object]] = dataclasses.field(default_factory=dict)

    def has_several(self):
        """Whether its outputs have names. Raises ValueError where some do and some do not."""
        named = [isinstance(value, dict)
                 for part in (self.outputs, self.accumulators, self.residuals)
                 for value in part.values()]
        if self.golden is not None:
            named.append(isinstance(self.golden, dict))
        if any(named) and not all(named):
            raise ValueError(f"case {self.name}: several outputs by name, and one without: golden "
                             "and what each producer has must be dicts, or none of them")
        return any(named)

    def output_names(self):
        """The names of its outputs, sorted; empty where it has one, without a name."""
        if not self.has_several():
            return []
        names = set(self.golden or ())
        return sorted(names.union(*self.outputs.values()))

    def tensors(self):
        """(path below the case, tensor) of all that it holds; None for one that is absent. Raises
        TypeError or ValueError that names the one that cannot be stored."""
        everything = []
        for name, array in self.inputs.items():
            if is_list(array):
                everything += [(f"inputs/{name}/{i}", one) for i, one in enumerate(array)]
            else:
                everything.append((f"inputs/{name}", array))
        parts = [(f"{part}/{name}", value) for part in ("outputs", "accumulators", "residuals")
                 for name, value in getattr(self, part).items()]
        if self.golden is not None:
            parts.append(("golden", self.golden))
        for path, value in parts:
            named = isinstance(value, dict)
            everything += [(f"{path}/{n}", v) for n, v in value.items()] if named else [(path, value)]
        for path, array in everything:
            if array is None and path.startswith(("inputs/", "golden/")):
                yield path, None
                continue
            try:
                yield path, Tensor.of(array)
            except (TypeError, ValueError) as error:
                raise type(error)(f"case {self.name}: {path}: {error}") from None


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    dtype: str
    shape: Tuple[int, ...]


@dataclasses.dataclass
class CaseInfo:
    """A case without its data: TensorInfo where a Case has tensors."""
    name: str
    op: str
    inputs: Dict[str, TensorInfo]
    golden: Optional[TensorInfo]
    outputs: Dict[str, TensorInfo]
    attributes: Dict[str, object]
    accumulators: Dict[str, TensorInfo] = dataclasses.field(default_factory=dict)
    residuals: Dict[str, TensorInfo] = dataclasses.field(default_factory=dict)
    output_attributes: Dict[str, Dict[str, object]] = dataclasses.field(default_factory=dict)


def _is_text(value):
    return isinstance(value, str)


def _is_number(value):
    return not _is_text(value)


def _is_integer(value):
    return isinstance(value, int)


def _is_flag(value):
    return _is_integer(value) and value in (0, 1)


# Attributes of a case that the schema gives a meaning: (what it must be, whether a value is). They
# are those of `assay list attributes`, in its order; a test compares the two.
KNOWN = {"op": ("a string", _is_text), "output_dtype": ("a string", _is_text),
         "standard": ("a string", _is_text), "tags": ("a string", _is_text),
         "source": ("a string", _is_text), "why": ("a string", _is_text),
         "rtol": ("a number", _is_number), "atol": ("a number", _is_number),
         "max_blind": ("a number", _is_number), "seed": ("an integer", _is_integer),
         "equal_nan": ("a bool", _is_flag), "round_expected": ("a bool", _is_flag),
         "infinity": ("a string", _is_text), "max_mismatches": ("an integer", _is_integer),
         "max_mismatch_fraction": ("a number", _is_number),
         "accumulations": ("an integer", _is_integer), "machine": ("a string", _is_text),
         "distribution": ("a string", _is_text), "nan_payload": ("a string", _is_text),
         "of": ("a string", _is_text), "value_output": ("a string", _is_text),
         "operator_output": ("a bool", _is_flag),
         "description": ("a string", _is_text)}


def _edit_distance(a, b):
    """How many characters to put in, leave out, replace or exchange with their neighbour."""
    rows = [list(range(len(b) + 1))]
    for i, c in enumerate(a, 1):
        row = [i]
        for j, d in enumerate(b, 1):
            row.append(min(rows[-1][j - 1] + (c != d), rows[-1][j] + 1, row[-1] + 1))
            if i > 1 and j > 1 and (c, a[i - 2]) == (b[j - 2], d):
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def name_problem(name):
    """Why a case may not have an attribute of this name: it is a slip of one of the schema's; ""
    where it may. What an operator takes beside those the program knows, and refuses the others."""
    if name in KNOWN or name.startswith("x_"):
        return ""
    for known in KNOWN:
        length = min(len(name), len(known))
        if length >= 3 and _edit_distance(name.lower(), known) <= max(1, length // 4):
            return (f"its attribute '{name}' is unknown: did you mean '{known}'?; a note of your "
                    f"own is named x_{name}")
    return ""


def attribute_problem(attributes):
    """What is wrong with the attributes of a case; "" where nothing is."""
    for name in sorted(attributes):
        problem = name_problem(name)
        if problem:
            return problem
    for name, (kind, is_kind) in KNOWN.items():
        if name in attributes and not is_kind(attributes[name]):
            value = attributes[name]
            said = int(value) if isinstance(value, bool) else value  # as the program prints it
            return f"its attribute '{name}' must be {kind}, but it is '{said}'"
    dtype = attributes.get("output_dtype")
    if dtype is not None and find_format(dtype) is None:
        return f"its output_dtype {no_dtype(dtype)}"
    return ""


def canonical(attributes):
    """The attributes with the output's dtype by its own name, whatever it was called."""
    fmt = find_format(attributes.get("output_dtype", ""))
    return {**attributes, "output_dtype": fmt.name} if fmt else attributes
