"""What a number was made with: the record beside it, and the digests of the code and data that it depends on."""
