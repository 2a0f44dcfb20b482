# SPDX-License-Identifier: MIT
"""The prover refuses kernels with faults that an interpreter of code may overlook."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import prove
from claims import COPY, SUM, Proof
from engine import Engine, Function
from image import Image
from moves import APART, MoveProof
from number import Unproven

if platform.machine() != "x86_64":
    pytest.skip("the meanings are those of x86-64", allow_module_level=True)

SOURCE = Path(__file__).with_name("wrong_x86_64.S")
RIGHT = ["sum_right", "copy_right"]
# The start of a kernel's name selects the claim; `summed` is the claim for compiled loops.
CLAIMS = {"sum": SUM, "summed": replace(SUM, size_max=1 << 30, compiled=True), "copy": COPY}
# The reason why each kernel is not proven.
WRONG = {
    "copy_jumps_by_register": "goes on where a register or memory says",
    "copy_jump_with_prefix": "is not encoded as assemblers do it",
    "copy_long_jump_with_prefix": "no meaning for data16 je",
    "copy_call_pops_more": "clobbers rsp",
    "move_calls_pointer": "goes on where a register or memory says",
    "move_jumps_by_pointer": "goes on where a register or memory says",
    "copy_adds_to_rbx": "clobbers rbx",
    "copy_moves_stack": "clobbers rsp",
    "sum_upper_half": "depends on what was in a vector",
    "copy_order_in_vector": "stores something else at 0",
    "copy_order_in_register": "stores something else at 0",
    "copy_old_byte_on_stack": "reads what it has not stored on the stack",
    "summed_leaves_early": "the byte at 2 is not counted",
    "summed_takes_old_carry": "relies on a carry flag that is not set",
    "summed_byte_by_byte": "a loop counts bytes at even and at odd places alike",
    "summed_run_of_another_loop": "the byte at 98 is not counted",
    "summed_uneven_loop": "the byte at 0 is not counted",
    "summed_keeps_upper_half": "loses a carry",
    "sum_swapped": "the result is Summary.inputs=.1,., even=256",
    "copy_leaves_end": "is not written",
    "copy_rep_by_32_bits": "is not encoded as assemblers do it",
    "copy_rep_to_stack": "copies from or to the stack",
    "copy_pushes_16_bits": "no meaning for push of such operands",
    "copy_bit_33": "the byte at 0 is not written",
    "sum_not_aligned": "must be aligned",
    "copy_reads_below_red_zone": "reads below the red zone of the stack",
    "sum_shifts_by_33": "loses a carry",
    "move_leaves_dirty": "leaves the upper halves of vectors dirty",
    "move_hands_on_less": "leaves the upper halves of vectors dirty",
    "move_leaves_dirty_where_ranges_overlap": "leaves the upper halves of vectors dirty",
    "sum_upper_after_movd": "loses a carry",
    "sum_upper_of_zmm_after_movd": "loses a carry",
    "sum_upper_over_loop": "loses a carry",
    "copy_xor_with_upper": "no meaning for xor of two numbers that are not known",
    "move_xor_with_upper": "no meaning for xor of two numbers that are not known",
    "sum_upper_quarter": "loses a carry",
    "sum_upper_of_last_vector": "loses a carry",
    "sum_bswap_of_16_bits": "is not encoded as assemblers do it",
    "copy_streams_without_sfence": "leaves stores past the caches without SFENCE",
    "copy_undefined_prefix": "is not encoded as assemblers do it",
    "copy_2_32_and_7": "the byte at 0 is not written",
    "copy_compares_32_bits": "the byte at 0 is not written",
    "sum_reads_beyond_63": "is read after a cut",
    "sum_reads_beyond_63_of_64": "reads past the end of data",
    "copy_start_61": "the byte at 0 is not written",
    "sum_start_63": "bytes at even places count differently",
    "sum_lane_wraps": "loses a carry",
    "sum_register_wraps": "loses a carry",
    "copy_77_dirty": "leaves the upper halves of vectors dirty",
    "copy_pops_from_wrong_slots": "clobbers rbx",
    "sum_address_of_data": "no meaning for and of bits of the data",
    "sum_zero_of_ones": "loses a carry",
    "copy_99_direction": "touches the direction flag",
    "sum_64_carry": "depends on what a loop leaves in g0",
    "copy_7_before": "reads 1 bytes before the start of data",
    "copy_rep_of_32_bits": "neither size .* could be shown",
    "sum_seed_of_64_bits": "depends on the upper half of sum",
    "copy_mask_of_63": "the byte at 63 is not written",
    "copy_writes_beyond": "writes past the end of dst",
}


def compiled(folder: Path, text: str) -> Image:
    source, library = folder / "code.S", folder / "code.so"
    source.write_text(text)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, source], check=True)
    return Image(library)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return compiled(tmp_path_factory.mktemp("wrong"), SOURCE.read_text())


def attempt(image: Image, name: str) -> None:
    kind = name.partition("_")[0]
    if kind == "move":
        return MoveProof(image, name).run()
    claim = CLAIMS[kind]
    engine = Engine(
        Function.of(image, name, frozenset(claim.returns)), claim.sums, not claim.compiled
    )
    Proof(engine, claim, {"sum_right": SUM}).run()
    return None


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernel_is_proven(image: Image, name: str) -> None:
    attempt(image, name)


def test_right_move_of_ranges_that_are_apart_is_proven(image: Image) -> None:
    MoveProof(image, "move_apart_right", APART).run()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernel_is_not_proven(image: Image, name: str) -> None:
    with pytest.raises(Unproven, match=WRONG[name]):
        attempt(image, name)


def test_no_two_functions_hand_on_to_each_other(tmp_path: Path) -> None:
    code = """
        .macro HAND_ON name, to
        .globl \\name
        .hidden \\name
        .type \\name, @function
    \\name: jmp \\to
        .size \\name, . - \\name
        .endm
        HAND_ON carry_copy_generic, carry_copy_neon
        HAND_ON carry_copy_neon, carry_copy_generic
    """
    image = compiled(tmp_path, code)
    with pytest.raises(Unproven, match="goes on in carry_copy_neon"):
        prove.proof_of(image, "carry_copy_generic").run()
