"""What can be wrong with a corpus, one module a topic; ``attending.data.check`` runs them all."""
