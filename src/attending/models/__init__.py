"""Models: the protocol, the one neural forward pass, linear models, and the model folder."""
