"""MIMIC-III and MIMIC-IV, from PhysioNet's own files, for those who hold a licence.

Nothing of MIMIC comes with this package; its files are read where the user has put them.
"""
