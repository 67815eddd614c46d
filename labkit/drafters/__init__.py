"""Drafters of the demo: made, assembled and described here."""
