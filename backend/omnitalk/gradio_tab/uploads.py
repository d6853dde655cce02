"""What a request may name as its files."""

from typing import TypeVar

import gradio as gr

__all__ = ["uploads_only"]

C = TypeVar("C", bound=gr.components.Component)


def uploads_only(component: C) -> C:
    """The input, which takes files that were uploaded; gradio would go and fetch any URL that a request names instead of one."""
    keep = component.async_move_resource_to_block_cache

    async def keep_upload(where: str | None) -> str | None:
        if where is not None and "://" in str(where):
            raise gr.Error("Files are uploaded; the demo fetches none from an address.", print_exception=False)
        return await keep(where)

    object.__setattr__(component, "async_move_resource_to_block_cache", keep_upload)
    return component
