"""What a report says, before any format."""
