# SPDX-License-Identifier: Apache-2.0
"""21_encoder: learn to see by predicting: encoder, physics, decoder.

A ball bounces; all there is to see are pictures of 16 x 16 pixels. A network reads the first three and
guesses place and velocity, the engine runs on from there through the bounce, a picture is drawn of every
state, and the error of the pictures alone trains the network. Nobody ever tells it where the ball is.
Seed 2, Adam, 900 batches of 32 motions; python/bench/encoder_compared.py draws the loss beside CMA-ES.

Needs: torch
Prints: places predicted 0.3 s ahead to less than a pixel: yes
"""
import os
import time

import torch

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ
torch.manual_seed(2)
torch.set_num_threads(1)
F64 = torch.float64
SIZE, SEEN, AHEAD, BATCH = 16, 3, 12, 32

builder = ot.ModelBuilder()
builder.add_material("rubber", friction=0.0, restitution=0.8)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="rubber")])
builder.add_body("ball", motion=ot.Motion.Planar, position=(0.5, 0.5), mass=0.1,
                 shapes=[ot.ShapeSpec(ot.Shape.disc(0.05), material="rubber")])
builder.set_gravity((0, -3.0))
model = builder.build()
settings = ot.StepSettings(h=0.025, impact_events=True)
floor = torch.tensor(model.rest_state().q[:3])


def motion(start: torch.Tensor, steps: int) -> torch.Tensor:
    """(B, 4) place and velocity => places (B, steps + 1, 2)."""
    rest = start.new_zeros(len(start), 1)
    q0 = torch.cat([floor.expand(len(start), 3), start[:, :2], rest], dim=1)
    q, _ = ot.torch.rollout(model, settings, q0, torch.cat([start[:, 2:], rest], dim=1), steps=steps)
    return q[..., 3:5]


def draw(places: torch.Tensor) -> torch.Tensor:
    """(…, 2) in the unit square => pictures (…, SIZE, SIZE); the decoder has nothing to learn."""
    at = (torch.arange(SIZE, dtype=F64) + 0.5) / SIZE
    x, y = places[..., 0, None, None], places[..., 1, None, None]
    return torch.exp(-((at - x) ** 2 + (at[:, None] - y) ** 2) / (2 * 0.08**2))


def sample(count: int) -> torch.Tensor:
    low, high = torch.tensor([0.2, 0.25, -0.8, -0.8]), torch.tensor([0.8, 0.8, 0.8, 0.8])
    return (low + (high - low) * torch.rand(count, 4)).to(F64)


encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(SEEN * SIZE * SIZE, 96), torch.nn.Tanh(),
                              torch.nn.Linear(96, 4)).to(F64)
with torch.no_grad():
    encoder[3].weight *= 0.1
    encoder[3].bias[:] = torch.tensor([0.5, 0.5, 0.0, 0.0])
rounds = 550 if QUICK else 900
first = torch.nn.utils.parameters_to_vector(encoder.parameters()).detach().clone()  # where the search starts
optimiser = torch.optim.Adam(encoder.parameters(), lr=4e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds)


def error(starts: torch.Tensor) -> torch.Tensor:
    """Mean square of what the pictures predicted from the first ones miss."""
    seen = draw(motion(starts, AHEAD))
    guess = encoder(seen[:, :SEEN])
    place = torch.cat([guess[:, :1], guess[:, 1:2].clamp(min=0.06), guess[:, 2:]], dim=1)  # above the floor
    return (draw(motion(place, AHEAD)) - seen).pow(2).mean()


curve = []  # (processor time [s], loss)
begin = time.process_time()
for i in range(rounds):
    loss = error(sample(BATCH))
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    schedule.step()
    curve.append((time.process_time() - begin, loss.item()))

with torch.no_grad():
    truth = sample(100)
    seen = draw(motion(truth, AHEAD))
    guess = encoder(seen[:, :SEEN])
    end = motion(guess, AHEAD)[:, -1]
    miss = (end - motion(truth, AHEAD)[:, -1]).norm(dim=1) * SIZE
    straight = guess[:, :2] + AHEAD * settings.h * guess[:, 2:]  # the same network without physics
    without = (straight - motion(truth, AHEAD)[:, -1]).norm(dim=1) * SIZE
print(f"loss {loss.item():.5f}; median miss {float(miss.median()):.2f} pixels, {float(without.median()):.2f} "
      f"for a straight line, new motions")
print("places predicted 0.3 s ahead to less than a pixel:", "yes" if float(miss.median()) < 1 else "no")
