"""Codes as people write them: MIMIC stores them without the dot."""


def dotted(code: str, version: int, procedure: bool) -> str:
    """Return a code with its dot: ``4019`` is ``401.9``, ``3893`` as a procedure ``38.93``.

    The dot stands after three characters of a diagnosis, after four of an ICD-9 cause of injury
    (E code), after two of an ICD-9 procedure; ICD-10 procedures have none. ICD-9 diagnoses and
    procedures overlap without it (``0389`` is sepsis as 038.9, and brachial plexus surgery as
    03.89). Codes stay text: ``0030`` and ``030`` differ.
    """
    code = code.strip().upper().replace(".", "")
    if procedure and version == 10:
        return code
    before = 2 if procedure else 4 if version == 9 and code.startswith("E") else 3
    return f"{code[:before]}.{code[before:]}" if len(code) > before else code
