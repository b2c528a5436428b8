"""Policy written in Python: objects that look at every call and can only make the answer stricter (POL-09).

    class OfficeHours:
        name = "office-hours"           # said in every decision of its
        priority = 0                    # higher is asked first

        def decide(self, call, spec):   # "allow", "ask", "deny", or None: no opinion; or (one of these, a reason)
            if spec.grade.w == 3 and not 8 <= datetime.now().hour < 18:
                return "deny", "nothing acts on the world at night"

        def visible(self, spec):        # False hides the tool from prompts, lists, checks and calls
            return spec.origin.provenance == "own"

    Runtime(policy_sources=[OfficeHours()])

    [project.entry-points."sutler.policies"]      # or from an installed package: a callable without parameters
    office-hours = "my_package:office_hours"      # that gives one, or a list of them

`spec` has the grade (`grade`, `grade_from`), the trust tier and the provenance (`origin`); `call` has the arguments as
they will be used, a copy. `decide` is asked for each call that no rule denies, on whatever thread that call is, for
plans and by `sutler policy explain`; so it should be quick, safe from several threads, and change nothing. `visible` is
asked once for each definition. "allow" loosens nothing. One that raises, or answers anything else, denies and hides.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from ..errors import SourceError, words
from ..plugged import plugged
from ..results import fresh
from ..spec import Decision, ToolCall, ToolSpec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "sutler.policies"

Opinion = Literal["allow", "ask", "deny"] | None


@runtime_checkable
class PolicySource(Protocol):
    """See the module's own words for the contract."""

    @property
    def name(self) -> str: ...
    @property
    def priority(self) -> float: ...
    def decide(self, call: ToolCall, spec: ToolSpec) -> Opinion | tuple[Opinion, str]: ...
    def visible(self, spec: ToolSpec) -> bool: ...


def ordered(sources: Iterable[PolicySource]) -> tuple[PolicySource, ...]:
    """By priority, the highest first; equal ones as they came. Raises TypeError for what is no PolicySource."""
    found = list(sources)
    for one in found:
        _check(one)
    return tuple(sorted(found, key=lambda one: -one.priority))


def listed(given: object) -> Sequence[PolicySource]:
    """The `policy_sources` of a runtime. TypeError when a single object was given in place of a list."""
    if isinstance(given, Iterable):
        return cast("Sequence[PolicySource]", tuple(cast("Iterable[Any]", given)))
    raise TypeError(f"must be a list, not an object of {type(given).__name__}: put it in brackets")


def _check(source: object) -> None:
    if isinstance(source, type):
        raise TypeError(f"{source.__name__} is a class; give an object of it")
    missing = [member for member in ("name", "priority", "decide", "visible") if not hasattr(source, member)]
    if missing:
        raise TypeError(f"{type(source).__name__} is no PolicySource: it has no {', '.join(missing)}")
    given = cast("Any", source)
    if not isinstance(given.name, str) or not given.name:
        raise TypeError(f"the name of a policy source is a text, not {given.name!r}")
    if isinstance(given.priority, bool) or not isinstance(given.priority, int | float):
        raise TypeError(f"the priority of policy source {given.name!r} is a number, not {given.priority!r}")


def opinion(source: PolicySource, call: ToolCall) -> Decision | None:
    """What one says of a call, as a decision; None when it has no opinion. Whatever goes wrong denies."""
    by = f"policy source {source.name}"
    try:
        given: object = source.decide(replace(call, arguments=fresh(call.arguments)), call.spec)
    except (Exception, SystemExit) as error:
        return Decision(outcome="deny", by=by, reason=f"it failed with {words(error)}")
    if given is None:
        return None
    said, reason = given, ""
    if isinstance(given, tuple) and len(cast("tuple[object, ...]", given)) == 2:
        said, reason = cast("tuple[object, object]", given)
    if isinstance(said, str) and said in ("allow", "ask", "deny") and isinstance(reason, str):
        return Decision(outcome=said, by=by, reason=reason)
    if said is None and reason == "":
        return None
    if inspect.iscoroutine(given):
        given.close()
    wanted = "instead of allow, ask, deny or None, alone or with a reason"
    return Decision(outcome="deny", by=by, reason=f"it answered {_shown(given)} {wanted}")


def hidden_by(sources: Sequence[PolicySource], spec: ToolSpec) -> str:
    """Which policy source hides a tool, in words; "" when all let it be seen."""
    for source in sources:
        try:
            given: object = source.visible(spec)
        except (Exception, SystemExit) as error:
            return f"policy source {source.name!r} hides it: it failed with {words(error)}"
        if given is False:
            return f"policy source {source.name!r} hides it"
        if given is not True:
            if inspect.iscoroutine(given):
                given.close()
            return f"policy source {source.name!r} hides it: it answered {_shown(given)} instead of True or False"
    return ""


def plugin_policies(only: Iterable[EntryPoint] | None = None) -> list[PolicySource]:
    """Those of all installed packages, by name. In the place of one that cannot be had stands one that denies."""
    found: list[PolicySource] = []
    for point, items, error in plugged(GROUP, _check, only):
        found += items
        if error is not None:
            found.append(_Broken(point.name, f"plugin {point.name!r} ({point.value}) failed: {words(error)}"))
    return found


class _Broken:
    """Denies everything: what was to be asked cannot be, and nobody knows what it would have refused."""

    priority = float("inf")

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason

    def decide(self, call: ToolCall, spec: ToolSpec) -> Opinion | tuple[Opinion, str]:
        raise SourceError(self.reason)

    def visible(self, spec: ToolSpec) -> bool:
        return True


def _shown(value: object) -> str:
    try:
        return repr(value)[:120]
    except Exception as error:
        return f"a {type(value).__name__} whose repr raised {type(error).__name__}"
