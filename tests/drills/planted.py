"""Faults that can be planted in leases, store and runner, to show that the simulation finds them."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Fault(NamedTuple):
    """Text of a module, and what stands in its place."""

    module: str
    before: str
    after: str


_LEASES, _STORE = "autoprog.storage.leases", "autoprog.storage.store"
_SIGNALS, _WORK, _RUNNER = "autoprog.work.signals", "autoprog.work.leases", "autoprog.work.runner"
_HELD = "and_(table.id == held_id, table.token == held_token, table.status == _RUNNING)"
_EXPIRED = "and_(table.status == _RUNNING, or_(table.lease_until <= now, table.lease_until > ahead))"
_ROW = "session.get_one(SearchRow, claim.search_id)"

FAULTS: dict[str, Fault] = {
    "a lease without a new token": Fault(_LEASES, "token=table.token + 1,", "token=table.token,"),
    "old tokens hold": Fault(_LEASES, _HELD, "and_(table.id == held_id, table.status == _RUNNING)"),
    "ended searches are held": Fault(_LEASES, _HELD, "and_(table.id == held_id, table.token == held_token)"),
    "leases never run out": Fault(_LEASES, _EXPIRED, "and_(table.status == _RUNNING, table.lease_until > ahead)"),
    "running searches are free": Fault(_LEASES, _EXPIRED, "table.status == _RUNNING"),
    "a clock set back is not noticed": Fault(
        _LEASES, _EXPIRED, "and_(table.status == _RUNNING, table.lease_until <= now)"
    ),
    "a lease is free a second early": Fault(_LEASES, '"at_now": now,', '"at_now": now + timedelta(seconds=1),'),
    "the first lease is long": Fault(
        _LEASES, '"at_until": now + timedelta(seconds=lease_s)', '"at_until": now + timedelta(seconds=9 * lease_s)'
    ),
    "lost leases are not counted": Fault(
        _LEASES, "case((table.runner_id.is_not(None), 1), else_=0)", "case((table.runner_id.is_not(None), 0), else_=0)"
    ),
    "every lease counts as lost": Fault(
        _LEASES, "case((table.runner_id.is_not(None), 1), else_=0)", "case((table.runner_id.is_not(None), 1), else_=1)"
    ),
    "a release keeps the runner": Fault(_LEASES, '"lease_until": now, "runner_id": None}', '"lease_until": now}'),
    "a release keeps the lease": Fault(_LEASES, '"lease_until": now, "runner_id": None}', '"runner_id": None}'),
    "the newest comes first": Fault(_LEASES, " table.created_at,\n", " table.created_at.desc(),\n"),
    "busy owners come first": Fault(_LEASES, "        running,\n", "        -running,\n"),
    "owners' running searches do not matter": Fault(_LEASES, "        running,\n", ""),
    "who was served last comes first": Fault(
        _LEASES, "served_at.asc().nulls_first()", "served_at.desc().nulls_first()"
    ),
    "nobody notes who was served": Fault(_LEASES, '.values(served_at=bindparam("at_now"))', ".values(served_at=None)"),
    "no limit of running searches": Fault(_LEASES, "true() if most_running is None", "true() if True"),
    "one more than the limit": Fault(_LEASES, "running < most_running", "running <= most_running"),
    "new searches come before lost ones": Fault(
        _LEASES, " case((table.status == _RUNNING, 0), else_=1),", " case((table.status == _RUNNING, 1), else_=0),"
    ),
    "an end without its time": Fault(_LEASES, '"finished_at": now}', '"finished_at": None}'),
    "a claim is no sign of life": Fault(_LEASES, '"spent_s": spent, "heard_at": now}', '"spent_s": spent}'),
    "time is counted twice": Fault(
        _LEASES, '"spent_s": spent_s(search, now), "heard_at": now}', '"spent_s": spent_s(search, now)}'
    ),
    "time after the lease counts": Fault(
        _LEASES,
        "_within((now - search.heard_at).total_seconds(), lease_s)",
        "_within((now - search.heard_at).total_seconds(), 9 * lease_s)",
    ),
    "a heartbeat without a token": Fault(
        _STORE, "search = _hold(session, claim)\n            extend", f"search = {_ROW}\n            extend"
    ),
    "a heartbeat extends nothing": Fault(
        _LEASES, '"lease_until": now + timedelta(seconds=lease_s)}', '"lease_until": search.lease_until}'
    ),
    "a heartbeat keeps cancellations to itself": Fault(
        _STORE, "return search.cancel_requested_at is not None", "return False"
    ),
    "an evaluation without a token": Fault(
        _STORE, "search = _hold(session, claim)\n            values", f"search = {_ROW}\n            values"
    ),
    "an evaluation that is there is written again": Fault(
        _STORE, "insert_if_absent(session, EvaluationRow, values)", "session.merge(EvaluationRow(**values))"
    ),
    "an evaluation is not written": Fault(
        _STORE, "if not insert_if_absent(session, EvaluationRow, values)", "if not values"
    ),
    "lost leases are never forgotten": Fault(_STORE, "if search.losses:", "if False:"),
    "an end without a token": Fault(
        _STORE, "search = _hold(session, claim)\n            model =", f"search = {_ROW}\n            model ="
    ),
    "a failure without a token": Fault(
        _STORE,
        "search = _hold(session, claim)\n            # A requested",
        f"search = {_ROW}\n            # A requested",
    ),
    "a release does nothing": Fault(_STORE, "release(session, _hold(session, claim))", "pass"),
    "an end is not told": Fault(
        _STORE, 'append_event(session, search.id, "finished"', '(lambda *_: None)(session, search.id, "finished"'
    ),
    "a heartbeat never stops": Fault(_SIGNALS, "        done.set()\n        thread.join()", "        pass"),
    "a heartbeat ends at the first failure": Fault(
        _SIGNALS, "exc_info=True)", "exc_info=True)\n                return"
    ),
    "a heartbeat comes too late": Fault(_SIGNALS, "done.wait(lease_s / 3)", "done.wait(lease_s * 1.2)"),
    "a process that ends keeps its search": Fault(_WORK, "        store.release(claim)", "        pass"),
    "a search fails with the database": Fault(
        _WORK, "EngineUnavailableError, StoreUnavailableError)\n\n", "EngineUnavailableError)\n\n"
    ),
    "a search fails with its process": Fault(
        _WORK, "(LeaseLostError, ShutdownError, Engine", "(LeaseLostError, Engine"
    ),
    "a search that kills is never given up": Fault(_RUNNER, "claim.losses < after", "claim.losses < 1000 * after"),
    "a search is given up too early": Fault(_RUNNER, "claim.losses < after", "claim.losses < after - 1"),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Put a fault into the running product during the block."""
    fault = FAULTS[name]
    module = importlib.import_module(fault.module)
    source = inspect.getsource(module)
    assert source.count(fault.before) == 1, f"{fault.module} has {source.count(fault.before)} times {fault.before!r}"
    changed = types.ModuleType(fault.module)
    exec(compile(source.replace(fault.before, fault.after), str(module.__file__), "exec"), changed.__dict__)  # noqa: S102
    # Others have imported functions and classes by name: these stay, and get the code of the changed ones.
    functions = dict(_functions(module, fault.module))
    codes = {key: function.__code__ for key, function in functions.items()}
    constants = {key: value for key, value in vars(module).items() if isinstance(value, tuple)}
    try:
        for key, function in _functions(changed, fault.module):
            functions[key].__code__ = function.__code__
        for key in constants:
            setattr(module, key, getattr(changed, key))
        _forget(module)
        yield
    finally:
        for key, function in functions.items():
            function.__code__ = codes[key]
        for key, value in constants.items():
            setattr(module, key, value)
        _forget(module)


def _forget(module: types.ModuleType) -> None:
    """Empty the caches of a module's functions."""
    for value in list(vars(module).values()):
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _functions(module: types.ModuleType, name: str) -> Iterator[tuple[str, types.FunctionType]]:
    """The functions that a module defines, those of its classes and decorated ones included."""
    places = {"": vars(module)}
    places |= {key: vars(value) for key, value in vars(module).items() if inspect.isclass(value)}
    for place, members in places.items():
        for key, value in members.items():
            inner = (
                inspect.unwrap(value.__func__ if isinstance(value, staticmethod) else value)
                if callable(value)
                else value
            )
            if isinstance(inner, types.FunctionType) and inner.__module__ == name:
                yield f"{place}.{key}", inner
