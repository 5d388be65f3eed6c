"""Run the command line with ``python -m attending``."""

from attending.cli.app import main

if __name__ == "__main__":
    main()
