"""One Hub for all contract tests, and the real client pointed at it."""

from __future__ import annotations

import atexit
import os
import tempfile
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

import pytest
from demo.hub import RunningHub, serving
from tests.contract.accounts import make_token, make_user

# The client reads these when it is imported, so they are set before any test module is.
HF_HOME: Final = tempfile.TemporaryDirectory(prefix="hf-home-")
atexit.register(HF_HOME.cleanup)
os.environ.update(
    HF_HOME=HF_HOME.name, HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_UPDATE_CHECK="1"
)
os.environ.pop("HF_TOKEN", None)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from huggingface_hub import HfApi

ORG: Final = "acme"
NUMBERS: Final = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRepo:
    """A new repository of the organisation ``acme``."""

    __test__ = False

    id: str
    kind: Literal["model", "kernel"]

    @property
    def api_path(self) -> str:
        """The path of its API."""
        return f"/api/{self.kind}s/{self.id}"

    @property
    def file_path(self) -> str:
        """The path of its files."""
        return f"/{self.id}" if self.kind == "model" else f"/kernels/{self.id}"


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """Return a running Hub with the trusted organisation ``acme``."""
    folder = tmp_path_factory.mktemp("hub")
    with serving(folder, "--trust", ORG, "--max-upload-mib", "64", "-v") as running:
        yield running


@pytest.fixture(scope="session")
def api(hub: RunningHub) -> HfApi:
    """Return the client of the Hub's administrator."""
    from huggingface_hub import HfApi

    return HfApi(endpoint=hub.url, token=hub.token)


@pytest.fixture(scope="session")
def anonymous(hub: RunningHub) -> HfApi:
    """Return a client without a token."""
    from huggingface_hub import HfApi

    return HfApi(endpoint=hub.url, token=False)


@pytest.fixture(scope="session")
def stranger(hub: RunningHub) -> HfApi:
    """Return the client of a user who belongs to no organisation."""
    from huggingface_hub import HfApi

    make_user(hub, "stranger")
    return HfApi(endpoint=hub.url, token=make_token(hub, "stranger", "write"))


@pytest.fixture(autouse=True)
def _keep_umask() -> Iterator[None]:
    """Undo what a command that ran in this process did to new files' modes."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)


@pytest.fixture(params=["kernel", "model"])
def repo(request: pytest.FixtureRequest, api: HfApi) -> TestRepo:
    """Return a new repository, once of each kind."""
    name = f"{ORG}/repo-{next(NUMBERS)}"
    api.create_repo(name, repo_type=request.param)
    return TestRepo(id=name, kind=request.param)


@pytest.fixture
def kernel(api: HfApi) -> TestRepo:
    """Return a new kernel repository, for what does not depend on the kind."""
    name = f"{ORG}/kernel-{next(NUMBERS)}"
    api.create_repo(name, repo_type="kernel")
    return TestRepo(id=name, kind="kernel")
