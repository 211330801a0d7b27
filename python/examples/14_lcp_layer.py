# SPDX-License-Identifier: Apache-2.0
"""14_lcp_layer: learn the contact law of a spring stop from its motion, with an LCP as a layer.

Data: z = the force of 3 coupled stops under loads q, 0 <= z, M z + q >= 0, z'(M z + q) = 0, with an M
nobody told us. The layer is differentiated exactly, so M = A A' + 0.1 comes back from (q, z) alone.

Needs: torch
Prints: the matrix came back: yes
"""
import os

import torch

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ
torch.manual_seed(3)
n, count = 3, 48 if QUICK else 128

truth = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.5, 0.3], [0.0, 0.3, 1.0]], dtype=torch.float64)
q = torch.randn(count, n, dtype=torch.float64)
z = ot.torch.lcp(truth, q)  # broadcasts: one matrix, many loads

root = torch.eye(n, dtype=torch.float64).requires_grad_()
optimiser = torch.optim.LBFGS([root], max_iter=60, line_search_fn="strong_wolfe",
                              tolerance_grad=1e-10, tolerance_change=1e-12)


def matrix() -> torch.Tensor:
    return root @ root.T + 0.1 * torch.eye(n, dtype=torch.float64)


def closure() -> torch.Tensor:
    optimiser.zero_grad()
    loss = (ot.torch.lcp(matrix(), q) - z).pow(2).mean()
    loss.backward()
    return loss


first = float(closure())
optimiser.step(closure)
error = float((matrix() - truth).abs().max())
print(f"loss {first:.3e} -> {float(closure()):.3e}, largest error of M {error:.1e}")
print("the matrix came back:", "yes" if error < 1e-4 else "no")
