"""PyTorch: check(), and matmuls() of a module.

    assay.torch.check(my_softmax, torch.softmax, (x,), kwargs={"dim": -1})
    with assay.torch.matmuls(model) as seen:
        model(x)
    seen.check()
"""
import contextlib
import dataclasses
from typing import Any, List, Tuple

import torch

from . import _core


def _outputs(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _double(value):
    """Floats in float64, complex numbers in complex128: what a reference is computed in."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            return value.detach().to("cpu", torch.float64)
        return value.detach().to("cpu", torch.complex128 if value.is_complex() else value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value)(_double(one) for one in value)
    return value


def check(fn, reference_fn, inputs, *, kwargs=None, raise_exception=True, **options):
    """Holds fn(*inputs) against reference_fn(*inputs), which is called with the same numbers in
    float64 on the CPU.

    inputs           one tensor or a tuple of arguments
    kwargs           keywords of both functions
    raise_exception  False: gives whether it passes, as torch.autograd.gradcheck does
    options          of assay.compare(): standard, rtol, atol, equal_nan, ...

    Raises AssertionError with the judge's text, assay.Untrusted or assay.NotComparable. Outputs may
    be several; each is judged.
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    kwargs = kwargs or {}
    with torch.no_grad():
        got = _outputs(fn(*inputs, **kwargs))
        wanted = _outputs(reference_fn(*_double(inputs), **_double_kwargs(kwargs)))
    if len(got) != len(wanted):
        raise _core.NotComparable(f"the function gives {len(got)} outputs, its reference "
                                  f"{len(wanted)}")
    for position, (output, golden) in enumerate(zip(got, wanted)):
        verdict = _core.compare(output.detach().cpu(), golden, **options)
        if verdict.passed:
            continue
        if not raise_exception:
            return False
        try:
            verdict.check()
        except Exception as error:
            which = f"output {position}: " if len(got) > 1 else ""
            raise type(error)(f"{which}{error}") from None
    return True


def _double_kwargs(kwargs):
    return {name: _double(value) for name, value in kwargs.items()}


@dataclasses.dataclass
class Product:
    """One product that a module computed, and what the checksums say of it."""
    name: str  # of the module
    shape: Tuple[int, ...]  # of its output
    verdict: Any


class Products:
    """What matmuls() saw, in the order of the calls."""

    def __init__(self):
        self.products: List[Product] = []

    def __len__(self):
        return len(self.products)

    def __iter__(self):
        return iter(self.products)

    def check(self):
        """Raises the error of the first product that does not pass; assay.NotComparable where there
        was none."""
        if not self.products:
            raise _core.NotComparable("no product was computed: no torch.nn.Linear was called")
        for product in self.products:
            if not product.verdict.passed:
                try:
                    product.verdict.check()
                except Exception as error:
                    raise type(error)(f"{product.name}: {error}") from None


@contextlib.contextmanager
def matmuls(module, *, threshold="rounding_variance", machine=None, dump=None):
    """While it is open, judges by checksums each product that a torch.nn.Linear of `module` computes.

    threshold, machine  as assay.check_product() has them
    dump                a golden file to write the products to, one case a call: inputs a, b and bias,
                        and the output of the producer "torch"
    """
    seen, cases, hooks = Products(), [], []

    def hook_of(name):
        def hook(layer, arguments, output):
            a = arguments[0].detach().cpu()
            b, bias = layer.weight.detach().cpu(), layer.bias
            bias = None if bias is None else bias.detach().cpu()
            c = output.detach().cpu()
            rows = a.reshape(-1, a.shape[-1])
            flat = c.reshape(-1, c.shape[-1])
            verdict = _core.check_product(flat, rows, b, bias, transpose_b=True,
                                          threshold=threshold, machine=machine)
            seen.products.append(Product(name, tuple(c.shape), verdict))
            if dump is not None:
                cases.append(_case_of(f"{name or 'linear'}/{len(cases)}", rows, b, bias, flat))
        return hook

    for name, layer in module.named_modules():
        if isinstance(layer, torch.nn.Linear):
            hooks.append(layer.register_forward_hook(hook_of(name.replace("-", "_"))))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
        if cases:
            _core.write(dump, cases)


def _case_of(name, a, b, bias, c):
    from ._case import Case
    # What the layer holds may change before the file is written.
    inputs = {"a": a.clone(), "b": b.clone()}
    if bias is not None:
        inputs["bias"] = bias.clone()
    dtype = _core.Tensor.of(c).dtype
    return Case(name, op="matmul", inputs=inputs, outputs={"torch": c.clone()},
                attributes={"transpose_b": True, "output_dtype": dtype})
