"""Times training with assay.torch.guard() beside training without it, and injects faults.

    python3 benchmarks/cuda/guard.py [--steps N]

The model is a transformer of 12 layers in bfloat16: width 1024, 16 heads, sequences of 1024, batches of 8. Attention is
one fused call, or separate products. Prints the time of a step without the guard, with it, and with the products of the
gradients checked too, then the alarms of N steps (1,000 unless given), and how many flips of each bit of products of the
model are seen by the device and by the host.
"""
import sys
import time

import assay
import assay.torch
import torch
from assay import _core
from assay._device import load_compiler
from assay._guard import described

THRESHOLD = "rounding_variance,groups=0"
WIDTH, HEADS, LAYERS, LENGTH, BATCH = 1024, 16, 12, 1024, 8


class Block(torch.nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        if self.fused:
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = torch.matmul(q * (WIDTH // HEADS) ** -0.5, k.transpose(-1, -2))
            mixed = torch.matmul(torch.softmax(scores, -1), v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Training:
    def __init__(self, fused):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(*[Block(fused) for _ in range(LAYERS)]).to("cuda", torch.bfloat16)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-3)
        self.inputs = torch.randn(4, BATCH, LENGTH, WIDTH, device="cuda").to(torch.bfloat16)
        self.step_number = 0

    def step(self):
        x = self.inputs[self.step_number % 4]
        self.step_number += 1
        loss = (self.model(x).float() - x.float().roll(1, 1)).pow(2).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def best_ms(self, steps=10, runs=3):
        for _ in range(3):
            self.step()
        best = float("inf")
        for _ in range(runs):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(steps):
                self.step()
            torch.cuda.synchronize()
            best = min(best, (time.perf_counter() - begin) / steps)
        return 1e3 * best


class Record(torch.overrides.TorchFunctionMode):
    """Keeps the operands, the bias and the result of each product."""

    def __init__(self):
        super().__init__()
        self.products = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function.__name__ == "linear":
            x, weight, bias = args
            self.products.append(("linear", x.reshape(-1, x.shape[-1]), weight.t(), bias, out.reshape(-1, out.shape[-1])))
        elif function.__name__ == "matmul":
            a, b = args
            self.products.append(("matmul", a[0, 0], b[0, 0], None, out[0, 0]))
        return out


def flips(training, rows=256):
    """Yields for each product of a layer, bit and direction how many of `rows` flips, each in a row of its own, the device
    and the host see."""
    generator = torch.Generator(device="cuda").manual_seed(1)
    stream = torch.cuda.current_stream().cuda_stream
    with torch.no_grad(), Record() as record:
        training.model[LAYERS // 2](training.inputs[0])
    for name, a, b, bias, c in record.products:
        a, c = a[:rows].contiguous(), c[:rows].contiguous()
        for bit in range(16):
            for direction in (0, 1):
                wrong = c.clone()
                codes = wrong.view(torch.int16)
                fits = (codes.int() >> bit & 1) == direction
                # A random element of each row that has such an element.
                scores = torch.rand(c.shape, device="cuda", generator=generator) * fits
                places = scores.argmax(1)
                has = fits.any(1)
                index = (torch.arange(rows, device="cuda")[has], places[has])
                codes[index] = codes[index] ^ (-2**15 if bit == 15 else 2**bit)
                checksum = _core.device_checksum(0, stream, described(a), described(b), described(wrong),
                                                 None if bias is None else described(bias), threshold=THRESHOLD)
                findings = _core.DeviceFindings(0, stream, 1)
                checksum.start(a.data_ptr(), checksum.weights(b.data_ptr(), 0 if bias is None else bias.data_ptr()),
                               wrong.data_ptr(), 1, findings, 0)
                seen = findings.fetch()[0]["flagged"]
                host = assay.check_product(wrong.cpu(), a.cpu(), b.cpu(), None if bias is None else bias.cpu(),
                                           threshold=THRESHOLD + ",confirm=0").flagged
                yield f"{name} {list(c.shape)}", bit, direction, int(has.sum()), seen, host


def print_flips(training):
    totals, differ = {}, 0
    for _, bit, direction, count, seen, host in flips(training):
        of = totals.setdefault((bit, direction), [0, 0, 0])
        for at, value in enumerate((count, seen, host)):
            of[at] += value
        differ += seen != host
    print(f"flips in six products of a layer: the device and the host see different numbers in {differ} of {6 * 32} cases")
    for (bit, direction), (count, seen, host) in totals.items():
        shares = f", the device sees {seen / count:7.2%}, the host sees {host / count:7.2%}" if count else ""
        print(f"  bit {bit:2}, {direction} to {1 - direction}: {count:5} flips{shares}")


def main():
    load_compiler()
    steps = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 1000
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, assay {assay.__version__}")
    for fused in (True, False):
        print("attention as one fused call:" if fused else "attention as separate products:")
        training = Training(fused)
        plain = training.best_ms()
        print(f"  a step without guard: {plain:.2f} ms")
        for backward in (False, True):
            with assay.torch.guard(training.model, backward=backward) as guard:
                ms = training.best_ms()
                report = guard.report()
            what = "products and gradients" if backward else "products"
            print(f"  a step with guard of {what}: {ms:.2f} ms, {ms / plain - 1:+.1%}; {len(report.products)} products")
        print(f"  a step without guard, again: {training.best_ms():.2f} ms")
    with assay.torch.guard(training.model, backward=True) as guard:
        for _ in range(steps):
            training.step()
        report = guard.report()
    print(f"{steps} steps: " + str(report).split("\n", maxsplit=1)[0])
    print("\n".join(str(report).split("\n")[1:4]))
    print_flips(training)


if __name__ == "__main__":
    main()
