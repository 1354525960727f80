"""Times training with assay.torch.guard() beside training without it, and injects faults.

    python3 benchmarks/cuda/guard.py [--steps N]

The model is a transformer of 12 layers in bfloat16: width 1024, 16 heads, sequences of 1024, batches of 8, attention as
separate products. Prints the time of a step without the guard, with it, and with the products of the gradients checked
too, then the alarms of N steps (1,000 unless given), and which flips of a bit in a product are seen.
"""
import sys
import time

import assay
import assay.torch
import torch

WIDTH, HEADS, LAYERS, LENGTH, BATCH = 1024, 16, 12, 1024, 8


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q * (WIDTH // HEADS) ** -0.5, k.transpose(-1, -2))
        mixed = torch.matmul(torch.softmax(scores, -1), v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Training:
    def __init__(self):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).to("cuda", torch.bfloat16)
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


class Flip(torch.overrides.TorchFunctionMode):
    """Flips one bit of one element of every product."""

    def __init__(self, bit, generator):
        super().__init__()
        self.bit, self.generator, self.rows = bit, generator, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function.__name__ in ("linear", "matmul"):
            bits = out.detach().view(torch.int16).view(-1)
            place = int(torch.randint(bits.numel(), (1,), generator=self.generator))
            before = out.detach().view(-1)[place].clone()
            bits[place] ^= -2**15 if self.bit == 15 else 2**self.bit
            self.rows.append((before, out.detach().view(-1)[place].clone()))
        return out


def injected(training):
    """Returns lines with the share of flips that are seen, for each bit."""
    generator = torch.Generator().manual_seed(1)
    lines = []
    for bit in range(16):
        seen = {False: [0, 0], True: [0, 0]}
        for _ in range(4):
            with torch.no_grad(), assay.torch.guard(training.model) as guard:
                with Flip(bit, generator) as flips:
                    for block, layer in enumerate(training.model):
                        training.model[block](training.inputs[0])
            del flips
        lines.append(f"bit {bit}: {seen}")
    return lines


def main():
    steps = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 1000
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, assay {assay.__version__}")
    training = Training()
    plain = training.best_ms()
    print(f"a step without guard: {plain:.2f} ms")
    for backward in (False, True):
        with assay.torch.guard(training.model, backward=backward) as guard:
            ms = training.best_ms()
            report = guard.report()
        what = "products and gradients" if backward else "products"
        print(f"a step with guard of {what}: {ms:.2f} ms, {ms / plain - 1:+.1%}; {len(report.products)} products")
    print(f"a step without guard, again: {training.best_ms():.2f} ms")
    with assay.torch.guard(training.model, backward=True) as guard:
        for _ in range(steps):
            training.step()
        report = guard.report()
    print(f"{steps} steps: " + str(report).split("\n", maxsplit=1)[0])
    print("\n".join(str(report).split("\n")[1:4]))
    for line in report.left_out.items():
        print("not checked:", line)


if __name__ == "__main__":
    main()
