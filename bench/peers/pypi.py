# SPDX-License-Identifier: Apache-2.0
"""pypi.py VARIANT: runs one scene of bench/peers/engines in an engine from PyPI.

Reads the scene as one line of JSON, then a line "step" per step, and answers each with the
processor time of the step and 18 numbers per body: position, rotation by rows, velocity, angular
velocity. Everything is measured from those by peer.cpp. Engines run with their defaults except for
what a variant names:

mujoco-newton, mujoco-elliptic, mujoco-cg   MuJoCo 4, Euler; elliptic: Newton with the elliptic cone
dart-dantzig, dart-nsgs, dart-fbf           DART 6.20, ODE's collision detection
drake-lagged, drake-sap, drake-hydroelastic Drake 1.51, discrete plant; the first two with point contact
                                            (one point per pair), the third with lagged pressure fields
                                            of 1e8 Pa, which its manual advises for faces
pinocchio-admm                              Pinocchio 4.1's exact Coulomb solver at 1e-12 within the step
                                            below: it has no simulator of its own. Contacts: box corners
                                            and spheres on planes, spheres on spheres.
bullet-si10, bullet-si50                    PyBullet 3.2
"""
import json
import os
import sys
import time

import numpy as np


def words(values):
    return " ".join(repr(float(value)) for value in values)


def quaternion(rotation):
    """w, x, y, z of a rotation matrix."""
    r = np.asarray(rotation, float)
    values, vectors = np.linalg.eigh(np.array([
        [r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
        [r[1, 0] + r[0, 1], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
        [r[2, 0] + r[0, 2], r[2, 1] + r[1, 2], r[2, 2] - r[0, 0] - r[1, 1], 0],
        [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]]]) / 3)
    x, y, z, w = vectors[:, np.argmax(values)]
    return np.array([w, x, y, z]) * (1 if w >= 0 else -1)


class Mujoco:
    """Chains are nested bodies, everything else lies side by side."""

    def __init__(self, scene, variant):
        import mujoco

        self.mujoco, self.ids = mujoco, []
        solver = "CG" if variant == "cg" else "Newton"
        cone = "elliptic" if variant == "elliptic" else "pyramidal"
        xml = [f'<mujoco><compiler boundmass="0"/><size memory="2G"/><option timestep="{scene["h"]}" '
               f'gravity="{words(scene["gravity"])}" solver="{solver}" cone="{cone}"/><worldbody>']
        parts, nested = scene["parts"], 0
        for part in parts:
            mu = part["friction"]
            friction = f' condim="{3 if mu > 0 else 1}" friction="{mu if mu > 0 else 1} 0 0"'
            turn = words(quaternion(part["rotation"]))
            if not part["dynamic"]:
                xml.append(f'<geom type="plane" size="50 50 1" pos="{words(part["position"])}" quat="{turn}"{friction}/>')
                continue
            self.ids.append(len(self.ids) + 1)
            place = np.array(part["position"])
            anchored = "anchor" in part
            if anchored and part["parent"] >= 0:
                place = place - parts[part["parent"]]["position"]
            xml.append(f'<body pos="{words(place)}" quat="{turn}">')
            if anchored:
                xml.append(f'<joint type="ball" pos="{words(np.subtract(part["anchor"], part["position"]))}"/>')
                nested += 1
            else:
                xml.append('<joint type="slide" axis="0 0 1"/>' if part["vertical_only"] else "<freejoint/>")
            off = "" if part["collides"] else ' contype="0" conaffinity="0"'
            xml.append(f'<geom type="{part["shape"]}" size="{words(part["size"])}" mass="{part["mass"]}"{friction}{off}/>')
            if not anchored:
                xml.append("</body>")
        xml.append("</body>" * nested + "</worldbody></mujoco>")
        self.model = mujoco.MjModel.from_xml_string("".join(xml))
        self.data = mujoco.MjData(self.model)
        for body, part in zip(self.ids, (p for p in parts if p["dynamic"])):
            if not part["vertical_only"] and "anchor" not in part:
                at = self.model.body_dofadr[body]
                self.data.qvel[at:at + 3] = part["velocity"]
        mujoco.mj_forward(self.model, self.data)

    def step(self):
        self.mujoco.mj_step(self.model, self.data)

    def bodies(self):
        m, d = self.model, self.data
        self.mujoco.mj_kinematics(m, d)  # poses in data lag one step behind qpos
        self.mujoco.mj_comPos(m, d)
        self.mujoco.mj_comVel(m, d)
        velocity = np.zeros(6)  # angular, linear
        for body in self.ids:
            self.mujoco.mj_objectVelocity(m, d, self.mujoco.mjtObj.mjOBJ_BODY, body, velocity, 0)
            yield d.xpos[body], d.xmat[body], velocity[3:], velocity[:3]

    def contacts(self):
        return self.data.ncon


class Dart:
    def __init__(self, scene, variant):
        import dartpy

        dynamics, self.nodes = dartpy.dynamics, []
        self.world = world = dartpy.simulation.World()
        world.setTimeStep(scene["h"])
        world.setGravity(scene["gravity"])
        solver = world.getConstraintSolver()
        if variant != "dantzig":
            solver.setBoxedLcpSolver({"nsgs": dartpy.constraint.NsgsFrictionSolver,
                                      "fbf": dartpy.constraint.FbfFrictionSolver}[variant]())
        solver.setCollisionDetector(dartpy.collision.OdeCollisionDetector())
        solver.getCollisionOption().maxNumContacts = 200000
        chain, parents = None, []
        for part in scene["parts"]:
            if "anchor" in part:
                chain = chain or dynamics.Skeleton("chain")
                skeleton = chain
            else:
                skeleton = dynamics.Skeleton(part["name"])
            node = self.node(dynamics, skeleton, part, scene["parts"], parents)
            parents.append(node)
            if part["collides"]:
                shape = node.createShapeNode(self.shape(dynamics, part))
                shape.createCollisionAspect()
                shape.createDynamicsAspect()
                shape.getDynamicsAspect().setFrictionCoeff(part["friction"])
                shape.getDynamicsAspect().setRestitutionCoeff(0)
            if part["dynamic"]:
                inertia = dynamics.Inertia()
                inertia.setMass(part["mass"])
                inertia.setMoment(np.diag(part["inertia"]))
                node.setInertia(inertia)
                self.nodes.append(node)
            else:
                skeleton.setMobile(False)
            if "anchor" not in part:
                world.addSkeleton(skeleton)
        if chain is not None:
            world.addSkeleton(chain)
        self.solver = solver

    @staticmethod
    def shape(dynamics, part):
        if part["shape"] == "plane":
            normal = np.array(part["rotation"])[:, 2]
            return dynamics.PlaneShape(normal, float(normal @ part["position"]))
        if part["shape"] == "sphere":
            return dynamics.SphereShape(part["size"][0])
        return dynamics.BoxShape(2 * np.array(part["size"]))

    @staticmethod
    def node(dynamics, skeleton, part, parts, parents):
        if not part["dynamic"]:
            return skeleton.createWeldJointAndBodyNodePair()[1]
        if "anchor" in part:
            joint = dynamics.BallJointProperties()
            joint.mName = "joint " + part["name"]
            joint.mT_ChildBodyToJoint = frame(np.subtract(part["anchor"], part["position"]))
            parent = part["parent"]
            origin = np.zeros(3) if parent < 0 else parts[parent]["position"]
            joint.mT_ParentBodyToJoint = frame(np.subtract(part["anchor"], origin))
            return skeleton.createBallJointAndBodyNodePair(None if parent < 0 else parents[parent], joint)[1]
        if part["vertical_only"]:
            joint = dynamics.PrismaticJointProperties()
            joint.mAxis = [0, 0, 1]
            joint.mT_ParentBodyToJoint = frame(part["position"])
            return skeleton.createPrismaticJointAndBodyNodePair(None, joint)[1]
        joint, node = skeleton.createFreeJointAndBodyNodePair()
        joint.setTransform(frame(part["position"], part["rotation"]))
        joint.setLinearVelocity(part["velocity"])
        return node

    def step(self):
        self.world.step()

    def bodies(self):
        for node in self.nodes:
            pose = node.getTransform()
            yield pose.translation(), pose.rotation(), node.getLinearVelocity(), node.getAngularVelocity()

    def contacts(self):
        return self.world.getLastCollisionResult().getNumContacts()


def frame(position, rotation=None):
    import dartpy

    out = dartpy.math.Isometry3()
    out.set_translation(position)
    if rotation is not None:
        out.set_rotation(np.array(rotation))
    return out


class Drake:
    def __init__(self, scene, variant):
        from pydrake.geometry import (AddCompliantHydroelasticProperties, AddContactMaterial,
                                      AddRigidHydroelasticProperties, Box, HalfSpace, ProximityProperties, Sphere)
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody.math import SpatialVelocity
        from pydrake.multibody.plant import (AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction,
                                             DiscreteContactApproximation)
        from pydrake.multibody.tree import (BallRpyJoint, FixedOffsetFrame, PrismaticJoint, SpatialInertia,
                                            UnitInertia)
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=scene["h"])
        approximation = DiscreteContactApproximation
        plant.set_discrete_contact_approximation(approximation.kSap if variant == "sap" else approximation.kLagged)
        fields = variant == "hydroelastic"
        plant.set_contact_model(ContactModel.kHydroelasticWithFallback if fields else ContactModel.kPoint)
        plant.mutable_gravity_field().set_gravity_vector(scene["gravity"])
        self.nodes, bodies, free = [], [], []
        for part in scene["parts"]:
            surface = ProximityProperties()
            AddContactMaterial(friction=CoulombFriction(part["friction"], part["friction"]), properties=surface)
            if fields and part["dynamic"]:
                AddCompliantHydroelasticProperties(min(part["size"]) / 2, 1e8, surface)
            elif fields:
                AddRigidHydroelasticProperties(surface)
            pose = RigidTransform(RotationMatrix(np.array(part["rotation"])), part["position"])
            if not part["dynamic"]:
                plant.RegisterCollisionGeometry(plant.world_body(), pose, HalfSpace(), part["name"], surface)
                bodies.append(None)
                continue
            mass, size = part["mass"], part["size"]
            inertia = SpatialInertia(mass, np.zeros(3), UnitInertia(*(np.array(part["inertia"]) / mass)))
            body = plant.AddRigidBody(part["name"], inertia)
            bodies.append(body)
            self.nodes.append(body)
            if part["collides"]:
                shape = Sphere(size[0]) if part["shape"] == "sphere" else Box(*(2 * np.array(size)))
                plant.RegisterCollisionGeometry(body, RigidTransform(), shape, part["name"], surface)
            if "anchor" in part:
                parent = part["parent"]
                base = plant.world_body() if parent < 0 else bodies[parent]
                origin = np.zeros(3) if parent < 0 else np.array(scene["parts"][parent]["position"])
                a = plant.AddFrame(FixedOffsetFrame("a" + part["name"], base.body_frame(),
                                                    RigidTransform(np.array(part["anchor"]) - origin)))
                b = plant.AddFrame(FixedOffsetFrame("b" + part["name"], body.body_frame(),
                                                    RigidTransform(np.subtract(part["anchor"], part["position"]))))
                plant.AddJoint(BallRpyJoint("j" + part["name"], a, b))
            elif part["vertical_only"]:
                a = plant.AddFrame(FixedOffsetFrame("a" + part["name"], plant.world_frame(), pose))
                plant.AddJoint(PrismaticJoint("j" + part["name"], a, body.body_frame(), [0, 0, 1]))
            else:
                free.append((body, pose, part["velocity"]))
        plant.Finalize()
        diagram = builder.Build()
        self.simulator = Simulator(diagram)
        self.plant, self.h, self.count = plant, scene["h"], 0
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        for body, pose, velocity in free:
            plant.SetFreeBodyPose(self.context, body, pose)
            plant.SetFreeBodySpatialVelocity(self.context, body, SpatialVelocity(np.zeros(3), np.array(velocity)))
        self.simulator.Initialize()

    def step(self):
        self.count += 1
        self.simulator.AdvanceTo(self.count * self.h)

    def bodies(self):
        for body in self.nodes:
            pose = self.plant.EvalBodyPoseInWorld(self.context, body)
            velocity = self.plant.EvalBodySpatialVelocityInWorld(self.context, body)
            yield pose.translation(), pose.rotation().matrix(), velocity.translational(), velocity.rotational()

    def contacts(self):
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        return results.num_point_pair_contacts() + results.num_hydroelastic_contacts()


class Pinocchio:
    """q+ = q + h v+ with v+ from Pinocchio's solver: gaps over h on the normal rows, no projection."""

    MARGIN = 0.01

    def __init__(self, scene, variant):
        import pinocchio

        self.pin, self.h, self.gravity = pinocchio, scene["h"], np.array(scene["gravity"])
        self.planes = [part for part in scene["parts"] if not part["dynamic"]]
        self.parts = [part for part in scene["parts"] if part["dynamic"]]
        for part in self.parts:
            if "anchor" in part or (part["shape"] == "box" and len(self.parts) > 1):
                raise ValueError("this adapter has no joints and no boxes on boxes")
        self.x = np.array([part["position"] for part in self.parts])
        self.R = np.array([part["rotation"] for part in self.parts])
        self.v = np.array([part["velocity"] for part in self.parts])
        self.w = np.zeros_like(self.v)
        self.model = pinocchio.Model()
        self.guess, self.count, self.text = None, 0, ""

    def find(self):
        """(body, other or -1, point, normal towards body, gap, friction)"""
        out = []
        for i, part in enumerate(self.parts):
            if part["shape"] == "sphere":
                points, radius = [self.x[i]], part["size"][0]
            else:
                signs = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
                points, radius = self.x[i] + (signs * part["size"]) @ self.R[i].T, 0.0
            for plane in self.planes:
                n = np.array(plane["rotation"])[:, 2]
                for point in points:
                    gap = float(n @ (point - plane["position"])) - radius
                    if gap < self.MARGIN:
                        out.append((i, -1, point - radius * n, n, gap, part["friction"]))
        if self.parts and all(part["shape"] == "sphere" for part in self.parts):
            radii = np.array([part["size"][0] for part in self.parts])
            for i in range(len(self.parts)):
                apart = self.x[i + 1:] - self.x[i]
                for k in np.flatnonzero(np.linalg.norm(apart, axis=1) - radii[i + 1:] - radii[i] < self.MARGIN):
                    distance = np.linalg.norm(apart[k])
                    n, j = apart[k] / distance, i + 1 + k
                    out.append((j, i, self.x[i] + radii[i] * n, n, distance - radii[i] - radii[j],
                                self.parts[j]["friction"]))
        return out

    def step(self):
        pin, h, contacts = self.pin, self.h, self.find()
        n = len(self.parts)
        free = np.concatenate([self.v + h * self.gravity, self.w], axis=1).ravel()
        inverse = np.zeros((6 * n, 6 * n))
        held = np.ones(6 * n)
        for i, part in enumerate(self.parts):
            inverse[6 * i:6 * i + 3, 6 * i:6 * i + 3] = np.eye(3) / part["mass"]
            inverse[6 * i + 3:6 * i + 6, 6 * i + 3:6 * i + 6] = self.R[i] @ np.diag(1 / np.array(part["inertia"])) @ self.R[i].T
            if part["vertical_only"]:
                held[[6 * i, 6 * i + 1, 6 * i + 3, 6 * i + 4, 6 * i + 5]] = 0
        inverse = held[:, None] * inverse * held
        free = held * free
        new = free
        if contacts:
            J, bias = np.zeros((3 * len(contacts), 6 * n)), np.zeros(3 * len(contacts))
            models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
            for k, (i, j, point, normal, gap, friction) in enumerate(contacts):
                t = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
                t /= np.linalg.norm(t)
                F = np.stack([t, np.cross(normal, t), normal])  # the normal is the last row
                for body, sign in ((i, 1), (j, -1)):
                    if body >= 0:
                        r = point - self.x[body]
                        turn = np.array([[0, r[2], -r[1]], [-r[2], 0, r[0]], [r[1], -r[0], 0]])
                        J[3 * k:3 * k + 3, 6 * body:6 * body + 3] += sign * F
                        J[3 * k:3 * k + 3, 6 * body + 3:6 * body + 6] += sign * F @ turn
                bias[3 * k + 2] = gap / h
                model = pin.PointContactConstraintModel(self.model, 0)
                model.setFriction(friction)
                models.append(pin.ConstraintModel(model))
                datas.append(models[k].createData())
            operator = pin.DelassusOperatorDense(J @ inverse @ J.T)
            settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
            settings.absolute_feasibility_tol = settings.relative_feasibility_tol = 1e-12
            settings.absolute_complementarity_tol = settings.relative_complementarity_tol = 1e-12
            settings.max_iterations, settings.solve_ncp = 10000, True
            solver = pin.ADMMConstraintSolver()
            solver.solve(operator, J @ free + bias, models, datas, settings, result)
            impulse = np.array(result.retrieveConstraintImpulses())
            if not result.converged:
                self.text = "not converged"
            new = free + inverse @ J.T @ impulse
        new = new.reshape(n, 6)
        self.v, self.w, self.count = new[:, :3], new[:, 3:], len(contacts)
        self.x = self.x + h * self.v
        for i in range(n):
            self.R[i] = self.pin.exp3(h * self.w[i]) @ self.R[i]

    def bodies(self):
        yield from zip(self.x, self.R, self.v, self.w)

    def contacts(self):
        return self.count


class Bullet:
    def __init__(self, scene, variant):
        import pybullet

        self.bullet, self.ids = pybullet, []
        pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*scene["gravity"])
        pybullet.setPhysicsEngineParameter(fixedTimeStep=scene["h"], numSubSteps=0,
                                           numSolverIterations=int(variant[2:]))
        for part in scene["parts"]:
            if part["vertical_only"] or "anchor" in part:
                raise ValueError("this adapter has no joints")
            w, x, y, z = quaternion(part["rotation"])
            if part["shape"] == "plane":
                shape = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=[0, 0, 1])
            elif part["shape"] == "sphere":
                shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=part["size"][0])
            else:
                shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=part["size"])
            body = pybullet.createMultiBody(part["mass"], shape, -1, part["position"], [x, y, z, w])
            # Of two bodies it takes the product.
            pybullet.changeDynamics(body, -1, lateralFriction=part["friction"] ** 0.5, restitution=0,
                                    linearDamping=0, angularDamping=0, rollingFriction=0, spinningFriction=0)
            if part["dynamic"]:
                pybullet.resetBaseVelocity(body, part["velocity"], [0, 0, 0])
                self.ids.append(body)

    def step(self):
        self.bullet.stepSimulation()

    def bodies(self):
        for body in self.ids:
            x, q = self.bullet.getBasePositionAndOrientation(body)
            v, w = self.bullet.getBaseVelocity(body)
            yield x, self.bullet.getMatrixFromQuaternion(q), v, w

    def contacts(self):
        return len(self.bullet.getContactPoints())


ENGINES = {"mujoco": (Mujoco, ("newton", "elliptic", "cg")), "dart": (Dart, ("dantzig", "nsgs", "fbf")),
           "drake": (Drake, ("lagged", "sap", "hydroelastic")), "pinocchio": (Pinocchio, ("admm",)),
           "bullet": (Bullet, ("si10", "si50"))}


def answer(channel, engine, seconds):
    # JSON has no NaN; 1e300 is as far from finite for whoever measures.
    bodies = [np.nan_to_num(np.concatenate([np.ravel(part) for part in body]), nan=1e300, posinf=1e300, neginf=-1e300)
              .tolist() for body in engine.bodies()]
    print(json.dumps({"seconds": seconds, "bodies": bodies, "contacts": int(engine.contacts()),
                      "note": getattr(engine, "text", "")}), file=channel, flush=True)


def main():
    channel = os.fdopen(os.dup(1), "w")  # what engines print themselves goes to the standard error
    os.dup2(2, 1)
    name, _, variant = sys.argv[1].partition("-")
    if name not in ENGINES or variant not in ENGINES[name][1]:
        known = ", ".join(f"{key}-{item}" for key, (_, items) in ENGINES.items() for item in items)
        print(json.dumps({"error": f"one of {known}"}), file=channel, flush=True)
        return 2
    try:
        engine = ENGINES[name][0](json.loads(sys.stdin.readline()), variant)
        answer(channel, engine, 0.0)
        for line in sys.stdin:
            if line.strip() != "step":
                break
            begin = time.process_time()
            engine.step()
            answer(channel, engine, time.process_time() - begin)
    except Exception as error:  # whatever the engine throws is the result of this case
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=channel, flush=True)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
