#!/usr/bin/env python3
"""Writes the tree torch/ beside this script. It has both sides of a run as PyTorch's torch.save
writes them (made with Debian's python3-torch 1.13), with nested dicts, views of shared storages and
a bfloat16 bias.

    /usr/bin/python3 datasets/interop/make_torch_samples.py [FOLDER]

Exits with 77 if there is no PyTorch. One output is wrong on purpose, and its name says so (bad).
"""
import pathlib
import shutil
import sys

try:
    import torch
    torch.save  # raises AttributeError if `torch` is not PyTorch but the folder torch/ beside this file
except (ImportError, AttributeError):
    print("there is no PyTorch here")
    sys.exit(77)


def numbers(*shape):
    """Returns multiples of 1/8, which are the same on every machine."""
    count = 1
    for extent in shape:
        count *= extent
    return ((torch.arange(count, dtype=torch.int64) * 37 % 101 - 50).to(torch.float32) / 8).reshape(shape)


def main():
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    root = here / "torch"
    shutil.rmtree(root, ignore_errors=True)
    w, b = numbers(8, 16), numbers(16).to(torch.bfloat16)
    both = numbers(2, 4, 6)
    layers = {"model": {"w": w, "b": b, "w_t": w.t()},  # w and w_t share one storage
              "step": torch.tensor([3, 4], dtype=torch.int64)}
    head = {"first": both[0], "last": both[1]}  # both are views of one storage, the second one with an offset
    bad = both.clone()
    bad[1, 2, 3] += 0.25
    for side, gives in (("gold", head), ("out", {"first": both[0].clone(), "last": bad[1]})):
        folder = root / side
        folder.mkdir(parents=True)
        torch.save(layers, folder / "layers.pt")
        torch.save(gives, folder / "head_bad.pt")


if __name__ == "__main__":
    main()
