"""All agents on problems whose exact gain is known: what is run, how it is judged, and the folder of it."""
