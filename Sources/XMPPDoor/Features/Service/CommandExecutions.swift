import Basics

/// The executions of commands with several stages that one session has begun (XEP-0050 3.3). Theory:
///
/// An execution is here while its present stage waits for the client. A request takes it out, and the answer puts it
/// back with the next stage, with the one before, or with the same after a mistake; a command that has ended is not put
/// back. So a second request with the same id that comes meanwhile finds nothing, as one does after the end. Both
/// bounds forget an execution without telling: the client's next request is answered with `bad-sessionid`, and it begins
/// anew.
struct CommandExecutions<Stage: Sendable>: Sendable {
  struct Execution: Sendable {
    let node: String
    /// The stages up to the present one.
    var stages: [Stage] = []
  }

  private var waiting: [(id: String, execution: Execution, ends: Timestamp)] = []

  /// Takes an execution out; `nil` if there is none of this id and node.
  mutating func take(_ id: String, of node: String, now: Timestamp) -> Execution? {
    waiting.removeAll { $0.ends <= now }
    guard let index = waiting.firstIndex(where: { $0.id == id && $0.execution.node == node }) else { return nil }
    return waiting.remove(at: index).execution
  }

  /// Keeps an execution until the client continues it.
  mutating func put(_ execution: Execution, as id: String, now: Timestamp) {
    waiting.removeAll { $0.ends <= now }
    if waiting.count >= DoorLimits.commandsWaitingMax { waiting.removeFirst() }
    waiting.append((id, execution, now + DoorLimits.commandStage))
  }
}
