"""What each audit event changes in what is known of its group."""
