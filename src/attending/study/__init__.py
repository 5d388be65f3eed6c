"""Many systems x many seeds x corpora as one resumable run with one table."""
