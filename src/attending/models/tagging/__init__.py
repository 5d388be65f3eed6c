"""What scores the words of texts: a network, or a linear chain on features."""
