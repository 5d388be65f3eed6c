"""Scoring at volume: files of any size, on all cores or a cluster, resumable at any moment."""
