"""Scores for documents with any number of labels: sparse throughout, one definition each."""
