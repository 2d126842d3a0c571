"""The sentences that the services say and the pages may show, as a template for the catalogues of translators.

    python -m tools.service_texts build/services.pot

Services speak English: a sentence stands once, in the module that says it, as a text or an f-string. A page finds the
sentence's template again and says it in its own language (`api/pages/spoken.py`). So every text of more than one word
in the modules below is a message, but for documentation, logs and patterns.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from babel.messages import Catalog
from babel.messages.pofile import write_po

ROOT = Path(__file__).parents[1]

MODULES: Sequence[str] = (
    "api/auth.py",
    "api/bodies.py",
    "api/body_limit.py",
    "api/catalogues/choice.py",
    "api/catalogues/service.py",
    "api/diagnosis/matrix_columns.py",
    "api/diagnosis/matrix_file.py",
    "api/diagnosis/names.py",
    "api/diagnosis/models/building.py",
    "api/diagnosis/sessions/service.py",
    "api/loopback.py",
    "api/models/report.py",
    "api/models/service.py",
    "api/models/status.py",
    "api/pages/[!r]*.py",
    "api/pages/routes.py",
    "api/pages/*/*.py",
    "api/problems.py",
    "api/queue_room.py",
    "api/quota.py",
    "api/searches/service.py",
    "api/single_sign_on/identity.py",
    "api/single_sign_on/provider.py",
    "api/test_selection/problems/building.py",
    "api/test_selection/problems/service.py",
    "api/test_selection/rounds/service.py",
    "api/turns.py",
    "api/uploads.py",
    "autoprog/catalogue.py",
    "autoprog/cohort/alignment.py",
    "autoprog/cohort/[c-d]*.py",
    "autoprog/cohort/e*.py",
    "autoprog/cohort/f*.py",
    "autoprog/cohort/inference.py",
    "autoprog/cohort/messages.py",
    "autoprog/cohort/outcome*.py",
    "autoprog/cohort/patients.py",
    "autoprog/cohort/r*.py",
    "autoprog/cohort/source.py",
    "autoprog/cohort/spec*.py",
    "autoprog/cohort/t*.py",
    "autoprog/cohort/visit*.py",
    "autoprog/cohort/w*.py",
    "autoprog/csmd/arms.py",
    "autoprog/csmd/classifiers.py",
    "autoprog/csmd/evidence.py",
    "autoprog/csmd/policies.py",
    "autoprog/csmd/problem.py",
    "autoprog/csmd/selection.py",
    "autoprog/diagnosis/building.py",
    "autoprog/diagnosis/cells.py",
    "autoprog/diagnosis/cohort_model.py",
    "autoprog/diagnosis/session.py",
    "autoprog/endpoints/*.py",
    "autoprog/interpreter/strata.py",
    "autoprog/metalearning/meta_features/recognition.py",
    "autoprog/model/comparison.py",
    "autoprog/model/external_validation.py",
    "autoprog/model/next_tests.py",
    "autoprog/model/training_overlap.py",
    "autoprog/model/updating.py",
    "autoprog/report/verdict.py",
    "autoprog/search/delivery/[ads]*.py",
    "autoprog/search/loop.py",
    "autoprog/search/planning.py",
    "autoprog/search/settings.py",
    "autoprog/space/space.py",
    "autoprog/storage/pages.py",
    "autoprog/storage/repositories/_owned.py",
    "autoprog/storage/repositories/browser_sessions.py",
    "autoprog/storage/repositories/cohorts.py",
    "autoprog/storage/repositories/diagnosis.py",
    "autoprog/storage/repositories/keys.py",
    "autoprog/storage/repositories/searches.py",
    "autoprog/storage/repositories/test_selection_rounds.py",
    "autoprog/strict_json.py",
    "autoprog/work/leases.py",
    "autoprog/work/runner.py",
)
"""Modules whose sentences reach a page."""

_SILENT = {"text", "translate", "Field", "compile", "startswith", "endswith", "removeprefix", "fullmatch", "getLogger"}
_SILENT_KEYWORDS = {"description", "summary", "title", "pattern"}
_LOG = {"debug", "info", "warning", "error", "exception"}
_OF_PYDANTIC = (
    "Field required",
    "Extra inputs are not permitted",
    "Input should be %(expected)s",
    "Input should be greater than %(gt)s",
    "Input should be greater than or equal to %(ge)s",
    "Input should be less than %(lt)s",
    "Input should be less than or equal to %(le)s",
    "Input should be a finite number",
    "Input should be a valid string",
    "Input should be a valid number",
    "Input should be a valid number, unable to parse string as a number",
    "Input should be a valid integer",
    "Input should be a valid integer, unable to parse string as an integer",
    "Input should be a valid integer, got a number with a fractional part",
    "Input should be a valid boolean",
    "Input should be a valid list",
    "Input should be a valid dictionary",
    "String should have at least %(min_length)s character",
    "String should have at least %(min_length)s characters",
    "String should have at most %(max_length)s character",
    "String should have at most %(max_length)s characters",
)
"""Messages of pydantic that the pages' forms and the specs that they make can cause."""

_WORDS = (
    "or", "and", "has", "have", "is", "are", "was", "were", "repeats", "repeat", "with", "without",
    "queued", "running", "succeeded", "failed", "cancelled", "timeout", "memory", "crashed", "invalid",
    "approved", "retired", "owner", "cohort", "search", "model", "validation", "job", "diagnosis model",
    "diagnosis session", "test catalogue", "test selection problem", "test selection round",
    "objects", "queries", "object", "query", "rows", "columns", "costs", "minutes", "harm", "numeric", "binary",
    "categorical", "ordinal", "rules", "ensemble", "report", "explanation", "ignored", "measurements", "predictions",
    "labels",
)  # fmt: skip
"""Words that stand in a placeholder: states, kinds of things, and what goes with one or several."""

Message = str | tuple[str, str]


def list_messages() -> Iterator[tuple[Message, str]]:
    """List each message with the file that says it; one that counts is a pair, for one and for several."""
    for pattern in MODULES:
        for path in sorted(ROOT.glob(pattern)):
            for message in read_module(path.read_text()):
                yield message, str(path.relative_to(ROOT))
    for text in _OF_PYDANTIC:
        yield text, "pydantic"
    for word in _WORDS:
        yield word, "words"


def read_module(source: str) -> Sequence[Message]:
    """List the messages of a module."""
    reader = _Reader()
    reader.visit(ast.parse(source))
    return reader.messages


def build_template() -> Catalog:
    """Return the catalogue without translations."""
    catalog = Catalog()
    for message, file in list_messages():
        catalog.add(message, locations=[(file, None)])
    return catalog


class _Reader(ast.NodeVisitor):
    """Collects the messages of a module."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        """Pass over documentation."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Pass over what a text is compared with."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Pass over the values of a type."""
        if _name(node.value) != "Literal":
            self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Pass over keys."""
        for value in node.values:
            self.visit(value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Pass over the headers of an answer."""
        if all(_name(target) != "headers" for target in node.targets):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Pass over decorators and types."""
        for each in (*node.args.defaults, *node.body):
            self.visit(each)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Pass over documentation for programs."""
        if node.arg not in _SILENT_KEYWORDS:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Pass over logs, patterns and the pages' own catalogue; what is counted is a pair of messages."""
        name = _name(node.func)
        is_logged = name in _LOG and isinstance(node.func, ast.Attribute)
        is_own = (isinstance(node.func, ast.Name) and node.func.id == "_") or isinstance(node.func, ast.Call)
        if name in _SILENT or is_logged or is_own:
            return
        nouns = [str(each.value) for each in node.args[1:] if isinstance(each, ast.Constant)]
        if name == "count_text" and nouns:
            plural = nouns[1] if len(nouns) > 1 else nouns[0] + "s"
            self.messages.append((f"%(num)s {nouns[0]}", f"%(num)s {plural}"))
            self.visit(node.args[0])
        else:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Take a text."""
        if isinstance(node.value, str):
            self._take(node.value.replace("%", "%%"))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Take an f-string with its placeholders, and the texts within these."""
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                name = _name(part.value) or "value"
                count = sum(each.startswith(f"%({name}") for each in parts)
                parts.append(f"%({name}{count + 1 if count else ''})s")
                self.visit(part.value)
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value).replace("%", "%%"))
        self._take("".join(parts))

    def _take(self, text: str) -> None:
        if _is_sentence(text):
            self.messages.append(text)


def _is_sentence(text: str) -> bool:
    words = re.findall(r"[A-Za-z]+", re.sub(r"%\(\w+\)s", "", text))
    return " " in text and not set(text) & set("\\{<") and (len(words) > 1 or (len(words) == 1 and "%(" in text))


def _name(node: ast.AST) -> str:
    """Return the name that a translator sees for an expression: its last, or that of what it is made of."""
    if isinstance(node, ast.Name):
        return node.id.lstrip("_")
    if isinstance(node, ast.Attribute):
        return node.attr.lstrip("_")
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    if isinstance(node, ast.Call):
        inner = next((_name(each) for each in node.args if _name(each)), "")
        return inner if isinstance(node.func, ast.Name) and inner and node.func.id.islower() else _name(node.func)
    return ""


if __name__ == "__main__":
    with Path(sys.argv[1]).open("wb") as file:
        write_po(file, build_template(), omit_header=True, width=0)
