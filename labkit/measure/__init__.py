"""Measuring: a request, a cell, a plan."""
