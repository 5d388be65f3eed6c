"""Entities in text, gold and predicted: counted by stated rules, with intervals and tests."""
