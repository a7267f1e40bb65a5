"""What an adapter puts in the place of a training code's own calls while a round runs, and counts."""
from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections import Counter

LOSSES = ("CrossEntropyLoss", "NLLLoss", "BCEWithLogitsLoss")
FUNCTIONS = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")


def half_squared_error(output, target, reduction="mean"):
    """|output - target|^2/2 of numbers paired in order: their mean, or their sum, or each of them."""
    if output.numel() != target.numel():
        raise ValueError(f"a squared error of {output.numel()} outputs and {target.numel()} targets: "
                         "the model must give one number a row")
    each = (output.reshape(-1) - target.reshape(-1).to(output.dtype)) ** 2 / 2
    return each if reduction == "none" else each.sum() if reduction == "sum" else each.mean()


@contextlib.contextmanager
def regression(replaced: Counter):
    """Inside the block classification losses are half the squared error, and `.long()` keeps a float tensor.

    Losses are changed in their classes, so that objects made earlier and names imported by hand change too; of the functions
    those are that are called through torch.nn.functional.
    """
    import torch

    functional, originals = torch.nn.functional, []

    def put(owner, name, value):
        originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def forward(name):
        def swapped(self, output, target):
            replaced[f"torch.nn.{name}"] += 1
            return half_squared_error(output, target, self.reduction)
        return swapped

    def function(name):
        def swapped(output, target, *_, reduction="mean", **__):
            replaced[f"torch.nn.functional.{name}"] += 1
            return half_squared_error(output, target, reduction)
        return swapped

    long = torch.Tensor.long

    def shielded(self, *arguments, **keywords):
        if not self.is_floating_point():
            return long(self, *arguments, **keywords)
        replaced["torch.Tensor.long of float numbers"] += 1
        return self

    try:
        for name in LOSSES:
            put(getattr(torch.nn, name), "forward", forward(name))
        for name in FUNCTIONS:
            put(functional, name, function(name))
        put(torch.Tensor, "long", shielded)
        yield
    finally:
        for owner, name, value in reversed(originals):
            setattr(owner, name, value)


@contextlib.contextmanager
def precision(dtype):
    """Tensors made inside the block have this type unless the code says otherwise."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def silence():
    """Nothing is printed, logged or warned of inside the block; errors are raised as ever."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
