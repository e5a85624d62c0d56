"""Bit sets in registers: counted, searched and written out as bytes by a few machine instructions.

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

    def store_bits(bits: int, out: Any, row: int, at: int) -> None:
        """Write 32 bits as 32 bytes of 0 or 1, lowest first, to words `at` … `at + 3` of `out[row]`, (n, m) uint64."""
        for k in range(4):
            byte = (int(bits) >> (8 * k)) & 255
            out[row, at + k] = sum((byte >> b & 1) << (8 * b) for b in range(8))

    def deposit(source: int, bits: int) -> int:
        """The bits of `source`, lowest first, put where `bits` are set (the PDEP instruction)."""
        result, bits = 0, int(bits) & (2**64 - 1)
        while bits:
            if source & 1:
                result |= bits & -bits
            source >>= 1
            bits &= bits - 1
        return result

else:
    import llvmlite.binding
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

    @intrinsic
    def store_bits(context: Any, bits: Any, out: Any, row: Any, at: Any) -> Any:
        """Write 32 bits as 32 bytes of 0 or 1, lowest first, to words `at` … `at + 3` of `out[row]`, (n, m) uint64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bits, out, row, at = arguments
            array = context.make_array(signature.args[1])(context, builder, out)
            columns = builder.extract_value(array.shape, 1)
            word = builder.gep(array.data, [builder.add(builder.mul(row, columns), at)])
            lanes = builder.bitcast(builder.trunc(bits, ir.IntType(32)), ir.VectorType(ir.IntType(1), 32))
            wide = builder.zext(lanes, ir.VectorType(ir.IntType(8), 32))
            builder.store(wide, builder.bitcast(word, wide.type.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, out, types.int64, types.int64), generate

    if llvmlite.binding.get_host_cpu_features().get("bmi2"):

        @intrinsic
        def deposit(context: Any, source: Any, bits: Any) -> Any:
            """The bits of `source`, lowest first, put where `bits` are set (the PDEP instruction)."""

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                word = ir.IntType(64)
                pdep = builder.module.declare_intrinsic("llvm.x86.bmi.pdep.64", (), ir.FunctionType(word, [word, word]))
                return builder.call(pdep, arguments)

            return types.int64(types.int64, types.int64), generate

    else:

        @kernel
        def deposit(source: int, bits: int) -> int:
            """The bits of `source`, lowest first, put where `bits` are set."""
            result = 0
            while bits:
                if source & 1:
                    result |= bits & -bits
                source >>= 1
                bits &= bits - 1
            return result


@kernel
def choose(flag, one, zero):
    """`one` where `flag` is 1, `zero` where it is 0: arithmetic, since a compiler may turn a choice into a branch."""
    return zero ^ ((zero ^ one) & -flag)


@kernel
def is_some(bits):
    """1 for a set of bits below 63 that is not empty, 0 for the empty one."""
    return (-bits >> 63) & 1


@kernel
def nth_bit(low, high, n):
    """Number of the n-th set bit, from 0, of a 128-bit set in two halves."""
    base = 0
    in_low = count_bits(low)
    if n >= in_low:
        n -= in_low
        low, base = high, 64
    return base + lowest_bit(deposit(1 << n, low))
