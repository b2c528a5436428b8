"""The audit log of a runtime (POL-07)."""

from __future__ import annotations

import pytest

from sutler import SyncRuntime
from sutler.store import AuditFilter


@pytest.mark.requirement("POL-07")
def test_what_is_changed_beside_calls_is_a_line_of_the_log() -> None:
    with SyncRuntime(config=False) as rt:
        rt.core.audit("change.library", tool="mailer", what="mounted", password="tulips-7")
        (line,) = rt.core.recorder.store.audit(AuditFilter())
    assert (line.kind, line.tool, line.data) == ("change.library", "mailer", {"what": "mounted", "password": "***"})
