"""Training: one path for every neural recipe, and the fit that linear ones share with it."""
