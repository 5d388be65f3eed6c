"""Parts of recipes that tag: heads, losses, chains, decoding, neighbours, features of words."""
