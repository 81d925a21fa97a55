"""Asks a server with OpenAI's own client, and prints what it got as JSON."""

import json
import sys

from openai import BadRequestError, NotFoundError, OpenAI

client = OpenAI(base_url=sys.argv[1] + "/v1", api_key=sys.argv[2], max_retries=0)
messages = [{"role": "user", "content": "count"}]
whole = client.chat.completions.create(model="chat", messages=messages)
stream = client.chat.completions.create(model="chat", messages=messages, stream=True)
pieces = [(one.model, one.choices[0].delta.content) for one in stream]
text = client.completions.create(model="chat", prompt="count")


def refused(model, content):
    try:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}])
    except (BadRequestError, NotFoundError) as error:
        return [error.status_code, error.body["message"]]


print(
    json.dumps(
        {
            "models": [one.id for one in client.models.list().data],
            "whole": [whole.model, whole.choices[0].message.content],
            "pieces": pieces,
            "text": text.choices[0].text,
            "refused": refused("chat", "refuse"),
            "unknown": refused("nobody", "count"),
        }
    )
)
