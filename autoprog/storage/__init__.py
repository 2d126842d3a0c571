"""Durable memory: the database behind the port `Store`, and the files beside it.

Each part is imported from its module: `store` serves the runners and brings the learning libraries with it, while
`database`, `files` and `repositories` serve every process.
"""
