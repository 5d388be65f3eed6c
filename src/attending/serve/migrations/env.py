"""How Alembic runs the steps: on the connection that the store hands over, in one transaction."""

from alembic import context

from attending.serve.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
