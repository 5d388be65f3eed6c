"""Label sets of code systems: what each code means, what it is a kind of, one module a system."""
