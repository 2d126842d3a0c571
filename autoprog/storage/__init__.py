"""Durable storage: the database behind the port `Store`, and the files beside it.

Import each part from its module: `store` serves the runners and imports the learning libraries, while `database`,
`files` and `repositories` serve every process.
"""
