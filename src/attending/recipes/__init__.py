"""The shipped recipes: one TOML file a system."""
