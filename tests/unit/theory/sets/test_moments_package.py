import subprocess
import sys

import copa.theory.sets


def test_every_exported_name_exists():
    assert sorted(copa.theory.sets.__all__) == copa.theory.sets.__all__
    assert all(hasattr(copa.theory.sets, name) for name in copa.theory.sets.__all__)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, copa.theory.sets; print({'sklearn', 'scipy', 'joblib', 'pandas'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert result.stdout.strip() == "set()"
