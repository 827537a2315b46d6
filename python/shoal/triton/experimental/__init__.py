"""Triton's experiments, none of which is here."""
