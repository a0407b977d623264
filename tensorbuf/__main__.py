"""``python -m tensorbuf`` is the command ``tensorbuf``."""

from tensorbuf.cli import main

if __name__ == "__main__":
    main()
