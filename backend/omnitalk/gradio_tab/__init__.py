"""The demo in Gradio: a chat with everything the model takes, and the call. Nothing here is imported before it is wanted."""
