"""numpy's assert_allclose and torch's assert_close: their decisions, and assay's explanation of a failure.

    from assay.testing import assert_allclose   # in place of: from numpy.testing import assert_allclose
    from assay.testing import assert_close      # in place of: from torch.testing import assert_close

Each function passes and fails exactly when the original does, because the original decides. The error is an
AssertionError whose text is the original's, followed by what assay says of the difference: the worst elements, the
pattern of the mismatches, and the tolerance that would pass. Its attribute `verdict` is the assay.Verdict, or None if
the arrays cannot be compared element by element. These functions do not warn that a check could not have failed:
assay.assert_close does.
"""
from . import _core
from ._items import pairs_of

__all__ = ["assert_allclose", "assert_close"]


def _judged(actual, expected, **options):
    """Returns the verdict of the two, or None if assay cannot compare them."""
    try:
        return _core.compare(actual, expected, **options)
    except (TypeError, ValueError):
        return None


def _fail(error, verdict):
    """Raises an AssertionError with the original's text and the verdict's."""
    text = str(error)
    if verdict is not None and verdict.outcome == "fail":
        text += "\n\nassay: " + verdict.text
    raised = AssertionError(text)
    raised.verdict = verdict
    raise raised from None


def assert_allclose(actual, desired, rtol=1e-07, atol=0, equal_nan=True, err_msg="", verbose=True, **options):
    """numpy.testing.assert_allclose: raises AssertionError unless |actual - desired| <= atol + rtol |desired| for every
    element. A scalar is compared with every element of an array. `options` are those that later versions of numpy
    added, such as strict.
    """
    import numpy as np
    __tracebackhide__ = True
    try:
        np.testing.assert_allclose(actual, desired, rtol, atol, equal_nan, err_msg, verbose, **options)
    except AssertionError as error:
        failure = error
    else:
        return
    # As numpy compares them: with a scalar for each element, and in a dtype that holds both.
    a, d = np.asanyarray(actual), np.asanyarray(desired)
    verdict = None
    if a.shape == d.shape or a.shape == () or d.shape == ():
        dtype = np.result_type(a.dtype, d.dtype)
        a, d = (x.astype(dtype, copy=False) for x in np.broadcast_arrays(a, d))
        verdict = _judged(a, d, rtol=rtol, atol=atol, equal_nan=equal_nan)
    _fail(failure, verdict)


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """torch.testing.assert_close: raises AssertionError unless the tensors, numbers, or lists and dicts of them are
    close, by torch's tolerances for their dtypes unless rtol and atol are given.
    """
    import torch
    __tracebackhide__ = True
    try:
        torch.testing.assert_close(actual, expected, allow_subclasses=allow_subclasses, rtol=rtol, atol=atol,
                                   equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
                                   check_layout=check_layout, check_stride=check_stride, msg=msg)
    except AssertionError as error:
        failure = error
    else:
        return
    bound = {"standard": "torch"} if rtol is None else {"rtol": rtol, "atol": atol}
    verdict = None
    for _, a, e in pairs_of(actual, expected):
        try:
            a, e = (torch.as_tensor(value).detach().cpu() for value in (a, e))
        except (TypeError, ValueError, RuntimeError):  # torch compares what is no tensor by its type
            continue
        dtype = torch.promote_types(a.dtype, e.dtype)
        one = _judged(a.to(dtype), e.to(dtype), equal_nan=equal_nan, **bound)
        if one is not None and one.outcome == "fail":
            verdict = one
            break
    _fail(failure, verdict)
