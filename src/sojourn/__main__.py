"""`python -m sojourn` is the command `sojourn`, where the folder of scripts is not on the path."""

from sojourn.cli import main

if __name__ == "__main__":
    main()
