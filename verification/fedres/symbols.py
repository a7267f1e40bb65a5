"""Arrays of symbols for claims of this paper."""
import numpy as np

import fltheory as ft


def names(letter, *shape):
    """Names of the entries of an array, and the symbols themselves for a field that holds them."""
    flat = [letter + "_".join(map(str, k)) for k in np.ndindex(*shape)]
    return flat, lambda field: np.array([field.symbols[field.names.index(v)] for v in flat], dtype=object).reshape(shape)


def symbols(single="", **shapes):
    """(field, {name: symbol or array of symbols})."""
    arrays = {k: names(k, *shape) for k, shape in shapes.items()}
    field = ft.Field(" ".join([*single.split(), *(v for flat, _ in arrays.values() for v in flat)]))
    return field, {k: field.symbols[field.names.index(k)] for k in single.split()} | {k: v(field) for k, (_, v) in arrays.items()}
