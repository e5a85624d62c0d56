"""Bit sets in registers: population count and lowest bit as one machine instruction each.

Bit sets are int64; bit 63 may be set, the sign is only a bit.  With the JIT off plain Python does the same.
"""

from typing import Any

import numba

from belote_env._jit import kernel

if getattr(numba.config, "DISABLE_JIT", 0):

    def count_bits(bits: int) -> int:
        """How many bits are set."""
        return (int(bits) & (2**64 - 1)).bit_count()

    def lowest_bit(bits: int) -> int:
        """Number of the lowest bit of a set that is not empty."""
        return (int(bits) & -int(bits)).bit_length() - 1

else:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def count_bits(context: Any, bits: Any) -> Any:
        """How many bits are set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), generate

    @intrinsic
    def lowest_bit(context: Any, bits: Any) -> Any:
        """Number of the lowest bit of a set that is not empty."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.int64), generate


@kernel
def nth_bit(low, high, n):
    """Number of the n-th set bit, from 0, of a 128-bit set in two halves."""
    base = 0
    in_low = count_bits(low)
    if n >= in_low:
        n -= in_low
        low, base = high, 64
    for _ in range(n):
        low &= low - 1
    return base + lowest_bit(low)
