"""The runtime: where plans meet stores, models, clocks and background work."""
