"""Arrays of numbers in payloads, which Plotly takes as they are.

Whole numbers get the smallest type that holds them all; beyond 32 bits that is f8, which is exact
below 2^53.
"""

import base64
from typing import NotRequired

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described, show_as


@described
class TypedArray(TypedDict):
    """Little-endian numbers.

    Attributes:
        dtype: ``i1``, ``i2``, ``i4``, ``u1`` or ``f8``.
        bdata: the numbers in base64.
        shape: the numbers of rows and columns, as ``2,3``; absent for a single row.
    """

    dtype: str
    bdata: str
    shape: NotRequired[str]


show_as(np.ndarray, TypedArray)


def typed_array(numbers: NDArray) -> TypedArray:
    """Encode numbers as Plotly takes them.

    Whole numbers get the smallest type that holds them all. Those beyond 32 bits, and fractions,
    are sent as f8.
    """
    packed = np.ascontiguousarray(numbers.astype(_dtype(numbers)))
    array: TypedArray = {
        "dtype": packed.dtype.str[1:],
        "bdata": base64.b64encode(packed.data).decode("ascii"),
    }
    if packed.ndim == 2:
        array["shape"] = f"{packed.shape[0]},{packed.shape[1]}"
    return array


def numbers_of(array: TypedArray) -> NDArray[np.float64]:
    """Return the numbers of what ``typed_array`` has encoded, in one row."""
    return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).astype(np.float64)


def _dtype(numbers: NDArray) -> str:
    if numbers.dtype.kind == "b":
        return "|u1"
    if numbers.dtype.kind not in "iu":
        return "<f8"
    low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)
    for dtype in ("|i1", "<i2", "<i4"):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return dtype
    return "<f8"
