"""`/v1/diagnosis/models`: objects, queries and responses, and the trees over them."""
