"""Steps that bring a database to the tables of this version; run when a store is opened."""
