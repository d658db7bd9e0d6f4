"""Twelve secrets, and the places where none of them may ever stand: log, Slack, prompts, database.

Each is told by the way in which it would come: with the settings, or with what a person, a tool, a model or Slack says.
"""

import json

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkLTEyIn0.cGxhbnRlZC1zaWduYXR1cmU"
KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEplanted0key0block0line0\n-----END RSA PRIVATE KEY-----"
PLANTED = {
    "database password": "planted-Db-pa55word",
    "bot token": "xoxb-1234567890-planted0bot",
    "app token": "xapp-1-A0PLANTED-1234-planted0app",
    "model key": "planted-model-key-51f0c2",
    "action secret": "planted-action-secret-9d1e",
    "API token": "planted-api-token-77ab",
    "bearer": "plantedbearer0f9e8d7c6b",
    "key in a query": "plantedquerykey0123",
    "AWS key": "AKIAPLANTED0EXAMPLE0",
    "key block": "MIIEplanted0key0block0line0",
    "JWT": JWT,
    "basic auth": "planted-basic-pa55",
}
"""What may not be found; of a key block, the line that matters."""
AS_IT_COMES = {
    **PLANTED,
    "bearer": f"Authorization: Bearer {PLANTED['bearer']}",
    "key in a query": f"https://api.example.com/v1/query?key={PLANTED['key in a query']}&page=2",
    "key block": KEY_BLOCK,
    "basic auth": f"https://ana:{PLANTED['basic auth']}@db.example.com/x",
}
"""How each stands in a text."""
TOLD = "\n".join(AS_IT_COMES.values())
OF_THE_SETTINGS = {
    "SLACK_BOT_TOKEN": PLANTED["bot token"],
    "SLACK_APP_TOKEN": PLANTED["app token"],
    "OPENAI_API_KEY": PLANTED["model key"],
    "ANTHROPIC_API_KEY": PLANTED["model key"],
    "STEERSMAN_SECRET_DEPLOY": PLANTED["action secret"],
    "STEERSMAN_API_TOKEN": PLANTED["API token"],
}


def found_in(text: str, planted=PLANTED) -> set[str]:
    """The names of the planted secrets that stand in a text, as they are or as JSON writes them."""
    return {name for name, secret in planted.items() if secret in text or json.dumps(secret)[1:-1] in text}


async def rows_of(reader) -> str:
    """Every row of every table, whole: a new table or column is in it from its first day."""
    names = await reader.fetch("select tablename from pg_tables where schemaname = 'public' order by 1")
    texts = []
    for (name,) in names:
        texts += [str(row[0]) for row in await reader.fetch(f'select row_to_json(t)::text from "{name}" t')]
    return "\n".join(texts)


def shown_in(slack) -> str:
    """Everything that the bot has sent to Slack, whether Slack took it or not."""
    return "\n".join(json.dumps(call.arguments, ensure_ascii=False, default=str) for call in slack.calls())


def prompts_of(model) -> str:
    """Everything that a model service was sent, but for the header with its key."""
    return "\n".join(json.dumps(request.body, ensure_ascii=False) for request in model.requests)


async def leaks_of(stage, planted) -> dict[str, set[str]]:
    """Where on a stage planted secrets stand; empty where nothing leaked."""
    places = {
        "database": await rows_of(stage.reader),
        "Slack": shown_in(stage.slack),
        "prompts": prompts_of(stage.model),
    }
    return {place: leaked for place, text in places.items() if (leaked := found_in(text, planted))}
