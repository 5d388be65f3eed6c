"""Predictions in use: work queues, records and services that people read."""
