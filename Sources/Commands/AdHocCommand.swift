public import Dialogs
public import XMPP

/// One ad-hoc command (XEP-0050), as the program that composes the server defines it: its forms and its action.
///
///     let motd = AdHocCommand(node: "motd", title: "Message of the day", audience: .users) { session in
///         .done(.done(try await text(for: session.party)))
///     }
public struct AdHocCommand: Sendable {
  /// The users who may see and execute a command.
  public enum Audience: Sendable, Hashable {
    /// Everybody with a session, guests and users of the other domains included.
    case everybody
    /// The domain's own users, without guests.
    case users
    /// Users whose session may manage the account, as it was not opened with an app password.
    case managers
    /// Administrators, in such a session.
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

  /// The way from the execution of a command to its outcome.
  public enum Course: Sendable {
    /// One form. Its submission is complete in itself, so that nothing is kept in between. The form is made each time:
    /// it may show the present state.
    case form(
      @Sendable (any LiveSession) -> DataForm,
      perform: @Sendable (DataForm, any LiveSession) async throws(Problem) -> Outcome)
    /// Several stages, or none if the first step is the outcome.
    case steps(@Sendable (any LiveSession) async throws(Problem) -> Step)
  }

  public enum Step: Sendable {
    case stage(Stage)
    case done(Outcome)
  }

  /// A form within a command of several stages.
  public struct Stage: Sendable {
    public let form: DataForm
    /// Whether its submission completes the command.
    public let isLast: Bool
    /// Takes the submitted form.
    public let submit: @Sendable (DataForm, any LiveSession) async throws(Problem) -> Step

    public init(
      _ form: DataForm, isLast: Bool,
      submit: @escaping @Sendable (DataForm, any LiveSession) async throws(Problem) -> Step
    ) {
      self.form = form
      self.isLast = isLast
      self.submit = submit
    }
  }

  public let node: String
  public let title: String
  public let audience: Audience
  public let course: Course

  public init(node: String, title: String, audience: Audience, course: Course) {
    self.node = node
    self.title = title
    self.audience = audience
    self.course = course
  }

  /// Creates a command of several stages, or of none.
  public init(
    node: String, title: String, audience: Audience,
    begin: @escaping @Sendable (any LiveSession) async throws(Problem) -> Step
  ) {
    self.init(node: node, title: title, audience: audience, course: .steps(begin))
  }
}
