"""Tables, figures, findings and reports: what a run shows. No measuring here."""
