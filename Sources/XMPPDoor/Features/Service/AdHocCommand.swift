public import Dialogs
public import XMPP

/// One ad-hoc command (XEP-0050), as the program that composes the server defines it: its form and its action. It has
/// one form at most, so no state is kept between the form and its submission.
///
///     let motd = AdHocCommand(node: "motd", title: "Message of the day", audience: .users) { _, party in
///         .done(try await text(for: party))
///     }
public struct AdHocCommand: Sendable {
  /// The users who may see and execute a command.
  public enum Audience: Sendable, Hashable {
    /// The domain's own users.
    case users
    /// `Parley.admins`.
    case admins
  }

  /// The outcome of a command.
  public enum Outcome: Sendable, Equatable {
    /// It is done, with a line for the user, if any.
    case done(String?)
    case result(DataForm)
    /// Some of it failed: a line for each failure.
    case incomplete([String])
  }

  public let node: String
  public let title: String
  public let audience: Audience
  /// Returns the form; without one the command runs at once. It is called each time: a form may show the present state.
  public let form: (@Sendable (Party) -> DataForm)?
  /// Runs the command with the submitted form, which is empty if there is none.
  public let perform: @Sendable (DataForm, Party) async throws(Problem) -> Outcome

  public init(
    node: String, title: String, audience: Audience, form: (@Sendable (Party) -> DataForm)? = nil,
    perform: @escaping @Sendable (DataForm, Party) async throws(Problem) -> Outcome
  ) {
    self.node = node
    self.title = title
    self.audience = audience
    self.form = form
    self.perform = perform
  }
}

/// The commands of a door, by node.
struct AdHocCommandList: Sendable {
  let all: [AdHocCommand]
  private let byNode: [String: AdHocCommand]

  init(_ commands: [AdHocCommand]) {
    all = commands
    byNode = Dictionary(uniqueKeysWithValues: commands.map { ($0.node, $0) })
  }

  subscript(_ node: String) -> AdHocCommand? { byNode[node] }
}
