"""The command line: one thin file per verb, and what they share.

Nothing heavy is imported here or by ``app``; a verb imports what it needs when it runs.
"""
