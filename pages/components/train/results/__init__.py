"""What came out of trainings."""
