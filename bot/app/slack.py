"""Our way to one workspace: who we are there, and that Slack takes our tokens."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import aiohttp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.card.slack_calls import PERMANENT, SlackCalls
from bot.errors import SettingsError, SlackError
from bot.rules.inbound_message import OurIds
from bot.rules.redaction import Scrubber
from bot.settings.environment import SlackSetting
from bot.telemetry import log

SLACK_TIMEOUT_S = 10
APP_TOKEN_REFUSED = PERMANENT | {"not_allowed_token_type", "no_permission", "token_expired"}


@dataclass(frozen=True, slots=True)
class Slack:
    """Our way to one workspace."""

    calls: SlackCalls
    client: AsyncWebClient
    our: OurIds


async def check_app_token(client: AsyncWebClient, app_token: str) -> None:
    """Raise SettingsError where Slack refuses the token of Socket Mode: the client would try it again for ever."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except SlackApiError as error:
        refused = str(error.response.get("error"))
        if refused in APP_TOKEN_REFUSED:
            raise SettingsError(
                "SLACK_APP_TOKEN", f"Slack answers {refused}", "Check the token; it needs the scope connections:write"
            ) from error
    except (aiohttp.ClientError, TimeoutError):
        # Slack is away for the moment; the connection is tried until it is there.
        log.warning("slack.unreachable")


async def connect_slack(setting: SlackSetting) -> Slack:
    """Ask Slack who we are; raises SettingsError where it refuses our token."""
    client = AsyncWebClient(
        token=setting.bot_token, base_url=setting.api_url, retry_handlers=[], timeout=SLACK_TIMEOUT_S
    )
    calls = SlackCalls(client)
    try:
        who = await calls.whoami()
    except SlackError as error:
        raise SettingsError(
            "SLACK_BOT_TOKEN", f"Slack answers {error}", "Check the token, and SLACK_API_URL"
        ) from error
    return Slack(calls, client, _our(who))


def scrubbing(slack: Slack, scrubber: Scrubber) -> Slack:
    """The same way, on which no secret leaves."""
    return replace(slack, calls=slack.calls.scrubbing(scrubber))


def authorizer(slack: Slack) -> Callable[..., Awaitable[AuthorizeResult]]:
    """Answer Bolt's question who we are from memory: asking Slack at each event would lose events on a 429."""

    async def authorize(**_: object) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=slack.our.team_id,
            bot_token=slack.client.token,
            bot_id=slack.our.bot_id,
            bot_user_id=slack.our.bot_user_id,
        )

    return authorize


def _our(who: Mapping[str, object]) -> OurIds:
    return OurIds(
        team_id=str(who["team_id"]),
        bot_user_id=str(who["user_id"]),
        bot_id=str(who["bot_id"]) if who.get("bot_id") else None,
        app_id=str(who["app_id"]) if who.get("app_id") else None,
    )
