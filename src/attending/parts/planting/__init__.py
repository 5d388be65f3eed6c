"""Planting (PLANT): which words speak for which labels, ranked before any attention is trained."""
