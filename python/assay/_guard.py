"""guard(): checks of the matrix products of a model that runs."""
import dataclasses
from typing import Dict, List, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode

from . import _core
from ._device import load_compiler

# Calls that compute products in a way that cannot be checked from outside, and why.
_FUSED = {
    "scaled_dot_product_attention": "a fused call",
    "multi_head_attention_forward": "its products are inside of the call",
    "native_multi_head_attention": "a fused call",
    "transformer_encoder_layer_fwd": "a fused call",
    "einsum": "its products are inside of the call",
    "tensordot": "its products are inside of the call",
    "bilinear": "its products are inside of the call",
    "conv1d": "a convolution", "conv2d": "a convolution", "conv3d": "a convolution",
    "conv_transpose1d": "a convolution", "conv_transpose2d": "a convolution",
    "conv_transpose3d": "a convolution",
    "lstm": "its products are inside of the call", "gru": "its products are inside of the call",
}
_PRODUCTS = {"linear", "matmul", "rmatmul", "mm", "bmm", "addmm", "baddbmm"}
# The machines (assay.list_machines()) of NVIDIA's compute capabilities.
_MACHINES = {(9, 0): "hopper", (8, 0): "ampere"}
# Steps of automatic differentiation that only change the shape of a product.
_VIEWS = ("ViewBackward", "UnsafeViewBackward", "ReshapeAliasBackward", "AliasBackward")
_SLOTS = 256  # places of findings that are allocated at once


def refuse_wrong_words(threshold, machine):
    """Raises the error of a wrong threshold or machine, before a product is computed."""
    ones = torch.ones(1, 1)
    _core.check_product(ones, ones, ones, threshold=threshold, machine=machine)


def described(tensor):
    """A tensor as device_checksum() takes it: its dtype, shape and strides."""
    return str(tensor.dtype).split(".")[-1], list(tensor.shape), list(tensor.stride())


@dataclasses.dataclass
class GuardedProduct:
    """A product of a model, and what the checks of all its calls found."""
    name: str  # The module in which the product is computed.
    call: str  # The function of PyTorch, such as "linear", or "grad of linear's input".
    shape: Tuple[int, ...]  # The shape of the product.
    calls: int
    checks: int  # Rows that were checked, in all calls.
    flagged: int  # Checks whose difference is above the threshold.
    not_checkable: int  # Checks whose operands are infinite or NaN.
    worst_ratio: float  # The largest difference / threshold.
    # If a check was flagged: the forward pass in which the first one was flagged, counted from 1, and a row of it.
    first_step: Optional[int] = None
    first_row: Optional[Tuple[int, int]] = None  # The matrix of the batch, and its row.
    first_difference: Optional[float] = None
    first_threshold: Optional[float] = None

    def __str__(self):
        where = f"{self.name or 'the model'}: {self.call} {list(self.shape)}"
        if not self.flagged:
            return f"{where}: {self.checks} checks in {self.calls} calls, largest difference/threshold {self.worst_ratio:.3g}"
        matrix, row = self.first_row
        place = f"row {row}" if matrix == 0 else f"matrix {matrix}, row {row}"
        return (f"{where}: {self.flagged} of {self.checks} checks are above their threshold, first in step "
                f"{self.first_step}: {place} is off by {self.first_difference:.4g}, and rounding explains "
                f"{self.first_threshold:.4g}")


@dataclasses.dataclass
class GuardReport:
    """The findings of a guard until now."""
    products: List[GuardedProduct]
    # The calls that were not checked, with the reason, and their number.
    left_out: Dict[str, int]
    steps: int  # Forward passes.

    @property
    def flagged(self):
        return sum(one.flagged for one in self.products)

    def __bool__(self):
        """True if products were checked, and no check is above its threshold."""
        return bool(self.products) and self.flagged == 0

    def __str__(self):
        calls, checks = (sum(getattr(one, of) for one in self.products) for of in ("calls", "checks"))
        lines = [f"{self.flagged} of {checks} checks of {calls} products in {self.steps} steps are above their threshold"]
        lines += [f"  {one}" for one in sorted(self.products, key=lambda one: -one.worst_ratio)[:10]]
        if len(self.products) > 10:
            lines.append(f"  ... and {len(self.products) - 10} more")
        lines += [f"  not checked: {what} ({count} calls)" for what, count in self.left_out.items()]
        return "\n".join(lines)


class _Watch(TorchFunctionMode):
    def __init__(self, guard):
        super().__init__()
        self.guard = guard

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        output = function(*args, **kwargs)
        name = getattr(function, "__name__", "").strip("_")  # `a @ b` calls __matmul__ or matmul
        if name in _PRODUCTS:
            self.guard._product(name, args, kwargs, output)
        elif name in _FUSED:
            self.guard._leave_out(f"{name}: {_FUSED[name]}")
        return output


class Guard:
    """Checks the products of a model while it runs (guard())."""

    def __init__(self, model, threshold, machine, backward):
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"guard() takes a torch.nn.Module, not a {type(model).__name__}")
        self._model, self._threshold, self._backward = model, threshold, backward
        # The machine whose sums the thresholds expect; None is float32 in any order.
        self.machine, self._chooses = machine, machine == "auto"
        device = next((one.device for one in model.parameters()), None)
        if device is None:
            raise ValueError("guard(): the model has no parameters, so that its device is not known")
        if device.type not in ("cuda", "cpu"):
            raise ValueError(f"guard(): the model is on {device}; products are checked on CUDA devices and on the CPU")
        self._on, self._is_cuda = device, device.type == "cuda"
        self._device = device.index if self._is_cuda else -1
        if self._is_cuda:
            load_compiler()
        if machine == "auto":
            self.machine = _MACHINES.get(torch.cuda.get_device_capability(device)) if self._is_cuda else None
        refuse_wrong_words(threshold, self.machine)
        self._inside = [""]  # the names of the modules that are running
        # The checksum of each layout, or the reason why its products are not checked.
        self._checksums = {}
        # The version and the sums of each weight, by address and layout.
        self._kept = {}
        # [index, checks, calls] of each name, call and layout.
        self._places = {}
        self._findings = []
        self._left_out = {}
        self._steps = 0
        self._hooks = []
        for name, layer in model.named_modules():
            if layer is model:
                continue
            self._hooks.append(layer.register_forward_pre_hook(self._enter(name)))
            self._hooks.append(layer.register_forward_hook(self._leave))
        self._had_forward = model.__dict__.get("forward")
        inner, watch = model.forward, _Watch(self)

        def forward(*args, **kwargs):
            self._steps += 1
            self._inside = [""]
            with watch:
                return inner(*args, **kwargs)
        model.forward = forward

    def close(self):
        """Ends the checks. The model runs as before."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._model.__dict__.get("forward") is not self._had_forward:
            if self._had_forward is None:
                del self._model.forward
            else:
                self._model.forward = self._had_forward

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def report(self):
        """The GuardReport of all steps until now. Waits for the device."""
        self._wait()
        found = [one for array in self._findings for one in array.fetch()]
        products = []
        for (name, call, shape, *_), (index, checks, calls) in self._places.items():
            of = found[index]
            first = dict(first_step=of["first_call"], first_row=(of["first_matrix"], of["first_row"]),
                         first_difference=of["first_difference"],
                         first_threshold=of["first_threshold"]) if of["flagged"] else {}
            products.append(GuardedProduct(name, call, shape, calls, checks * calls, of["flagged"],
                                           of["not_checkable"], of["worst_ratio"], **first))
        return GuardReport(products, dict(self._left_out), self._steps)

    def check(self):
        """Raises AssertionError if a check of any step is above its threshold, and assay.Untrusted if no product was
        checked. Waits for the device, so call it at the end of a step, or every few steps."""
        report = self.report()
        if not report.products:
            raise _core.Untrusted("\n".join(["no product was checked", *(f"not checked: {one}" for one in self._left_out)]))
        if report.flagged:
            raise AssertionError(str(report))

    def _wait(self):
        if self._is_cuda:
            torch.cuda.synchronize(self._device)

    def _enter(self, name):
        def hook(layer, arguments):
            self._inside.append(name)
        return hook

    def _leave(self, layer, arguments, output):
        if len(self._inside) > 1:
            self._inside.pop()

    def _leave_out(self, what):
        name = self._inside[-1]
        what = f"{name}: {what}" if name else what
        self._left_out[what] = self._left_out.get(what, 0) + 1

    def _product(self, call, args, kwargs, output):
        """Starts the check of a product that PyTorch computed."""
        if not isinstance(output, torch.Tensor) or (kwargs and "out" in kwargs):
            return
        bias, cached = None, False
        if call == "linear":
            a, weight = args[0], args[1] if len(args) > 1 else kwargs["weight"]
            bias = args[2] if len(args) > 2 else kwargs.get("bias")
            b, cached = weight.detach().t(), True
        elif call in ("addmm", "baddbmm"):
            if kwargs.get("alpha", 1) != 1 or kwargs.get("beta", 1) not in (0, 1):
                return self._leave_out(f"{call} with alpha or beta")
            added, a, b = args[:3]
            if kwargs.get("beta", 1) == 1:
                if added.dim() > 1 and any(extent != 1 for extent in added.shape[:-1]):
                    return self._leave_out(f"{call} that adds a matrix")
                bias = added.reshape(-1).expand(b.shape[-1]).contiguous()
        elif call == "rmatmul":
            a, b = args[1], args[0]
        else:
            a, b = args[0], args[1]
            cached = isinstance(b, torch.nn.Parameter)
        if a.dim() < 2 or b.dim() < 2:
            return self._leave_out(f"{call} of a vector")
        if output.device != self._on:
            return self._leave_out(f"{call} on {output.device}, and the model is on {self._on}")
        if a.dtype != output.dtype and a.is_floating_point():
            # Under torch.autocast, PyTorch computes the product from rounded copies.
            a, b = a.to(output.dtype), b.to(output.dtype)
            bias, cached = None if bias is None else bias.to(output.dtype), False
        if output.dtype == torch.float32 and self._is_cuda and torch.backends.cuda.matmul.allow_tf32:
            return self._leave_out(f"{call}: its operands are rounded to tfloat32 (allow_tf32)")
        self._start(call, a, b, bias, output, cached)
        if self._backward and output.grad_fn is not None:
            self._watch_backward(call, a, b, output)

    def _start(self, call, a, b, bias, c, cached=False, name=None):
        if c.stride(-1) != 1 and c.stride(-2) == 1 and bias is None:
            a, b, c, cached = b.transpose(-1, -2), a.transpose(-1, -2), c.transpose(-1, -2), False
        stream = torch._C._cuda_getCurrentRawStream(self._device) if self._is_cuda else 0
        layout = (stream, a.dtype, b.dtype, c.dtype, a.shape, a.stride(), b.shape, b.stride(), c.shape, c.stride(),
                  None if bias is None else bias.dtype)
        checksum = self._checksums.get(layout)
        if checksum is None:
            checksum = self._checksums[layout] = self._checksum(stream, a, b, bias, c)
        if isinstance(checksum, str):
            return self._leave_out(f"{call}: {checksum}")
        kept = weights = None
        cached = cached and not b.is_inference()  # PyTorch counts no changes of such tensors
        if cached:
            version = (b._version, None if bias is None else (bias._version, bias.data_ptr()))
            kept = self._kept.get((b.data_ptr(), layout))
            if kept is not None and kept[0] == version:
                weights = kept[1]
        if weights is None:
            weights = checksum.weights(b.data_ptr(), 0 if bias is None else bias.data_ptr())
            if cached:
                self._kept[(b.data_ptr(), layout)] = (version, weights)
        place = self._place(self._inside[-1] if name is None else name, call, tuple(c.shape), layout, checksum.checks)
        checksum.start(a.data_ptr(), weights, c.data_ptr(), max(self._steps, 1), self._findings[place // _SLOTS],
                       place % _SLOTS)

    def _checksum(self, stream, a, b, bias, c):
        try:
            return _core.device_checksum(self._device, stream, described(a), described(b), described(c),
                                         None if bias is None else described(bias), threshold=self._threshold,
                                         machine=self._machine_of(a, c))
        except ValueError as error:  # a dtype that assay does not have
            return str(error)

    def _machine_of(self, a, c):
        """Returns the machine whose sums a product's thresholds expect. A machine that truncates sums needs more sums of
        the operands. They are left out if truncation moves a row's sum by a quarter of its standard deviation at most."""
        bits = {torch.bfloat16: 8, torch.float16: 11}.get(c.dtype)
        if not self._chooses or bits is None:
            return self.machine
        # Each of K / 16 roundings takes 0.7 units 2^-24 of a partial sum, which is half of the result on average.
        ulps = 0.35 * 2**-24 * a.shape[-1] / 16 * 2**bits
        return None if ulps * (12 * c.shape[-1])**0.5 <= 0.25 else self.machine

    def _place(self, name, call, shape, layout, checks):
        place = self._places.get((name, call, shape, layout))
        if place is None:
            index = len(self._places)
            if index % _SLOTS == 0:
                self._findings.append(_core.DeviceFindings(self._device, layout[0], _SLOTS))
                self._wait()  # products on other streams add to these findings, too
            place = self._places[(name, call, shape, layout)] = [index, checks, 0]
        place[2] += 1
        return place[0]

    def _watch_backward(self, call, a, b, output):
        """Has the products checked that give the gradients of a product's operands."""
        node = output.grad_fn
        while node is not None and node.name().startswith(_VIEWS):
            node = node.next_functions[0][0]
        kind = node.name().rstrip("0123456789") if node is not None else ""
        operands = {"MmBackward": 0, "BmmBackward": 0, "AddmmBackward": 1, "BaddbmmBackward": 1}.get(kind)
        if operands is None:
            return self._leave_out(f"the gradients of {call}, which {kind or 'nothing'} computes")
        name, a, b = self._inside[-1], a.detach(), b.detach()

        def check(grad_inputs, grad_outputs):
            grad = grad_outputs[0]
            if grad is None:
                return
            matrices = grad.dim()
            left = a.reshape(-1, a.shape[-1]) if matrices == 2 else a.reshape(-1, *a.shape[-2:])
            right = b.reshape(-1, *b.shape[-2:]) if matrices == 3 else b
            of_a, of_b = grad_inputs[operands], grad_inputs[operands + 1]
            if of_a is not None:
                self._start(f"grad of {call}'s left operand", grad, right.transpose(-1, -2), None, of_a, name=name)
            if of_b is not None:
                self._start(f"grad of {call}'s right operand", left.transpose(-1, -2), grad, None, of_b, name=name)
        node.register_hook(check)


def guard(model, *, threshold="rounding_variance,groups=0", machine="auto", backward=False):
    """Checks by row sums each product that a model computes with torch.nn.Linear, torch.matmul, mm, bmm, addmm or
    baddbmm, in the memory of its device and without waiting for it.

        with assay.torch.guard(model) as guard:
            for batch in batches:
                loss(model(batch)).backward()
                optimizer.step()
        print(guard.report())

    threshold  rounding_variance, v_abft or a_abft, with whole rows (groups=0). Checks are not confirmed by their elements.
    machine    the machine of assay.list_machines() that computes. "auto": that of the model's device, or float32 sums
               in any order if assay does not have it.
    backward   True: the products that give gradients are checked, too

    Returns a Guard. Its check() raises AssertionError if a product is wrong, and its report() tells what was checked,
    and what was not and why. Calls that are fused, such as scaled_dot_product_attention, are not checked. The sums of a
    weight are kept until PyTorch counts a change of it (not if it is changed through `.data`).
    """
    return Guard(model, threshold, machine, backward)
