"""Corpora of annotated spans: BRAT, CoNLL and JSON, read and written without loss."""
