"""What a number was made with: the record stored with it, and the digests of the code and data that it depends on."""
