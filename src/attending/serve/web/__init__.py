"""The inbox: pages for the people who read messages, without a build step and without a network."""

from attending.serve.web.routes import create_inbox

__all__ = ["create_inbox"]
