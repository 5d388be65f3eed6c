"""Which words drove a prediction: evidence, how far to trust it, pictures and a page."""
