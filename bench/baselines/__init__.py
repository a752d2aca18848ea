"""What our pages and trainings are measured against."""
