"""From files to documents and back: readers, writers, corpora, labels, splits and checks.

Nothing here is imported eagerly: each module is light and loads what is heavy when it needs it.
"""
