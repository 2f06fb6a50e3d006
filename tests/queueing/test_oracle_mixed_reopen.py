"""Closed users beside users who may go on, against whole chains and product form."""

import numpy as np
import pytest

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_reopen as oracle
from tests.oracles import queueing_servers as servers
from tests.oracles.queueing_accuracy import worst
from workloadkit.queueing import exponential, hyperbolic, mixed

SHAPES = {
    "exponential": (exponential(1.0), lambda r: np.exp(-r)),
    "hyperbola": (hyperbolic(0.8, 0.5), lambda r: 0.8 / (0.5 * r + 1)),
}


@pytest.mark.parametrize(("lam", "N", "Z", "c"), [(0.2, 3, 2.0, 1), (0.3, 2, 1.0, 2)])
@pytest.mark.parametrize("shape", ["exponential", "hyperbola"])
def test_closed_users_next_to_those_who_may_go_on(shape, lam, N, Z, c):
    form, p = SHAPES[shape]
    go_on = oracle.chances_behind(p, 1.0, c, most=50)
    law = chains.reopen_mixed(lam, N, go_on, Z, 1.0, c, most=40, thinking=11)
    Qc, Qo = chains.mean(law, lambda s: s[0]), chains.mean(law, lambda s: s[1])
    Xc = chains.mean(law, lambda s: (N - s[0]) / Z)
    Xo = chains.mean(law, lambda s: min(s[0] + s[1], c) * s[1] / max(s[0] + s[1], 1))
    result = mixed(lam, N, Z, 1.0, servers=c, p=form)
    known = {"Xc": Xc, "Qc": Qc, "Rc": Qc / Xc, "Xo": Xo, "Qo": Qo, "Ro": Qo / Xo}
    known["Ro_first"] = chains.mean(law, lambda s: 1 + max(0, s[0] + s[1] - c + 1) / c)
    for name, value in known.items():
        assert getattr(result, name) == pytest.approx(value, rel=1e-6), name


@pytest.mark.parametrize(
    ("lam", "N", "p", "Z", "c"), [(0.3, 4, 0.3, 5.0, 1), (0.9, 6, 0.5, 2.0, 3)]
)
def test_closed_users_next_to_constant_chances_have_product_form(lam, N, p, Z, c):
    known = servers.mixed(lam / (1 - p), N, Z, 1.0, c)
    result = mixed(lam, N, Z, 1.0, servers=c, p=p)
    known = {name: known[name] for name in ("Xc", "Rc", "Qc", "Ro", "Qo")}
    found = worst(result, known | {"Xo": lam / (1 - p)})
    assert found[0] < 1e-8, found
