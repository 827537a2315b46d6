"""Comparing results in tests."""
