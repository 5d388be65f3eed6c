"""Metrics with one definition each, calibration, significance and the report. No torch here."""
