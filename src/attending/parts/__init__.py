"""The parts that recipes name: encoders, label states, label attention, heads, losses, decoders."""
