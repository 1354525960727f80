"""PyTorch: check(), matmuls() of a module, guard() of a model that runs, and campaign() of a kernel.

    assay.torch.check(my_softmax, torch.softmax, (x, -1), standard="torch")
    with assay.torch.matmuls(model) as seen:
        model(x)
    seen.check()
    with assay.torch.guard(model) as guard:
        train(model)
    guard.check()
"""
import contextlib
import dataclasses
import pathlib
import tempfile
from typing import Any, List, Tuple

import torch

from . import _core
from ._case import Case
from ._guard import Guard, GuardedProduct, GuardReport, guard, refuse_wrong_words  # noqa: F401
from ._items import with_text


def _outputs(value, whose):
    """Returns the tensors in a function's result: one, several, or those of a dict."""
    values = list(value.values()) if isinstance(value, dict) else \
        list(value) if isinstance(value, (tuple, list)) else [value]
    for one in values:
        if not isinstance(one, torch.Tensor):
            raise TypeError(f"{whose} gives a {type(one).__name__}; it must give a tensor, or a tuple or "
                            "dict of them")
    return [one.detach() for one in values]


def _double(value):
    """Converts floats to float64 and complex numbers to complex128, in which a reference is
    computed."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            return value.detach().to("cpu", torch.float64)
        return value.detach().to("cpu", torch.complex128 if value.is_complex() else value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value)(_double(one) for one in value)
    return value


def _raise_named(verdict, name):
    """Raises a verdict's error, with the name before its text."""
    try:
        verdict.check()
    except Exception as error:
        raise with_text(error, f"{name}: {error}" if name else str(error)) from None


def check(fn, reference_fn, inputs, *, kwargs=None, op=None, machine=None, raise_exception=True,
          **options):
    """Judges fn(*inputs) against reference_fn(*inputs), which is called with the same numbers in
    float64 on the CPU.

    inputs           one tensor or a tuple of arguments
    kwargs           keywords of both functions
    op               the operator that fn computes, one of assay.list_operators(). The tensors of
                     `inputs` are its inputs, in its order. If no bound is given, the operator's
                     own bound is used.
    machine          the machine that computed fn's output (assay.list_machines()). It determines
                     how far sums may be off. Needs op=.
    raise_exception  if False, returns whether the check passes, as torch.autograd.gradcheck does
    options          those of assay.compare(): standard, rtol, atol, equal_nan, ... With op= those
                     of assay.judge_case(): abft=True, ...

    Returns True. Raises AssertionError with the report of the mismatches, assay.Untrusted or
    assay.NotComparable. If there are several outputs, each is judged.
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


def _inputs_of(op, inputs):
    """Returns the tensors in a function's arguments by the names of the operator's inputs, on the CPU."""
    rows = {row["name"]: row for row in _core.list_operators()}
    if op not in rows:
        raise ValueError(f"op={op!r} is no operator of assay.list_operators()")
    names = [one["name"] for one in rows[op]["inputs"]]
    tensors = [one.detach().cpu() for one in inputs if isinstance(one, torch.Tensor)]
    if len(tensors) > len(names):
        raise ValueError(f"{op} takes {', '.join(names)}, not {len(tensors)} tensors")
    return dict(zip(names, tensors))


def _case_of(op, inputs, output, golden):
    return Case(op, op=op, inputs=_inputs_of(op, inputs), golden=golden,
                attributes={"output_dtype": _core.Tensor.of(output.cpu()).dtype})


@dataclasses.dataclass
class Product:
    """A product that a module computed, and the verdict of its checksums."""
    name: str  # The name of the module in which the product was computed.
    shape: Tuple[int, ...]  # The shape of the product.
    verdict: Any


class Products:
    """The products that matmuls() saw, in the order of the calls. It is true if there are products and all pass."""

    def __init__(self):
        self.products: List[Product] = []
        # A text for each product that was not judged, with the module's name and the reason.
        self.left_out: List[str] = []

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
        """Raises the error of the first product that does not pass, or assay.NotComparable if there
        was no product."""
        if not self.products:
            raise _core.NotComparable("; ".join(["the module computed no product that could be judged",
                                                 *self.left_out]))
        for product in self.products:
            _raise_named(product.verdict, product.name)


def _operands(call, args, kwargs):
    """Returns (a, b, bias) for the functions with which PyTorch computes products. Returns a str if
    the product is not judged, which says why, and None for every other function."""
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
    """A context manager that judges by checksums each matrix product that a torch.nn.Module
    computes in its forward pass. These are the output of each torch.nn.Linear, by its weights,
    whatever computed it, and the products in any other layer (attention, LSTMs, `@`, einsum).
    Convolutions, products with a vector and fused attention kernels are not judged.

    threshold, machine  as in assay.check_product()
    dump                a golden file to which the products are written, one case for each call:
                        inputs a, b and bias, and the output of the producer "torch"

    Returns the Products. Needs PyTorch 1.13 or newer. Tensors on a device are copied to the CPU.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"matmuls() takes a torch.nn.Module, not a {type(module).__name__}")
    # `inside` has the modules that are running, with their names.
    seen, cases, inside = Products(), [], []

    refuse_wrong_words(threshold, machine)

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
                inside.clear()  # an exception in an earlier forward pass may have left entries
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
    # The case has copies of the tensors, because the layer may change them before the file is written.
    inputs = {"a": a.clone(), "b": b.clone()}
    if bias is not None:
        inputs["bias"] = bias.clone()
    return Case(name, op="matmul", inputs=inputs, recorded={"torch": c.clone()},
                attributes={"output_dtype": _core.Tensor.of(c).dtype, **how})


def campaign(fn, inputs, *, op="matmul", kwargs=None, attributes=None, machine=None,
             gates=("rounding_variance", "v_abft"), faults=({"census": 8},), clean_rows=1, name="campaign",
             **options):
    """Measures by assay.campaign() how well checks detect faults in the results of a function on any device.

        inputs = [(torch.randn(128, 1024, device="cuda").bfloat16(), torch.randn(1024, 256, device="cuda").bfloat16())
                  for _ in range(8)]
        report = assay.torch.campaign(torch.matmul, inputs)

    fn is called once for each of the inputs, and its results are copied to the host, which injects the faults. All inputs
    have one shape and dtype.

    inputs      a tuple of tensors for each matrix, or an iterator of them. They are the inputs of the operator `op`, one
                of assay.list_operators(), in its order. A result of any shape counts as one matrix.
    kwargs      keywords of fn
    attributes  the operator's, such as {"transpose_b": True}
    machine     the machine of assay.list_machines() that computes
    gates, faults, clean_rows
                those of a cell of a plan (docs/campaigns.md). The results are not computed again, so that faults of inputs
                are refused. All rows are looked at for false alarms unless clean_rows is 0.
    name        of the plan and its cell
    options     those of assay.campaign(): out, json, csv, threads, ...

    Returns the CampaignReport. There are no intervals with fewer than four matrices.
    """
    from . import campaign as campaign_of_plan
    cases, kinds = [], []
    with torch.no_grad():
        for number, one in enumerate(inputs):
            one = tuple(one) if isinstance(one, (tuple, list)) else (one,)
            outputs = _outputs(fn(*one, **(kwargs or {})), "the function")
            if len(outputs) != 1:
                raise ValueError(f"the function gives {len(outputs)} outputs; a campaign takes one")
            named = _inputs_of(op, one)
            cases.append(Case(f"matrix/{number}", op=op, inputs=named, recorded={"kernel": outputs[0].cpu()},
                              attributes={"output_dtype": _core.Tensor.of(outputs[0].cpu()).dtype, **(attributes or {})}))
            kinds.append([(str(x.dtype), tuple(x.shape)) for x in one if isinstance(x, torch.Tensor)])
            if kinds[-1] != kinds[0]:
                raise ValueError(f"inputs of one shape and dtype are needed, and those of matrix {number} are {kinds[-1]}, "
                                 f"of matrix 0 {kinds[0]}")
    if not cases:
        raise ValueError("inputs= has no tensors: give a tuple of tensors for each matrix")
    with tempfile.TemporaryDirectory() as folder:
        file = str(pathlib.Path(folder) / "kernel.h5")
        _core.write(file, cases)
        cell = {"name": name, "dataset": file, "together": True, "recorded": "kernel", "gates": list(gates),
                "clean_rows": clean_rows, "faults": [dict(one) for one in faults]}
        if machine is not None:
            cell["machine"] = machine
        return campaign_of_plan({"schema": 1, "name": name, "cells": [cell]}, **options)
