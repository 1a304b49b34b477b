public import Dialogs
public import XMPP

/// One command of XEP-0050, as whoever composes the server gives it: what it asks for, and what it does. It has one form at
/// most, so nothing of it is kept between the form and what comes back.
public struct AdHocCommand: Sendable {
  /// Who may see and execute it.
  public enum Audience: Sendable, Hashable {
    /// The domain's own users.
    case users
    /// `Parley.admins`.
    case admins
  }

  /// What came of it.
  public enum Outcome: Sendable, Equatable {
    /// A line for a person; nil: nothing to say.
    case done(String?)
    case result(DataForm)
    /// Some of it could not be done: a line for each failure.
    case incomplete([String])
  }

  public let node: String
  public let title: String
  public let audience: Audience
  /// What it asks for; nil: it is done at once. Asked for anew each time: a form may show how things are.
  public let form: (@Sendable (Party) -> DataForm)?
  /// - Parameter DataForm: what was submitted, an empty form where nothing was asked.
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
