"""What a client may ask of the simulated server, and what is refused in vLLM's words.

A value that would change the text and that the simulation does not model is refused with 400, never
ignored; fields that vLLM does not know are ignored, as vLLM does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from labkit.engine.simulated.model import MAX_MODEL_LEN, VOCAB, Request
from labkit.engine.simulated.text import chat_prompt, encode

__all__ = ["Call", "Refused", "read_call"]

MAX_LOGPROBS = 20  # vLLM's default

#: Fields of vLLM that change the answer and are not modelled, with the values that leave it as it is.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,), "best_of": (1,), "stop": ([], ""), "stop_token_ids": ([],), "min_tokens": (0,), "echo": (False,),
    "logprobs": (False,), "top_logprobs": (0,), "min_p": (0,), "presence_penalty": (0,), "frequency_penalty": (0,),
    "repetition_penalty": (1,), "logit_bias": ({},), "bad_words": ([],), "allowed_token_ids": (), "suffix": ("",),
    "use_beam_search": (False,), "response_format": ({"type": "text"},), "structured_outputs": (), "tools": ([],),
    "prompt_embeds": (), "truncate_prompt_tokens": (),
}  # fmt: skip


class Refused(Exception):
    """An answer other than 200: ``status`` and the ``body`` vLLM sends with it."""

    def __init__(self, status: int, message: str, *, kind: str = "BadRequestError", param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request as the server carries it out. ``prompt_logprobs`` is how many tokens to report per
    position, None for not at all; ``usage`` whether a usage chunk ends a stream, ``running_usage`` whether
    every chunk carries usage."""

    chat: bool
    request: Request
    stream: bool
    usage: bool
    running_usage: bool
    token_ids: bool
    prompt_logprobs: int | None
    cache_salt: str | None


@checked
class _StreamOptions:
    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


@checked
class _Body:
    """Fields of both routes that are carried out, with vLLM's bounds."""

    model: str | None = None
    prompt: str | list[int] | None = None
    messages: list[dict[str, Any]] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    seed: int | None = None
    ignore_eos: bool | None = False
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    return_token_ids: bool | None = False
    prompt_logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None
    cache_salt: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^@/\\\x00]*$")] | None = None


_BODY = TypeAdapter(_Body)


def read_call(data: Any, *, chat: bool, served: str, speculating: bool) -> Call:
    """Check a decoded body of ``/v1/chat/completions`` (``chat``) or ``/v1/completions``.

    Raises:
        Refused: 404 for a model that is not ``served``, 400 for anything else.
    """
    if not isinstance(data, dict):
        raise Refused(400, f"body: expected a JSON object; got {data!r:.80}", kind="Bad Request", param="body")
    try:
        body = _BODY.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0])
        what = f"{field}: {first['msg']}; got {data[field]!r:.80}"
        raise Refused(400, what, kind="Bad Request", param=field) from None
    if body.model and body.model != served:
        raise Refused(404, f"The model `{body.model}` does not exist.", kind="NotFoundError", param="model")
    _refuse_unmodelled(data, speculating)
    _refuse_contradictions(body, chat)
    prompt, options = _prompt(body, chat), body.stream_options or _StreamOptions()
    wanted = (body.max_completion_tokens if chat else None) or body.max_tokens or (MAX_MODEL_LEN if chat else 16)
    return Call(
        chat=chat,
        request=Request(
            prompt=prompt,
            temperature=1.0 if body.temperature is None else body.temperature,
            top_p=1.0 if body.top_p is None else body.top_p,
            top_k=max(body.top_k or 0, 0),
            seed=body.seed,
            max_tokens=min(wanted, MAX_MODEL_LEN - len(prompt)),
            ignore_eos=bool(body.ignore_eos),
        ),
        stream=bool(body.stream),
        usage=bool(options.include_usage),
        running_usage=bool(options.include_usage and options.continuous_usage_stats),
        token_ids=bool(body.return_token_ids),
        prompt_logprobs=body.prompt_logprobs,
        cache_salt=body.cache_salt,
    )


def _refuse_unmodelled(data: dict[str, Any], speculating: bool) -> None:
    if speculating and (data.get("min_p") or data.get("logit_bias")):
        what = "The min_p and logit_bias sampling parameters"
        raise Refused(400, f"{what} are not yet supported with speculative decoding.")
    for field, neutral in _NEUTRAL.items():
        value = data.get(field)
        if value is not None and value not in neutral:
            instead = f"leave it at {neutral[0]!r}" if neutral else "leave it out"
            raise Refused(400, f"the simulated engine does not model {field}; got {value!r}: {instead}", param=field)


def _refuse_contradictions(body: _Body, chat: bool) -> None:
    if body.stream_options and not body.stream:
        raise Refused(400, "Stream options can only be defined when `stream=True`.", param="stream_options")
    if body.prompt_logprobs is not None and (body.stream or chat):
        where = "`stream=True`" if body.stream else "chatting with the simulated engine"
        raise Refused(400, f"`prompt_logprobs` are not available when {where}.", param="prompt_logprobs")


def _prompt(body: _Body, chat: bool) -> list[int]:
    if chat:
        if not body.messages:
            raise Refused(400, "messages: a conversation needs at least one message", param="messages")
        ids = encode(chat_prompt(body.messages))
    else:
        ids = encode(body.prompt) if isinstance(body.prompt, str) else body.prompt or []
    if not ids:
        raise Refused(400, "Either prompt or prompt_embeds must be provided and non-empty.", param="prompt")
    if outside := [i for i in ids if not 0 <= i < VOCAB]:
        raise Refused(400, f"Token id {outside[0]} is out of vocabulary", param="prompt")
    if len(ids) >= MAX_MODEL_LEN:
        raise Refused(
            400,
            f"This model's maximum context length is {MAX_MODEL_LEN} tokens. However, your prompt contains {len(ids)} "
            "input tokens, which leaves no room for output tokens. Please reduce the length of the input prompt.",
            param="input_tokens",
        )
    return ids
