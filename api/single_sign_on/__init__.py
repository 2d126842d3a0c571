"""Single sign-on: people and programs for whom an OpenID Connect provider vouches."""
