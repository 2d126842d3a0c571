"""Run the command line: `python -m autoprog.cli`."""

from autoprog.cli import main

if __name__ == "__main__":
    main()
