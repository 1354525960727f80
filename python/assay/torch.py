"""PyTorch: check(), and matmuls() of a module.

    assay.torch.check(my_softmax, torch.softmax, (x, -1), standard="torch")
    with assay.torch.matmuls(model) as seen:
        model(x)
    seen.check()
"""
import contextlib
import dataclasses
from typing import Any, List, Tuple

import torch

from . import _core
from ._case import Case


def _outputs(value, whose):
    """The tensors that a function gives: one, several, or those of a dict."""
    values = list(value.values()) if isinstance(value, dict) else \
        list(value) if isinstance(value, (tuple, list)) else [value]
    for one in values:
        if not isinstance(one, torch.Tensor):
            raise TypeError(f"{whose} gives a {type(one).__name__}; it must give a tensor, or a tuple or "
                            "dict of them")
    return [one.detach() for one in values]


def _double(value):
    """Floats in float64, complex numbers in complex128: what a reference is computed in."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            return value.detach().to("cpu", torch.float64)
        return value.detach().to("cpu", torch.complex128 if value.is_complex() else value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value)(_double(one) for one in value)
    return value


def _raise_named(verdict, name):
    """Raises a verdict's error, its text behind a name."""
    try:
        verdict.check()
    except Exception as error:
        raise type(error)(f"{name}: {error}" if name else str(error)) from None


def check(fn, reference_fn, inputs, *, kwargs=None, op=None, machine=None, raise_exception=True,
          **options):
    """Holds fn(*inputs) against reference_fn(*inputs), which is called with the same numbers in
    float64 on the CPU.

    inputs           one tensor or a tuple of arguments
    kwargs           keywords of both functions
    op               the operator that fn is, of assay.list_operators(), whose inputs the tensors
                     of `inputs` are, in its order: where no bound is asked for, its own is taken
    machine          the machine that computed fn's output (assay.list_machines()), which says how
                     far its sums may be off; with op=
    raise_exception  False: gives whether it passes, as torch.autograd.gradcheck does
    options          of assay.compare(): standard, rtol, atol, equal_nan, ...; with op= those of
                     assay.judge_case(): abft=True, ...

    Gives True. Raises AssertionError with the judge's text, assay.Untrusted or assay.NotComparable.
    Outputs may be several; each is judged.
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    kwargs = kwargs or {}
    if machine is not None and op is None:
        raise ValueError("machine= says how an operator's sums were computed: say which with op=, as in "
                         "op=\"matmul\"")
    with torch.no_grad():
        got = _outputs(fn(*inputs, **kwargs), "the function")
        wanted = _outputs(reference_fn(*_double(inputs), **{name: _double(value) for name, value
                                                            in kwargs.items()}), "the reference")
    if len(got) != len(wanted):
        raise _core.NotComparable(f"the function gives {len(got)} outputs, its reference "
                                  f"{len(wanted)}")
    for position, (output, golden) in enumerate(zip(got, wanted)):
        if op is None:
            verdict = _core.compare(output.cpu(), golden, **options)
        else:
            case = _case_of(op, inputs, output, golden)
            verdict = case.judge(output.cpu(), machine=machine, **options)
        if not verdict.passed and not raise_exception:
            return False
        _raise_named(verdict, f"output {position}" if len(got) > 1 else "")
    return True


def _case_of(op, inputs, output, golden):
    rows = {row["name"]: row for row in _core.list_operators()}
    if op not in rows:
        raise ValueError(f"op={op!r} is no operator of assay.list_operators()")
    names = [one["name"] for one in rows[op]["inputs"]]
    tensors = [one.detach().cpu() for one in inputs if isinstance(one, torch.Tensor)]
    if len(tensors) > len(names):
        raise ValueError(f"{op} takes {', '.join(names)}, not {len(tensors)} tensors")
    return Case(op, op=op, inputs=dict(zip(names, tensors)), golden=golden,
                attributes={"output_dtype": _core.Tensor.of(output.cpu()).dtype})


@dataclasses.dataclass
class Product:
    """One product that a module computed, and what the checksums say of it."""
    name: str  # of the module
    shape: Tuple[int, ...]  # of its output
    verdict: Any


class Products:
    """What matmuls() saw, in the order of the calls; true where all of it passes."""

    def __init__(self):
        self.products: List[Product] = []
        self.left_out: List[str] = []  # what was not judged: the module's name, and why

    def __len__(self):
        return len(self.products)

    def __iter__(self):
        return iter(self.products)

    def __getitem__(self, index):
        return self.products[index]

    def __bool__(self):
        return bool(self.products) and all(one.verdict.passed for one in self.products)

    def __repr__(self):
        wrong = sum(not one.verdict.passed for one in self.products)
        left_out = f", {len(self.left_out)} left out" if self.left_out else ""
        return f"<Products: {len(self.products)} judged, {wrong} of them do not pass{left_out}>"

    def check(self):
        """Raises the error of the first product that does not pass; assay.NotComparable where there
        was none."""
        if not self.products:
            raise _core.NotComparable("; ".join(["the module computed no product that could be judged",
                                                 *self.left_out]))
        for product in self.products:
            _raise_named(product.verdict, product.name)


def _operands(call, args, kwargs):
    """(a, b, bias) of what PyTorch computes products by; a str: why it is not judged; None of
    everything else."""
    if call in ("mm", "bmm"):
        return args[0], args[1], None
    if call not in ("addmm", "baddbmm"):
        return None
    added, a, b = args[:3]
    alpha, beta = kwargs.get("alpha", 1), kwargs.get("beta", 1)
    if alpha != 1:
        return f"{call} with alpha = {alpha}"
    if beta == 0:
        return a, b, None
    if beta != 1 or added.dim() > 1 and any(extent != 1 for extent in added.shape[:-1]):
        return f"{call} that adds a matrix"
    return a, b, added.reshape(-1).expand(b.shape[-1])


@contextlib.contextmanager
def matmuls(module, *, threshold="rounding_variance", machine=None, dump=None):
    """While it is open, judges by checksums each matrix product that a torch.nn.Module computes in
    its forward pass: the output of each torch.nn.Linear, by its weights, whatever computed it, and
    what any other layer multiplies (attention, LSTMs, `@`, einsum). Convolutions, products with a
    vector and fused attention kernels are none.

    threshold, machine  as assay.check_product() has them
    dump                a golden file to write the products to, one case a call: inputs a, b and bias,
                        and the output of the producer "torch"

    Gives the Products. Needs PyTorch 1.13 or newer. Tensors on a device are copied to the CPU.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"matmuls() takes a torch.nn.Module, not a {type(module).__name__}")
    seen, cases, inside = Products(), [], []  # inside: the names of the modules that are running
    # A wrong name is said now, not in the middle of the module.
    ones = torch.ones(1, 1)
    _core.check_product(ones, ones, ones, threshold=threshold, machine=machine)

    def judge(name, a, b, bias, c, **how):
        a, b, bias, c = (one if one is None else one.detach().cpu() for one in (a, b, bias, c))
        verdict = _core.check_product(c, a, b, bias, threshold=threshold, machine=machine, **how)
        seen.products.append(Product(name, tuple(c.shape), verdict))
        if dump is not None:
            cases.append(_product_case(f"{name or 'module'}/{len(cases)}", a, b, bias, c, how))

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            output = function(*args, **(kwargs or {}))
            if inside and not isinstance(inside[-1][1], torch.nn.Linear):
                operands = _operands(function.overloadpacket.__name__, args, kwargs or {})
                name = inside[-1][0]
                if isinstance(operands, str):
                    seen.left_out.append(f"{name or 'the module'}: {operands}")
                elif operands is not None:
                    judge(name, *operands, output)
            return output

    def enter(name):
        def hook(layer, arguments):
            if layer is module:
                inside.clear()  # an exception may have left some
            inside.append((name, layer))
        return hook

    def leave(layer, arguments, output):
        name, _ = inside.pop()
        if isinstance(layer, torch.nn.Linear):
            a = arguments[0]
            judge(name, a.reshape(-1, a.shape[-1]), layer.weight, layer.bias,
                  output.reshape(-1, output.shape[-1]), transpose_b=True)
            seen.products[-1].shape = tuple(output.shape)

    hooks = []
    for name, layer in module.named_modules():
        hooks.append(layer.register_forward_pre_hook(enter(name.replace("-", "_"))))
        hooks.append(layer.register_forward_hook(leave))
    try:
        with Watch():
            yield seen
    finally:
        for hook in hooks:
            hook.remove()
        if cases:
            _core.write(dump, cases)


def _product_case(name, a, b, bias, c, how):
    # What the layer holds may change before the file is written.
    inputs = {"a": a.clone(), "b": b.clone()}
    if bias is not None:
        inputs["bias"] = bias.clone()
    return Case(name, op="matmul", inputs=inputs, recorded={"torch": c.clone()},
                attributes={"output_dtype": _core.Tensor.of(c).dtype, **how})
