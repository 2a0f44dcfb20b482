# SPDX-License-Identifier: MIT
"""The tests of names and of arguments omit no public function."""

from __future__ import annotations

import re
import sys

from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from check_symbols import api_symbols, code

HEADERS = sorted((SOURCE / "include/carry").glob("*.h"))

# Functions to which the rule of base.h on NULL, sizes of 0 and unknown numbers does not apply, by
# reason.
NO_FUNCTIONS = r"carry_op_\w+_export|carry_thunk_(any|around|enter)"
TAKE_NOTHING = r"carry_(xstate_(default|enabled)|thunk_prepare|patch_(never|nothing))"
TAKE_ANY_NUMBER = r"carry_sum_(combine|finish|finish_nonzero|fold|update16|update32)"
TAKE_POINTERS_TO_SOMETHING = (
    r"carry_capture_(can_rewind|check|checker_run|descriptions|descriptor|fix|fix_reads_twice|"
    r"frame|is_all_zero|is_complete|is_compressed|last_error|offset|open_source|outcome|position|"
    r"repair_totals|rewind|size|map|"
    r"summary_create|summary_merge|totals|writer_end|writer_errno)|"
    r"carry_context_(exchange|preempt|switch)|carry_fault_(enter|leave)|carry_load_zeropad|"
    r"carry_hook_places|carry_patch_(abort|import|set|stats|unimport)|"
    r"carry_section_(create|end|forget|reload|sync)|carry_sum_(pseudo4|pseudo6|update128)|"
    r"carry_xstate_(load|save)"
)
# The argument of carry_patch_apply() is a set of flags, and many tests begin with this call.
TAKE_FLAGS = r"carry_patch_apply"
EXEMPT = re.compile(
    "|".join([NO_FUNCTIONS, TAKE_NOTHING, TAKE_ANY_NUMBER, TAKE_POINTERS_TO_SOMETHING, TAKE_FLAGS])
)


def text(*tests: str) -> str:
    return "\n".join((SOURCE / "tests/unit" / name).read_text() for name in tests)


def test_every_function_of_names_is_tested() -> None:
    naming = re.compile(r"\bconst char \*(carry_\w+_(?:name|text|description))\((?!void)")
    found = {name for header in HEADERS for name in naming.findall(code(header))}
    table = set(re.findall(r'^ *\{"(carry_\w+)",', text("test_names.c"), re.MULTILINE))
    assert len(found) > 8
    assert found == table


def test_every_function_is_called_with_wrong_arguments() -> None:
    asked = text(
        "test_arguments.c", "test_arguments_capture.c", "test_arguments_jit.c", "test_names.c"
    )
    functions = api_symbols(HEADERS)
    assert len(functions) > 100
    missing = {name for name in functions if not re.search(rf"\b{name}\b", asked)}
    assert {name for name in missing if not EXEMPT.fullmatch(name)} == set()
