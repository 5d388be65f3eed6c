"""FHIR read into documents: messages as R4 or R5 ``Communication``, notes as ``DocumentReference``.

Nothing here opens a socket, and nothing here needs a FHIR library: a resource that breaks a rule of
FHIR is read as far as it can be, and what can't be read is told.
"""
