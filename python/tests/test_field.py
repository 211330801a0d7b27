# SPDX-License-Identifier: Apache-2.0
"""Forces by formula and by function, their derivatives beside differences."""
from __future__ import annotations

import pickle

import numpy as np
import pytest

import orthant as ot

K, C = 3.0, 0.4  # stiffness of the well [N/m], drag [N s/m]


def well(x, v, t):
    return -K * x - C * v


def world(field, **named) -> ot.Model:
    b = ot.ModelBuilder()
    b.add_body("ball", mass=2.0, position=(0.5, 0.2, 0.0), velocity=(0.0, 0.3, 0.1),
               shapes=[ot.Shape.sphere(0.1)])
    b.add_body("other", mass=1.0, position=(-1.0, 0.0, 0.5), shapes=[ot.Shape.sphere(0.1)])
    b.set_gravity((0, 0, 0))
    b.add_field("well", ["ball", "other"], field, **named)
    return b.build()


def end(model: ot.Model, shift: float = 0.0) -> np.ndarray:
    x = model.rest_state()
    x.q[0] += shift
    return ot.rollout(model, model.default_parameters(), ot.StepSettings(h=0.01), x, 40).q[-1]


FORMULAS = [f"-{K}*x - {C}*vx", f"-{K}*y - {C}*vy", f"-{K}*z - {C}*vz"]


def kinds() -> list:
    out = [pytest.param(well, {}, id="numpy"), pytest.param(FORMULAS, {}, id="formulas")]
    for backend in ("jax", "torch"):
        out.append(pytest.param(well, {"backend": backend}, id=backend))
    return out


@pytest.mark.parametrize("field, named", kinds())
def test_fields_and_their_gradients(field, named):
    if "backend" in named:
        module = pytest.importorskip(named["backend"])
        if named["backend"] == "jax":
            module.config.update("jax_enable_x64", True)
    model = world(field, **named)
    np.testing.assert_allclose(end(model), end(world(FORMULAS)), rtol=1e-8, atol=1e-9)
    tape = ot.record_rollout(model, model.default_parameters(), ot.StepSettings(h=0.01),
                             model.rest_state(), 40)
    loss = np.zeros(model.q_size)
    loss[0] = 1.0
    g = tape.pull_back(loss)
    difference = (end(model, 1e-6)[0] - end(model, -1e-6)[0]) / 2e-6
    assert g.q[0] == pytest.approx(difference, rel=1e-6) and abs(difference) < 0.9
    assert g.certificate.exact, g.certificate.reason


def test_a_field_whose_stiffness_changes_is_not_called_exact():
    """The step treats it implicitly, and how that part changes is not known."""
    model = world(["-3*x*x*x", "-3*y", "-3*z"])
    tape = ot.record_rollout(model, model.default_parameters(), ot.StepSettings(h=0.01), model.rest_state(), 40)
    loss = np.zeros(model.q_size)
    loss[0] = 1.0
    certificate = tape.pull_back(loss).certificate
    assert not certificate.exact and "resists more in some places" in certificate.reason


def test_planar_fields_of_time():
    b = ot.ModelBuilder()
    b.add_body("disc", motion=ot.Motion.Planar, mass=2.0, shapes=[ot.Shape.disc(0.1)])
    b.set_gravity((0, 0, 0))
    b.add_field("wind", "disc", lambda x, v, t: np.array([4.0 * t, 0.0]))
    m = b.build()
    run = ot.rollout(m, m.default_parameters(), ot.StepSettings(h=0.01), m.rest_state(), 100)
    assert run.of("disc", "vx")[-1] == pytest.approx(1.0, rel=1e-9)


def test_fields_are_pickled():
    for field in (well, FORMULAS):
        model = world(field)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(end(again), end(model))


def test_errors_name_the_field():
    with pytest.raises(ot.Error, match="field 'well': formula 'x \\+', character 4"):
        world(["x +", "0", "0"])
    with pytest.raises(ot.Error, match="backend: expected one of"):
        world(well, backend="tensorflow")
    with pytest.raises(ot.Error, match="field of 'ball': expected 3 numbers"):
        end(world(lambda x, v, t: x[:2]))
    with pytest.raises(ot.Error, match="must be finite"):
        end(world(lambda x, v, t: x * np.nan))
    with pytest.raises(ot.Error, match="field 'well'.*not finite|field 'well'.*finite"):
        end(world(["1/(x-x)", "0", "0"]))
