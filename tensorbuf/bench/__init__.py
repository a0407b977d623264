"""The jobs of the performance page, and the race in which they are measured beside the peers that are installed."""
