"""FHIR written from predictions: what to read first, provisional codes, and which model said so."""
