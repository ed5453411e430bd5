"""The one IPython shell of a test process: it cannot be started twice."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.testing.globalipapp import start_ipython


@pytest.fixture(scope="session")
def running_shell() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(
            "VIRTUAL_ENV", raising=False
        )  # IPython warns where another environment is active than the one used
        return start_ipython()
