"""From documents to tagged words: words, schemes, windows of words, batches."""
