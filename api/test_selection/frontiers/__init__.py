"""`/v1/searches/{search_id}/test-frontiers`: what performance costs, and which missing test is worth its cost."""
