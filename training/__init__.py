"""What the package is shipped with and was learnt: its inputs, and the commands that make it again."""
