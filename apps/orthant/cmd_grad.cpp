// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_grad.cpp: orthant grad SCENE --loss EXPR => d loss / d (parameters, start),
// certified. One rollout serves all losses; each loss costs one reverse walk. With --check the
// gradient stands beside the differences of GradientChecker, which looks at the loss linearised at
// the end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "loss.hpp"
#include "names.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/gradient/checker.hpp"
#include "orthant/io/scene.hpp"
#include "report.hpp"
#if defined(ORTHANT_HAS_MPI)
#include "orthant/distributed/distributed.hpp"
#include "orthant/distributed/gradient.hpp"
#endif

namespace orthant::app {
namespace {

constexpr std::size_t kShown = 20;  // rows where nobody said which
constexpr double kAgrees = 1e-5;    // relative; what --check asks of a gradient
constexpr double kNothing = 1e-14;  // of the largest entry: not listed unless asked for

struct GradCommand {
  std::string scene, json_path;
  std::vector<std::string> losses, parameters;
  SceneOptions scene_options;
  Index steps = 0;
  int threads = 1;
  double kappa = 0;
  bool check = false, force = false;
};

using Kind = InputKind;

/// Something one differentiates by.
struct Input {
  std::string name;
  Kind kind = Kind::Parameter;
  Index place = 0;
  std::string unit;
};

struct Row {
  Input input;
  double value = 0;  ///< of the input
  double gradient = 0;
  std::string side;  ///< why it is no two-sided derivative, in a word
  bool compared = false;
  CheckStatus status = CheckStatus::Compared;
  double difference = 0, error = 0;
};

std::string part(const std::string& list, std::size_t begin, std::size_t end) {
  return list.substr(begin, end - begin);
}

/// "a,position(b).x" split at commas outside parentheses.
std::vector<std::string> split(const std::vector<std::string>& lists) {
  std::vector<std::string> out;
  for (const std::string& list : lists) {
    int open = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
      if (i < list.size()) open += list[i] == '(' ? 1 : list[i] == ')' ? -1 : 0;
      if (i < list.size() && (list[i] != ',' || open > 0)) continue;
      if (i > begin) out.push_back(part(list, begin, i));
      begin = i + 1;
    }
  }
  return out;
}

Input input_of(const Model& model, const std::string& name) {
  if (name.starts_with("control(") && name.ends_with(")"))
    return {name, Kind::Control, model.find_actuator(part(name, 8, name.size() - 1)), ""};
  const StateName state = state_name(name, model);
  if (state.is_state)
    return {name, state.velocity ? Kind::Velocity : Kind::Configuration, state.place, ""};
  const std::string full = full_parameter_name(model, name);
  const Index place = model.parameter_table().find(full);
  return {full, Kind::Parameter, place, model.parameter_table().unit(place)};
}

/// Everything there is.
std::vector<Input> all_inputs(const Model& model) {
  std::vector<Input> out;
  for (const Body& body : model.bodies()) {
    const Index shifts = body.planar ? 2 : 3;
    for (Index i = 0; i < body.v_size; ++i) {
      const char axis = i < shifts ? "xyz"[i] : body.planar ? 'z' : "xyz"[i - 3];
      for (const bool velocity : {false, true})
        out.push_back({fmt::format("{}({}).{}",
                                   i < shifts ? (velocity ? "velocity" : "position")
                                              : (velocity ? "spin" : "rotation"),
                                   body.name, axis),
                       velocity ? Kind::Velocity : Kind::Configuration, body.v_begin + i, ""});
    }
  }
  for (Index i = 0; i < model.control_count(); ++i)
    out.push_back({"control(" + model.actuators()[static_cast<std::size_t>(i)].name + ")",
                   Kind::Control, i, ""});
  const ParameterTable& table = model.parameter_table();
  for (Index i = 0; i < table.size(); ++i)
    out.push_back({table.name(i), Kind::Parameter, i, table.unit(i)});
  return out;
}

double gradient_of(const Input& input, const RolloutGradient& g, const Loss& loss) {
  switch (input.kind) {
    case Kind::Configuration:
      return g.q[input.place];
    case Kind::Velocity:
      return g.v[input.place];
    // By a constant added to the control at all times.
    case Kind::Control:
      return g.u.row(input.place).sum();
    case Kind::Parameter:
      break;
  }
  const double direct = loss.by_parameters.size() == 0 ? 0 : loss.by_parameters[input.place];
  return g.parameters[input.place] + direct;
}

MatX controls_of(const LoadedScene& scene, Index steps) {
  MatX controls(scene.model.control_count(), scene.model.control_count() == 0 ? 0 : steps);
  VecX u;
  for (Index i = 0; i < controls.cols(); ++i) {
    // As a run does: the control at the start of the step.
    scene.controls_at(scene.state.t + static_cast<double>(i) * scene.settings.h, u);
    controls.col(i) = u;
  }
  return controls;
}

/// What GradientChecker calls an input.
std::string checker_name(const Model& model, const Input& input) {
  if (input.kind == Kind::Parameter) return input.name;
  for (const Body& body : model.bodies())
    if (input.place >= body.v_begin && input.place < body.v_begin + body.v_size)
      return fmt::format("{}/{}.{}", input.kind == Kind::Configuration ? "q" : "v", body.name,
                         input.place - body.v_begin);
  return "";
}

void compare(const LoadedScene& scene, const RolloutTape& tape, const Loss& loss,
             const StepGradientSettings& gradient, std::vector<Row>& rows) {
  GradientChecker checker(scene.model, scene.parameters, scene.settings, scene.state, tape.steps,
                          tape.controls);
  const VecX zero = VecX::Zero(scene.model.v_size());
  checker.by_q = loss.by_q.size() > 0 ? loss.by_q : zero;
  checker.by_v = loss.by_v.size() > 0 ? loss.by_v : zero;
  checker.check_q = checker.check_v = false;
  checker.parameters_checked.clear();
  for (const Row& row : rows) {
    checker.check_q = checker.check_q || row.input.kind == Kind::Configuration;
    checker.check_v = checker.check_v || row.input.kind == Kind::Velocity;
    if (row.input.kind == Kind::Parameter) checker.parameters_checked.push_back(row.input.place);
  }
  GradientCheckSettings settings;
  settings.gradient = gradient;
  double largest = 0;
  for (const Row& row : rows) largest = std::max(largest, std::abs(row.gradient));
  settings.floor = 1e-3 * largest;
  const GradientCheck check = checker.run(settings);
  for (Row& row : rows) {
    const std::string name = checker_name(scene.model, row.input);
    for (const GradientCheckRow& found : check.rows) {
      if (row.input.kind == Kind::Control || found.name != name) continue;
      row.compared = true;
      row.status = found.status;
      // Both sides get the part of the loss that reads the parameter itself.
      row.difference = found.difference + (row.gradient - found.gradient);
      row.error = found.error;
    }
  }
}

/// Why the number of a row is no two-sided derivative, in a word; empty where it is one.
std::string side_of(const Input& input, const RolloutCertificate& c) {
  const auto has = [&](OpenReason reason) {
    return std::ranges::any_of(c.open, [&](const OpenInput& open) {
      return open.place == input.place && open.kind == input.kind && open.reason == reason;
    });
  };
  if (has(OpenReason::Ambiguous)) return "ambiguous";
  if (has(OpenReason::Neither)) return "says nothing";
  if (has(OpenReason::Kink)) return "kink";
  if (has(OpenReason::Near)) return "near a kink";
  for (const EdgeParameter& edge : c.edges)
    if (input.kind == Kind::Parameter && edge.place == input.place)
      return edge.given ? "one-sided" : "says nothing";
  return "";
}

Json certificate_json(const RolloutCertificate& c) {
  return {{"exact", c.exact},
          {"reason", c.reason},
          {"steps", c.steps},
          {"inexact_steps", c.inexact_steps},
          {"failed_steps", c.failed_steps},
          {"floating_steps", c.floating_steps},
          {"margin", c.margin},
          {"reciprocal_condition", c.reciprocal_condition},
          {"solve_error", c.solve_error},
          {"residual", c.residual},
          {"impacts", c.impacts}};
}

void print_certificate(const RolloutCertificate& c) {
  fmt::print("certificate: {}", c.exact ? "exact" : "not exact: " + c.reason);
  if (c.floating_steps > 0)
    fmt::print("; {} of {} steps with a contact on a border (one-sided there)", c.floating_steps,
               c.steps);
  if (c.failed_steps > 0) fmt::print("; {} steps missed the tolerance", c.failed_steps);
  if (!c.open.empty())
    fmt::print("; {} inputs without a two-sided derivative ({})", c.open.size(), c.kink);
  fmt::print("\n  margin {:.1e}, conditioning {:.1e}, residual {:.1e}, {} impacts located\n",
             c.margin, c.reciprocal_condition, c.residual, c.impacts);
}

void print_table(const std::vector<Row>& rows, bool check) {
  std::size_t width = 9;
  for (const Row& row : rows) width = std::max(width, row.input.name.size());
  fmt::print("  {:<{}} {:>13} {:>15}", "parameter", width, "value", "gradient");
  if (check) fmt::print(" {:>15} {:>9}", "difference", "error");
  fmt::print("\n");
  for (const Row& row : rows) {
    fmt::print("  {:<{}} {:>13.6g} {:>15.8g}", row.input.name, width, row.value, row.gradient);
    if (check && !row.compared) {
      fmt::print(" {:>15}", "not compared");
    } else if (check && row.status == CheckStatus::Compared) {
      fmt::print(" {:>15.8g} {:>9.1e}", row.difference, row.error);
    } else if (check) {
      fmt::print(" {:>15}", name_of(row.status));
    }
    fmt::print("{}{}\n", row.side.empty() ? "" : "  ", row.side);
  }
}

std::vector<Row> rows_of(const GradCommand& c, const LoadedScene& scene,
                         const std::vector<Input>& inputs, const RolloutTape& tape,
                         const RolloutGradient& g, const Loss& loss) {
  std::vector<Row> rows;
  double largest = 0;
  for (const Input& input : inputs) {
    Row row;
    row.input = input;
    row.gradient = gradient_of(input, g, loss);
    row.side = side_of(input, g.certificate);
    switch (input.kind) {
      case Kind::Parameter:
        row.value = scene.parameters.values[input.place];
        break;
      case Kind::Velocity:
        row.value = scene.state.v[input.place];
        break;
      case Kind::Control:
        row.value = tape.controls(input.place, 0);
        break;
      case Kind::Configuration:
        // Turns are counted from where the body is.
        for (const Body& body : scene.model.bodies()) {
          const Index i = input.place - body.v_begin;
          if (i >= 0 && i < body.v_size && (i < (body.planar ? 2 : 3)))
            row.value = scene.state.q[body.q_begin + i];
        }
        break;
    }
    largest = std::max(largest, std::abs(row.gradient));
    rows.push_back(std::move(row));
  }
  if (!c.parameters.empty()) return rows;
  std::erase_if(rows, [&](const Row& r) { return std::abs(r.gradient) <= kNothing * largest; });
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::abs(a.gradient) > std::abs(b.gradient);
  });
  return rows;
}

Json rows_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json item = {{"name", row.input.name}, {"value", row.value}, {"gradient", row.gradient}};
    if (!row.side.empty()) item.set("side", row.side);
    if (row.compared) {
      item.set("check", name_of(row.status));
      if (row.status == CheckStatus::Compared) {
        item.set("difference", row.difference);
        item.set("error", row.error);
      }
    }
    list.push_back(item);
  }
  return list;
}

/// Who makes the products, and who tells: on many ranks the first.
struct Makers {
  std::function<RolloutGradient(const RolloutTape&, const RolloutCotangent&,
                                const StepGradientSettings&)>
      gradient = rollout_gradient;
  CheckpointPolicy policy = {.keep_states = false};
  bool tells = true;
  /// Does what the one that tells does between two losses, while others go on to the next.
  std::function<void(const std::function<void()>&)> alone = [](const std::function<void()>& work) {
    work();
  };
};

/// What is asked for, with everything that may be misspelt: said before anything is stepped.
struct Question {
  explicit Question(const GradCommand& c)
      : scene((set_thread_count(c.threads), load_scene(c.scene, c.scene_options))) {
    need_plain_steps(scene, "a gradient");
    for (const std::string& text : c.losses)
      (void)evaluate_loss(text, scene.model, scene.parameters, scene.state);
    for (const std::string& name : split(c.parameters))
      inputs.push_back(input_of(scene.model, name));
    if (inputs.empty()) inputs = all_inputs(scene.model);
  }
  LoadedScene scene;
  std::vector<Input> inputs;
};

int answer(const GradCommand& c, const Question& question, const Makers& makers) {
  const LoadedScene& scene = question.scene;
  const std::vector<Input>& inputs = question.inputs;
  const Index steps = c.steps > 0 ? c.steps : static_cast<Index>(scene.steps);
  StepGradientSettings gradient;
  gradient.allow_unconverged = c.force;
  if (c.kappa > 0) {
    gradient.solution.mode = GradientMode::Smoothed;
    gradient.solution.kappa = c.kappa;
  }
  const Timer timer;
  const RolloutTape tape =
      record_rollout(scene.model, scene.parameters, scene.settings, scene.state,
                     controls_of(scene, steps), steps, makers.policy);
  const double forward = timer.seconds();
  const bool quiet = c.json_path == "-" || !makers.tells;
  Json report = {{"scene", scene.name},
                 {"steps", steps},
                 {"time", tape.final_state.t},
                 {"failed_steps", tape.report.failed_steps}};
  Json losses = Json::array();
  if (!quiet) fmt::print("{}: {} steps, t = {:.6g} s\n", scene.name, steps, tape.final_state.t);
  bool good = tape.report.failed_steps == 0;
  for (const std::string& text : c.losses) {
    const Loss loss = evaluate_loss(text, scene.model, scene.parameters, tape.final_state);
    const RolloutGradient g = makers.gradient(tape, at_end(tape, loss.by_q, loss.by_v), gradient);
    if (!makers.tells) continue;
    std::vector<Row> rows;
    std::size_t hidden = 0;
    makers.alone([&] {
      rows = rows_of(c, scene, inputs, tape, g, loss);
      if (c.parameters.empty() && rows.size() > kShown && !quiet) {
        hidden = rows.size() - kShown;
        if (c.json_path.empty()) rows.resize(kShown);
      }
      if (c.check) compare(scene, tape, loss, gradient, rows);
    });
    for (const Row& row : rows)
      good = good && !(row.compared && row.status == CheckStatus::Compared && row.error > kAgrees);
    losses.push_back({{"loss", text},
                      {"value", loss.value},
                      {"gradient", rows_json(rows)},
                      {"certificate", certificate_json(g.certificate)}});
    if (quiet) continue;
    fmt::print("\n{} = {:.9g}\n", text, loss.value);
    if (rows.size() > kShown && c.parameters.empty()) rows.resize(kShown);
    print_table(rows, c.check);
    if (hidden > 0) fmt::print("  and {} smaller ones; --params chooses\n", hidden);
    print_certificate(g.certificate);
  }
  report.set("losses", losses);
  report.set("seconds_forward", forward);
  report.set("seconds", timer.seconds());
  if (makers.tells) write_report(c.json_path, report.text());
  return good ? kSuccess : kNotConverged;
}

#if defined(ORTHANT_HAS_MPI)

/// All ranks step; the walk back is shared out. What is wrong is told once.
int answer_on_ranks(const GradCommand& c) {
  const MpiSession mpi;
  const auto tell = [&](const std::exception& error, int by) {
    if (mpi.rank() == by) fmt::print(stderr, "orthant: {}\n", error.what());
  };
  std::unique_ptr<Question> question;
  std::string why;
  try {
    question = std::make_unique<Question>(c);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (const int first = mpi.first(!question); first >= 0) {
    if (mpi.rank() == first) fmt::print(stderr, "orthant: {}\n", why);
    return kBadInput;
  }
  RankGradientCounts counts;
  Makers makers;
  makers.gradient = [&](const RolloutTape& tape, const RolloutCotangent& loss,
                        const StepGradientSettings& gradient) {
    return rollout_gradient_on_ranks(tape, loss, gradient, &counts);
  };
  makers.policy.store_records = false;
  makers.tells = mpi.rank() == 0;
  const auto end_all = [&](const std::exception& error) {
    tell(error, mpi.rank());
    std::fflush(nullptr);
    mpi.abort(kBadInput);
  };
  makers.alone = [&](const std::function<void()>& work) {
    if (mpi.size() == 1) return work();
    try {
      work();
    } catch (const std::exception& error) {  // of this rank, for which the others would wait
      end_all(error);
    }
  };
  try {
    const int code = answer(c, *question, makers);
    if (makers.tells && c.json_path != "-")
      fmt::print(
          "{} ranks: rank 0 walked {} of {} stretches, sent {} messages, {:.1f} kB; "
          "{:.3g} s of its processor ahead of the walk, {:.3g} s in it\n",
          mpi.size(), counts.mine, counts.stretches, counts.messages,
          1e-3 * static_cast<double>(counts.bytes), counts.ahead, counts.walk);
    return code;
  } catch (const Error& error) {  // on all ranks alike, or of the report
    tell(error, 0);
    return kBadInput;
  } catch (const std::exception& error) {
    end_all(error);
    return kBadInput;
  }
}

#endif

int run_grad(const GradCommand& c) {
#if defined(ORTHANT_HAS_MPI)
  if (MpiSession::launched()) return answer_on_ranks(c);
#endif
  return answer(c, Question(c), {});
}

}  // namespace

void add_grad(Program& program) {
  const auto o = std::make_shared<GradCommand>();
  Command command =
      program.command("grad", "Differentiate the end of a run by parameters and start");
  command.option("scene", o->scene, "scene: .yaml, .urdf or .xml (MJCF)")
      .value_name("SCENE")
      .required();
  command
      .option("--loss", o->losses,
              "formula of the final state, several allowed: position(BODY).x, "
              "velocity(BODY).x, spin(BODY).x, angle(BODY), speed(BODY), distance(BODY, "
              "[x, y, z]), kinetic, energy, sqrt, abs, + - * / ^")
      .value_name("EXPR")
      .required()
      .one_value();
  command
      .option("--params", o->parameters,
              "by commas: parameters (material/rubber.friction, or friction where one ends "
              "so), position(BODY).x, rotation(BODY).x, velocity(BODY).x, spin(BODY).x at the "
              "start, control(ACTUATOR); default: the largest of all")
      .value_name("A,B")
      .one_value();
  command.option("--steps", o->steps, "length of the rollout; default: the scene's")
      .value_name("N")
      .positive();
  command
      .option("--set", o->scene_options.set,
              "key=value: a parameter of the scene, or a setting such as step.h")
      .value_name("KEY=VALUE")
      .one_value();
  command.flag("--check", o->check,
               "central differences beside the gradient, and where they mean nothing");
  command
      .option("--smoothed", o->kappa,
              "gradient of the smoothed law w x impulse = KAPPA [J] instead of the exact one")
      .value_name("KAPPA")
      .positive();
  command.flag("--force", o->force, "also through steps that missed the tolerance");
  command.option("--threads", o->threads, "threads; 0: all cores").value_name("N").not_negative();
  command.option("--json", o->json_path, "report as JSON to a file, or to standard output (-)")
      .value_name("FILE|-");
  command.footer(
      "Example:\n"
      "  orthant grad scene.yaml --loss 'position(ball).x' --params friction,'velocity(ball).x'\n"
      "  orthant grad scene.yaml --loss 'distance(ball, [1.2, 0, 0.3])^2' --steps 100 --check\n");
  command.run([o] { return run_grad(*o); });
}

}  // namespace orthant::app
