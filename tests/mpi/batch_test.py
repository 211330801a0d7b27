# SPDX-License-Identifier: Apache-2.0
"""mpirun -n N python3 -m mpi4py.futures batch_test.py: the worlds of a batch over the other ranks, with the bits of
one process."""
import time

import numpy as np
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

import orthant as ot


def rank_of(_):
    time.sleep(0.05)
    return MPI.COMM_WORLD.Get_rank()


def block_world():
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.5)
    b.add_body("floor", motion=ot.Motion.Fixed, planar=True, shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
    b.add_body("block", motion=ot.Motion.Planar, position=(0.0, 0.1), velocity=(2.0, 0.0), mass=2.0,
               shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.2, 0.1), material="wood")])
    return b.build()


def main():
    model, settings = block_world(), ot.StepSettings(h=2e-3)
    friction = {"material/wood.friction": np.linspace(0.1, 0.9, 13)}
    here = ot.rollout_batch(model, settings, model.rest_state(), 30, parameters=friction)
    np.testing.assert_allclose(here.v[:, -1, 0], 2 - friction["material/wood.friction"] * 9.81 * 0.06, atol=1e-9)
    with MPIPoolExecutor() as executor:
        workers = set(executor.map(rank_of, range(8 * MPI.COMM_WORLD.Get_size())))
        assert workers == set(range(1, MPI.COMM_WORLD.Get_size())), workers
        there = ot.rollout_batch(model, settings, model.rest_state(), 30, parameters=friction, executor=executor)
    for name in ("t", "q", "v", "outcome", "residual"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    print(f"ok: {len(friction['material/wood.friction'])} worlds on {len(workers)} ranks")


if __name__ == "__main__":
    main()
