"""`/v1/diagnosis/sessions`: one question after another."""
