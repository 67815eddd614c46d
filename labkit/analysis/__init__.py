"""Pure functions from records to numbers: no I/O, no clock."""
