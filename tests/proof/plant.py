"""Plants one fault in a setting, if an oracle says that the result is then wrong.

Each setting (operator, dtypes, size) has operands, the exact result, right results in several ways, and faulty ones. A
fault counts only if an oracle, which shares nothing with assay, says that the output is wrong:

  - *beyond the bound*: at least one element is farther from the exact result than any right evaluation can be. The
    limit is the textbook bound of the arithmetic in any order (exact.py, right_data.py), plus half a quantum of the
    output's dtype at the far end of that bound.
  - *beyond the variety*: all elements are within that bound, but the errors are larger than those of right evaluations.
    The errors are divided by w = half a quantum + the typical error of right evaluations. The output is wrong if their
    root mean square is more than 1.5 times, or their maximum more than 2 times, that of every right evaluation. It is
    also wrong if the errors lean toward zero or away from it: their mean, with the sign of the exact result, is more
    than 2 times that of every right evaluation plus 6 standard deviations of a mean of independent errors.

A fault that meets neither is *right in truth*: it is dropped, and `dropped` says so. Each plant records the number of
elements that it changes (against the first right evaluation, which is the setting's control) and the largest relative
change."""
import dataclasses
import math

import numpy as np

from number_formats import quantum, round_to
from right_data import SEED
from store import Array, golden64

RMS_FACTOR, MAX_FACTOR = 1.5, 2.0
F32 = np.float32
dropped = []


@dataclasses.dataclass
class Plant:
    operator: str  # the operator's name in the tables
    fault: str  # the name of the fault, or "" if the result is right (a control)
    setting: str
    dtypes: str
    size: str
    op: str
    inputs: dict
    golden: Array
    output: Array
    attributes: dict
    changed: int
    of: int
    relative: float
    decided: str  # what the oracle found to be wrong
    which: int = 0  # the number of the right evaluation, if this is a control

    @property
    def name(self):
        return f"{self.operator.replace(' ', '_')}/{self.setting}/{self.fault or f'right_{self.which}'}"


class Setting:
    """Operands with their exact result, right evaluations and a textbook bound of each element. Faults are planted in
    it."""

    def __init__(self, operator, name, size, dtypes, op, inputs, attributes, golden, bound, dtype, right, stored=None):
        """`right` has evaluations before the last rounding (float32 or float64). `dtype` is that of the output, int8
        for codes. `stored` is the golden result in the file, if that is not `golden` in float64."""
        self.operator, self.name, self.size, self.dtypes, self.op = operator, name, size, dtypes, op
        self.inputs, self.attributes, self.dtype = inputs, attributes, dtype
        self.golden = np.asarray(golden, np.longdouble)
        self.bound = np.broadcast_to(np.asarray(bound, np.float64), self.golden.shape)
        self.stored = stored or golden64(self.golden)
        self.right = [self.rounded(one) for one in right]
        half = self.half_quantum(np.abs(self.golden).astype(np.float64))
        with np.errstate(all="ignore"):
            share = [
                np.abs(np.asarray(one, np.longdouble) - self.golden) / np.maximum(self.bound, 1e-300) for one in right
            ]
        typical = max(float(np.sqrt(np.mean(one**2))) for one in share)
        self.scale = np.maximum(half + typical * self.bound, 1e-300)
        self.rms, self.largest, self.lean = (max(values) for values in zip(*(self.errors(one) for one in self.right)))
        for one in self.right:
            assert not self.beyond(one), f"{operator} {name}: a right evaluation is beyond the textbook bound"

    def half_quantum(self, values):
        return np.full(np.shape(values), 0.5) if self.dtype == "int8" else 0.5 * quantum(values, self.dtype)

    def rounded(self, values, mode="nearest_even"):
        values = np.asarray(values, np.float64)
        if self.dtype == "int8":
            return np.clip(
                {"nearest_even": np.rint, "toward_zero": np.trunc, "down": np.floor}[mode](values), -128, 127
            )
        return round_to(values, self.dtype, mode)

    def errors(self, output):
        """Returns the root mean square, the maximum and the size of the mean lean of the errors over their scale."""
        e = (np.asarray(output, np.longdouble) - self.golden) / self.scale
        return (
            float(np.sqrt(np.mean(e**2))),
            float(np.max(np.abs(e))),
            float(np.abs(np.mean(e * np.sign(self.golden)))),
        )

    def beyond(self, output):
        """Returns the number of elements that are farther from the exact result than any right evaluation can be."""
        far = np.abs(self.golden).astype(np.float64) + self.bound
        return int(
            np.sum(np.abs(np.asarray(output, np.longdouble) - self.golden) > self.bound + self.half_quantum(far))
        )

    def controls(self, most=3):
        """Returns the first few right evaluations that differ, as plants without a fault."""
        distinct = []
        for one in self.right:
            if not any(np.array_equal(one, other) for other in distinct):
                distinct.append(one)
        made = [self._plant("", one, "right") for one in distinct[:most]]
        for which, one in enumerate(made):
            one.which = which
        return made

    def _plant(self, fault, output, decided):
        base = self.right[0]
        with np.errstate(all="ignore"):
            relative = np.where(base == output, 0, np.abs(output - base) / np.abs(base))
        finite = relative[np.isfinite(relative)]
        return Plant(
            self.operator,
            fault,
            self.name,
            self.dtypes,
            self.size,
            self.op,
            self.inputs,
            self.stored,
            Array(output, self.dtype),
            self.attributes,
            int(np.sum(base != output)),
            base.size,
            float(finite.max()) if finite.size else 0.0,
            decided,
        )

    def plant(self, fault, output):
        """Returns a list with the plant, or an empty list if the oracle does not find it wrong."""
        beyond, (rms, largest, lean) = self.beyond(output), self.errors(output)
        if beyond:
            return [self._plant(fault, output, f"beyond the bound: {beyond}")]
        if rms > RMS_FACTOR * self.rms or largest > MAX_FACTOR * self.largest:
            return [
                self._plant(
                    fault, output, f"beyond the variety: rms {rms / self.rms:.2f}, max {largest / self.largest:.2f}"
                )
            ]
        if lean > 2 * self.lean + 6 * self.rms / math.sqrt(self.golden.size):
            return [
                self._plant(fault, output, f"beyond the variety: mean {lean:.2f}, of right evaluations {self.lean:.2f}")
            ]
        dropped.append((self.operator, fault, self.name, f"rms {rms / self.rms:.2f}, max {largest / self.largest:.2f}"))
        return []


def generator(*words):
    """Returns a random generator for a setting, whose draws do not depend on the settings before it."""
    return np.random.default_rng([SEED, *[int.from_bytes(str(word).encode(), "big") % 2**63 for word in words]])


def claims(dtype, **attributes):
    """Returns parameters of a case. For float16 operands they say that the operands are widened. Otherwise a unit that
    computes in float16 would be right, and a fault such as statistics in float16 would not be a fault."""
    return {**attributes, "compute_dtype": "float32"} if dtype == "float16" else attributes
