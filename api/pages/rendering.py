"""Render a page: the templates, the language, and the headers that keep other sites' scripts out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from babel.support import NullTranslations
from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from api.pages.languages import (
    LANGUAGES,
    SOURCE,
    Formats,
    choose_language,
    load_services,
    load_texts,
    load_translations,
)
from api.pages.numbers import numbers_of
from api.pages.once import once_field
from api.pages.sessions import csrf_token, has_scope
from autoprog.scopes import Scope

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def render(request: Request, template: str, *, status: int = HTTPStatus.OK, **values: Any) -> HTMLResponse:  # noqa: ANN401  whatever templates show
    """Render a template as a response."""
    language = choose_language(request)
    page = _environment(language).get_template(template).render(request=request, **values)
    headers = {
        "Content-Security-Policy": _POLICY,
        "Vary": "Accept-Language, Cookie",
        # With `no-referrer` browsers send forms as of an unknown origin, which a local server refuses.
        "Referrer-Policy": "same-origin",
    }
    return HTMLResponse(page, status_code=status, headers=headers)


def confirm(request: Request, title: str, what: str, back: str, *choices: tuple[str, str, str]) -> Response:
    """Ask before something is deleted: the name, value and text of each button, and the address without it."""
    return render(request, "confirm.html", title=title, what=what, back=back, choices=choices)


def redirect(address: str) -> Response:
    """Lead from a form to the page that it has changed or made."""
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def translate(request: Request) -> Callable[[str], str]:
    """Return gettext in the language of a request, for texts that are made outside of templates."""
    texts: NullTranslations = load_translations(choose_language(request))
    return texts.gettext


@lru_cache
def _environment(language: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("api.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_translations(load_translations(language), newstyle=True)  # type: ignore[attr-defined]
    formats = Formats(language)
    environment.filters.update(formats.filters(), typed=numbers_of(language).write, with_lang=_lang_marker(language))
    plural = environment.globals["ngettext"]

    @pass_context
    def count(context: Context, one: str, many: str, n: int) -> str:
        return plural(context, one, many, n, num=formats.integer(n))  # type: ignore[operator,no-any-return]

    environment.globals.update(
        ngettext=count,
        csrf_token=csrf_token,
        may=_may,
        language=language,
        languages=LANGUAGES,
        version=version("autoprog"),
        csrf_field=_csrf_field,
        once_field=once_field,
    )
    return environment


def _lang_marker(language: str) -> Callable[[str], str]:
    """Return a filter that translates what services say, and marks as English what has no translation."""
    own, services = load_texts(language), load_services(language)

    def mark(text: str) -> str:
        # A fault may begin with the name of its field.
        if language == SOURCE or text in own or text.rpartition(": ")[2] in own:
            return text
        said = services.translate(text)
        if said is not None:
            return said
        return Markup('<span lang="{}">{}</span>').format(SOURCE, text)

    return mark


@pass_context
def _may(context: Context, scope: Scope) -> bool:
    """Check whether who looks at the page has a scope; without it nothing is offered that needs it."""
    return has_scope(context["request"], scope)


@pass_context
def _csrf_field(context: Context) -> Markup:
    """Return the hidden field that a form needs; nothing without a session."""
    token = csrf_token(context["request"])
    return Markup("") if token is None else Markup('<input type="hidden" name="csrf_token" value="{}">').format(token)
