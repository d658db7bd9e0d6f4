"""An independent judge of histories: the request validator of mistral-common.

The newest validator that still demands ids of 9 letters or digits is asked, in its strictest mode; it pairs by id.
"""

import json
from collections.abc import Sequence

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct import messages as theirs
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import FunctionCall
from mistral_common.protocol.instruct.tool_calls import ToolCall as TheirCall
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV11, ValidationMode

from bot.rules.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

_JUDGE = MistralRequestValidatorV11(mode=ValidationMode.serving)


def refusal(messages: Sequence[Message]) -> str | None:
    """What the judge has against the messages; None where it accepts them."""
    request = ChatCompletionRequest(model="m", messages=[_theirs(message) for message in messages])
    try:
        _JUDGE.validate_request(request)
    except MistralCommonException as error:
        return str(error)
    return None


def _theirs(message: Message) -> theirs.UserMessage | theirs.AssistantMessage | theirs.ToolMessage:
    match message:
        case UserMessage(text=text):
            return theirs.UserMessage(content=text)
        case AssistantMessage(text=text, calls=calls):
            return theirs.AssistantMessage(
                content=text or None, tool_calls=[_their_call(call) for call in calls] or None
            )
        case ToolResult():
            return theirs.ToolMessage(tool_call_id=message.call_id, name=message.name, content=message.text)


def _their_call(call: ToolCall) -> TheirCall:
    return TheirCall(id=call.id, function=FunctionCall(name=call.name, arguments=json.dumps(call.arguments)))
