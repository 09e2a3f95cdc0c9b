"""Who asks, who publishes, and small services for clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub.errors import AccountNotFound, NotSignedIn
from kernelmill.hub.routes.common import bearer_of, path_text, with_json
from kernelmill.hub.store.accounts import count_members, count_public_repos, find_account
from kernelmill.hub.wire.card import check_card
from kernelmill.hub.wire.render import overview_json, whoami_json

if TYPE_CHECKING:
    from typing import Literal

    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.wire.fields import Fields


def user_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of accounts."""
    users = _Users(hub)
    validate = with_json(users.validate_yaml, max_bytes=hub.settings.max_json_bytes)
    return [
        Route("/health", users.health),
        Route("/api/whoami-v2", users.whoami),
        Route("/api/agent-harnesses", users.agent_harnesses),
        Route("/api/validate-yaml", validate, methods=["POST"]),
        Route("/api/organizations/{name}/overview", users.org_overview),
        Route("/api/users/{name}/overview", users.user_overview),
    ]


class _Users:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def health(self, _: Request) -> Response:
        find_account(self._hub.database, "admin")  # the database answers
        return JSONResponse({"status": "ok"})

    def whoami(self, request: Request) -> Response:
        bearer = bearer_of(self._hub, request)
        if bearer is None:
            raise NotSignedIn("a token is needed to know who you are")
        return JSONResponse(whoami_json(bearer))

    def agent_harnesses(self, _: Request) -> Response:
        return JSONResponse({"standardEnvVars": [], "harnesses": {}})

    def validate_yaml(self, _: Request, body: Fields) -> Response:
        errors = check_card(body.text("content"))
        return JSONResponse({"errors": errors, "warnings": []}, 400 if errors else 200)

    def org_overview(self, request: Request) -> Response:
        return self._overview(request, "org")

    def user_overview(self, request: Request) -> Response:
        return self._overview(request, "user")

    def _overview(self, request: Request, kind: Literal["org", "user"]) -> Response:
        bearer_of(self._hub, request)  # a bad token is an error even where none is needed
        name = path_text(request, "name")
        account = find_account(self._hub.database, name)
        if account is None or account.kind != kind:
            what = "organization" if kind == "org" else "user"
            raise AccountNotFound(f"{what} {name!r} not found")
        repos = count_public_repos(self._hub.database, account.name)
        members = count_members(self._hub.database, account.id)
        return JSONResponse(overview_json(account, repos, members))
