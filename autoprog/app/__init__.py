"""Parts that server, command line and estimator share: installations, a search's documents, live problems.

They stand below the server, the command line and the estimator, and know nothing of HTTP, terminals and notebooks.
"""
