# SPDX-License-Identifier: MIT
"""The reference of the package libcarry for Python, made from its sources without importing them.

Descriptions are the docstrings of files in Python and in C. Signatures come from files in Python
and from the stub. Columns and members are rows of tables.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from .headers import ROOT, wrapped

PACKAGE = ROOT / "bindings/python/libcarry"
SOURCES = ROOT / "bindings/python/src"
PAGE = ROOT / "docs/reference/python.md"
WIDTH = 96  # columns of a signature

# Headings, by the file in Python or the section of the stub that defines the names.
HEADINGS = {
    "captures": "Captures",
    "packets": "Packets in memory",
    "sums": "Sums of bytes",
    "testing": "libcarry.testing",
    "audit": "libcarry.audit",
    "spark": "libcarry.spark",
    "tables": "Tables",
    "": "Constants and exceptions",
}

# Modules that users import separately, by their headings.
MODULES = {"testing": "testing.py", "audit": "audit/__init__.py", "spark": "spark.py"}

# Arrow's names for the types of columns, by the names in tables.def.
ARROW = {
    "TEXT": "string",
    "BOOL": "bool",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "TIME": "timestamp[ns, UTC]",
}


@dataclass
class Entry:
    """A name, and its description."""

    name: str
    code: str  # how it is declared, or its type
    text: str
    kind: str = "member"  # or "function", "class", "value"
    members: list[Entry] = field(default_factory=list)


@dataclass
class Table:
    """A table: its description ("A row for each ..."), and its columns."""

    name: str
    text: str
    columns: list[Entry] = field(default_factory=list)


# --- Sources in C ---

LITERAL = r"\"(?:\\.|[^\"\\])*\""
TEXT = rf"({LITERAL}(?:\s*{LITERAL})*)"
FUNCTION = re.compile(r"(\w+)\([^\n]*\)\n--\n\n(.*)", re.DOTALL)
NAMED = re.compile(rf"\"(?:libcarry\.)?(\w+)\",\s*{TEXT},")
TYPE = re.compile(rf"\{{Py_tp_doc, {TEXT}\}}.*?\.name = \"libcarry\.(\w+)\"", re.DOTALL)
MEMBER = re.compile(rf"\{{\"(\w+)\", [^\"{{}}]*,\s*{TEXT}")
COLUMN = re.compile(r"^(?:/\* (A row .*) \*/|([A-Z]+)\((\w+), (\w+), (\w+), (\".*\")\))$", re.M)
SUM_FIELD = re.compile(rf"^SUM_FIELD\((\w+), .*, ({LITERAL})\)$", re.M)


def literal_text(literals: str) -> str:
    """Returns the text of adjacent string literals."""
    return "".join(ast.literal_eval(each) for each in re.findall(LITERAL, literals))


def columns(text: str) -> list[Table]:
    """Returns the tables of tables.def."""
    found: list[Table] = []
    for about, table, name, kind, is_nullable, words in COLUMN.findall(text):
        if about:
            found.append(Table("", about))
        else:
            null = ", or null" if is_nullable == "true" else ""
            found[-1].name = table.lower()
            found[-1].columns.append(Entry(name, ARROW[kind] + null, literal_text(words)))
    return found


TABLES = columns((SOURCES / "tables.def").read_text())


@functools.cache
def texts_of_c() -> dict[str, str]:
    """Returns docstrings in C: of functions, types and exceptions by name, of members by
    "type.name" or, if a file has only one type, by "file.name"."""
    fields = SUM_FIELD.findall((SOURCES / "packet_sum.def").read_text())
    found = {f"PacketSum.{name}": literal_text(text) for name, text in fields}
    (findings,) = (table for table in TABLES if table.name == "findings")
    found |= {f"Finding.{each.name}": each.text for each in findings.columns}
    for path in sorted(SOURCES.glob("*.c")):
        code = path.read_text()
        found |= {name: literal_text(text) for name, text in NAMED.findall(code)}
        found |= {name: literal_text(text) for text, name in TYPE.findall(code)}
        found |= {f"{path.stem}.{name}": literal_text(text) for name, text in MEMBER.findall(code)}
        for literals in re.findall(TEXT, code):
            if function := FUNCTION.fullmatch(literal_text(literals)):
                found[function[1]] = function[2]
    return found


# --- Sources in Python ---


class Module:
    """A file in Python, or the stub."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        text = path.read_text()
        self.lines = text.splitlines()
        self.body = ast.parse(text).body
        self.text = ast.get_docstring(ast.Module(self.body, [])) or ""
        self.values = {
            node.targets[0].id: node.value
            for node in self.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def shown(self, node: ast.expr) -> str:
        """Returns an expression, with values in place of this module's own names for them."""
        values = self.values

        class Values(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                return values.get(name.id, name)

        return ast.unparse(Values().visit(node)).replace("'", '"')

    def remark(self, node: ast.stmt) -> str:
        """Returns the comment at the end of a statement's first line, or else the comment on the
        line above, or ""."""
        above, line = self.lines[node.lineno - 2], self.lines[node.lineno - 1]
        behind = line.partition("  # ")[2]
        return behind or above.removeprefix("# ") * above.startswith("# ")

    def section(self, node: ast.stmt) -> str:
        """Returns the stem of the file that the section of the stub around `node` names, or ""."""
        above = "\n".join(self.lines[: node.lineno])
        return next(iter(re.findall(r"^# --- (\w+)\.c ---$", above, re.M)[::-1]), "")


def parameters(module: Module, arguments: ast.arguments) -> Iterator[str]:
    def shown(each: ast.arg, default: ast.expr | None) -> str:
        kind = f": {module.shown(each.annotation)}" if each.annotation else ""
        return each.arg + kind + (f" = {module.shown(default)}" if default else "")

    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    defaults = [*[None] * required, *arguments.defaults]
    for number, (each, default) in enumerate(zip(positional, defaults, strict=True), 1):
        if each.arg != "self":
            yield shown(each, default)
        if number == len(arguments.posonlyargs):
            yield "/"
    if arguments.kwonlyargs:
        yield "*"
    yield from map(shown, arguments.kwonlyargs, arguments.kw_defaults)


def signature(module: Module, node: ast.FunctionDef) -> str:
    result = f" -> {module.shown(node.returns)}" if node.returns else ""
    return f"{node.name}({', '.join(parameters(module, node.args))}){result}"


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


class Reader:
    """Makes entries of the declarations in modules."""

    def __init__(self) -> None:
        self.of_c = texts_of_c()

    def text(self, module: Module, node: ast.FunctionDef | ast.ClassDef, owner: str = "") -> str:
        if own := ast.get_docstring(node):
            return own
        names = [f"{owner}.{node.name}", f"{module.section(node)}.{node.name}"]
        return next((self.of_c[name] for name in names if owner and name in self.of_c), "")

    def member(self, module: Module, node: ast.stmt, owner: str) -> Entry | None:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            is_value = is_property(node) and node.returns
            code = module.shown(node.returns) if is_value else signature(module, node)
            return Entry(node.name, code, self.text(module, node, owner))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, kind = node.target.id, module.shown(node.annotation)
            if name.startswith("_"):
                return None
            return Entry(name, kind, self.of_c.get(f"{owner}.{name}") or module.remark(node))
        return None

    def type(self, module: Module, node: ast.ClassDef) -> Entry:
        bases = ", ".join(map(module.shown, node.bases))
        code = f"class {node.name}" + f"({bases})" * bool(bases)
        text = self.text(module, node) or self.of_c.get(node.name, "")
        members = (self.member(module, each, node.name) for each in node.body)
        return Entry(node.name, code, text, "class", [each for each in members if each])

    def entry(self, module: Module, node: ast.stmt) -> Entry | None:
        """Returns the entry for a statement at the top of a module, or None if it has no name for
        users."""
        if isinstance(node, ast.ClassDef):
            return self.type(module, node)
        if isinstance(node, ast.FunctionDef):
            text = self.text(module, node) or self.of_c.get(node.name, "")
            return Entry(node.name, signature(module, node), text, "function")
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = module.shown(node.annotation).removeprefix("Final[").removesuffix("]")
            return Entry(node.target.id, kind, module.remark(node), "value")
        return None

    def entries(self, module: Module) -> Iterator[tuple[str, Entry]]:
        """Yields the entries of a module, each with its place in HEADINGS."""
        is_stub = module.name == "_carry"
        for node in module.body:
            if entry := self.entry(module, node):
                yield module.section(node) if is_stub else module.name, entry


def public_names(module: Module) -> set[str]:
    """Returns the module's own names that `from module import *` imports."""
    if "__all__" in module.values:
        return set(ast.literal_eval(module.values["__all__"]))
    names = {each.name for each in module.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    return {name for name in names if not name.startswith("_")}


def read_entries() -> dict[str, list[Entry]]:
    """Returns all public names, by HEADINGS: functions, then classes, then values."""
    reader, names = Reader(), public_names(Module(PACKAGE / "__init__.py"))
    found: dict[str, dict[str, Entry]] = {place: {} for place in HEADINGS}
    for file in ("captures.py", "packets.py", "_carry.pyi"):
        for place, entry in reader.entries(Module(PACKAGE / file)):
            known = any(entry.name in entries for entries in found.values())
            if entry.name in names and not known:
                found[place][entry.name] = entry
    for place, file in MODULES.items():
        module = Module(PACKAGE / file)
        entries = [entry for _, entry in reader.entries(module)]
        found[place] = {each.name: each for each in entries if each.name in public_names(module)}
    order = ("function", "class", "value")
    return {
        place: sorted(entries.values(), key=lambda entry: order.index(entry.kind))
        for place, entries in found.items()
    }


def audit_columns() -> Iterator[Entry]:
    """Yields the columns that audits add to the table of files."""
    module = Module(PACKAGE / "audit/tables.py")
    for row in cast(ast.Tuple, module.values["EXTRA_FILES"]).elts:
        name, kind, is_nullable, text = cast(ast.Tuple, row).elts
        shown = module.shown(kind).removeprefix("pyarrow.").removesuffix("()")
        null = ", or null" if ast.literal_eval(is_nullable) else ""
        code = re.sub(r"(\w+)\(\"(\w+)\", \"(\w+)\"\)", r"\1[\2, \3]", shown) + null
        yield Entry(ast.literal_eval(name), code, ast.literal_eval(text))


def aliases() -> Iterator[Entry]:
    """Yields the names of parameters' types."""
    module = Module(PACKAGE / "_types.py")
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield Entry(node.name, "object", ast.get_docstring(node) or "")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield Entry(node.target.id, module.shown(node.value), module.remark(node))


# --- The page ---


def linked(text: str, names: Iterable[str]) -> str:
    """Returns text with links to the functions of this page that it names."""
    known = set(names)

    def link(found: re.Match[str]) -> str:
        return f"[`{found[0]}`](#{found[1]})" if found[1] in known else found[0]

    return re.sub(r"(?<![\w`.])(\w+)\(\)(?!`)", link, text)


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def rows(head: str, entries: list[Entry]) -> str:
    titles = f"| {head} | type | is |\n|---|---|---|\n"
    cells = (
        f"| {code(each.name)} | {code(each.code)} | {' '.join(each.text.split())} |\n"
        for each in entries
    )
    return titles + "".join(cells)


def described(entry: Entry) -> str:
    name = entry.name + "()" * (entry.kind == "function")
    declared = "\n".join(wrapped(entry.code, WIDTH))
    shown = f"### `{name}`\n\n```python\n{declared}\n```\n\n{inspect.cleandoc(entry.text)}\n"
    return shown + f"\n{rows('member', entry.members)}" * bool(entry.members)


HEAD = """\
# The package libcarry

`import libcarry`; [python](../python.md) has the contracts that all functions share, an example,
and the limits. `scripts/make_python_reference.py` makes this page of the sources.
"""


def section(place: str, entries: list[Entry]) -> Iterator[str]:
    yield f"## {HEADINGS[place]}\n"
    if place in MODULES:
        yield Module(PACKAGE / MODULES[place]).text + "\n"
    if values := [entry for entry in entries if entry.kind == "value"]:
        yield rows("name", values)
    yield from (described(entry) for entry in entries if entry.kind != "value")
    if place == "tables":
        for table in TABLES:
            yield f"### The table {table.name}\n"
            yield f"{table.text}\n"
            yield rows("column", table.columns)
        yield "### What audits add to the table files\n"
        yield "In tables of `libcarry.audit` and of Spark these columns follow.\n"
        yield rows("column", list(audit_columns()))


def page() -> str:
    """Returns the reference in Markdown."""
    found = read_entries()
    functions = [each.name for entries in found.values() for each in entries]
    parts = [each for place, entries in found.items() for each in section(place, entries)]
    parts += ["## Types of parameters\n", rows("name", list(aliases()))]
    shown = re.split(r"(^```.*?^```$)", "\n".join([HEAD, *parts]), flags=re.M | re.DOTALL)
    shown[::2] = [linked(text, functions) for text in shown[::2]]
    return "".join(shown)
