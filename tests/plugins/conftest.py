"""One folder with every kind of broken plugin in it, beside the good drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.installed import GOOD_HOOK, RUNTIME, install


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every way in which a plugin can be wrong, installed at once."""
    folder = tmp_path_factory.mktemp("site")
    install(folder, "x-absent", "absent", "import a_module_that_is_not_there")
    install(folder, "x-raises", "raises", "raise RuntimeError('two\\nlines')")
    install(folder, "x-exits", "exits", "import sys; sys.exit(3)")
    install(folder, "x-syntax", "syntax", "def (")
    install(folder, "x-signature", "signature", GOOD_HOOK.replace("ruda_driver()", "ruda_driver(device)"))
    install(folder, "x-misspelt", "misspelt", GOOD_HOOK.replace("ruda_driver", "ruda_drivr"))
    install(folder, "x-unmarked", "unmarked", GOOD_HOOK.replace("@hookimpl", ""))
    install(folder, "x-hookraises", "hookraises", GOOD_HOOK.replace("return", "raise ValueError('no luck')  #"))
    install(folder, "x-hookexits", "hookexits", GOOD_HOOK.replace("return", "raise SystemExit('bye')  #"))
    install(folder, "x-answer", "answer", GOOD_HOOK.replace("return", "return 'cuda'  #"))
    install(folder, "x-none", "none", GOOD_HOOK.replace("return", "return None  #"))
    install(folder, "x-renamed", "renamed", GOOD_HOOK.replace("{name!r}", "'another'"))
    install(folder, "x-newer", "newer", GOOD_HOOK, contract=2)
    install(folder, "x-older", "older", GOOD_HOOK, contract=0)
    install(
        folder,
        "x-future",
        "future",
        GOOD_HOOK,
        requires=(
            "numpy",
            "ruda_core>=99",
        ),
    )
    install(folder, "x-garbled", "garbled", GOOD_HOOK, requires=("ruda-core >< 3",))
    install(
        folder,
        "x-optional",
        "optional",
        GOOD_HOOK + RUNTIME,
        requires=("ruda-core>=0.1", "ruda-core>=99; extra == 'n'"),
    )
    install(folder, "x-twin-a", "twin", GOOD_HOOK + RUNTIME)
    install(folder, "x-twin-b", "twin", GOOD_HOOK + RUNTIME)
    install(folder, "a-usurper", "reference", GOOD_HOOK + RUNTIME)
    install(folder, "x-blocked", "blocked", GOOD_HOOK + RUNTIME)
    install(folder, "x-noruntime", "noruntime", GOOD_HOOK)
    install(folder, "x-wrongruntime", "wrongruntime", GOOD_HOOK + "\nclass Runtime: pass\n")
    install(folder, "x-probe", "probe", GOOD_HOOK + RUNTIME.replace("return Probe", "raise OSError('lost')  #"))
    return folder
