"""`/v1/searches/{search_id}/test-frontiers`: performance against cost, and the missing tests worth their cost."""
