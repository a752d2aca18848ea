"""Long work on a page: started, followed, capped, published."""
