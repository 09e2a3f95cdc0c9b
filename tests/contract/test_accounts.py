"""Who asks, and who publishes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from tests.contract.accounts import make_token, make_user
from tests.contract.raw import send

from kernelmill.hub.cli import main

if TYPE_CHECKING:
    from demo.hub import RunningHub
    from tests.contract.conftest import TestRepo

    from kernelmill.hub.store.names import Role

ROLES: tuple[Role, Role] = ("read", "write")


def test_whoami_names_the_user_the_role_and_the_organisations(
    hub: RunningHub, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("--data", str(hub.data))
    assert main(["user", "create", "Ada", *data]) == 0
    assert main(["org", "add-member", "acme", "ada", *data]) == 0
    capsys.readouterr()
    assert main(["token", "create", "--user", "ada", "--role", "read", *data]) == 0
    token = capsys.readouterr().out.strip()
    me = HfApi(endpoint=hub.url, token=token).whoami()
    assert (me["name"], me["auth"]["accessToken"]["role"]) == ("Ada", "read")
    assert [org["name"] for org in me["orgs"]] == ["acme"]


def test_read_token_of_a_member_cannot_write(hub: RunningHub, kernel: TestRepo) -> None:
    make_user(hub, "bob", "acme")
    reader, writer = (HfApi(endpoint=hub.url, token=make_token(hub, "bob", role)) for role in ROLES)
    with pytest.raises(HfHubHTTPError, match="the token 'test' may only read"):
        reader.delete_repo(kernel.id, repo_type="kernel")
    writer.delete_repo(kernel.id, repo_type="kernel")


def test_write_token_of_the_admin_is_no_admins(hub: RunningHub, stranger: HfApi) -> None:
    stranger.create_repo("secret", repo_type="kernel", private=True)
    plain = HfApi(endpoint=hub.url, token=make_token(hub, "admin", "write"))
    assert not plain.repo_exists("stranger/secret", repo_type="kernel")
    ruler = HfApi(endpoint=hub.url, token=hub.token)
    assert ruler.repo_exists("stranger/secret", repo_type="kernel")


def test_whoami_is_refused_without_a_token(hub: RunningHub) -> None:
    reply = send(hub, "GET", "/api/whoami-v2", token=None)
    assert (reply.status, reply.error) == (401, "a token is needed to know who you are")


def test_organisation_says_whether_it_is_trusted(hub: RunningHub, api: HfApi) -> None:
    assert vars(api.get_organization_overview("acme"))["trustedKernelPublisher"] is True
    assert main(["org", "create", "plain", "--data", str(hub.data)]) == 0
    assert vars(api.get_organization_overview("plain"))["trustedKernelPublisher"] is False


def test_organisation_is_not_found_when_the_name_is_a_users(api: HfApi) -> None:
    with pytest.raises(HfHubHTTPError, match="organization 'admin' not found"):
        api.get_organization_overview("admin")
    assert api.get_user_overview("admin").username == "admin"


def test_token_is_kept_only_as_a_hash(hub: RunningHub) -> None:
    for path in hub.data.glob("hub.sqlite3*"):
        assert hub.token.encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0


def test_agent_harnesses_are_empty(hub: RunningHub) -> None:
    reply = send(hub, "GET", "/api/agent-harnesses", token=None)
    assert json.loads(reply.body) == {"standardEnvVars": [], "harnesses": {}}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(("org", "create", "acme"), "the name 'acme' is taken", id="taken"),
        pytest.param(("user", "create", "api"), "the name 'api' is reserved", id="reserved"),
        pytest.param(("user", "create", "a--b"), "cannot name an account", id="bad-name"),
        pytest.param(("org", "add-member", "acme", "no"), "no user is named 'no'", id="no-user"),
        pytest.param(
            ("token", "create", "--user", "acme", "--role", "read"),
            "no user is named 'acme'",
            id="token-for-org",
        ),
    ],
)
def test_command_fails_with_one_clear_error(
    hub: RunningHub, arguments: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--data", str(hub.data)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert text in said.err
    assert "Traceback" not in said.err
