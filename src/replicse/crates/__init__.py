"""Studies as crates: written without weights, and many labs' pooled as one."""
