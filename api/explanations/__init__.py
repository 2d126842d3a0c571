"""`/v1/searches/{search_id}/explanation`: what the inputs of a search's ensemble are worth."""
