"""``python -m ruda`` is the command ``ruda``."""

from ruda.cli import main

if __name__ == "__main__":
    main()
