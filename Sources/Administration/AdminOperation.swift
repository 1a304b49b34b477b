package import Accounts
import AppDoor
package import Backends
package import Basics
package import Dialogs
import HTTPPort
import JSON
import Logging
package import ServerMetrics

/// An operation that an operator can perform over the admin socket or on an opened data folder; one file each.
package protocol AdminOperation: Sendable {
  associatedtype Input: Codable & Sendable
  associatedtype Output: Codable & Sendable
  /// The operation's path on the socket, such as `users.add`.
  static var name: String { get }
  /// The time that a command waits for the answer.
  static var answerWait: Duration { get }
  /// The HTTP routes for backends; empty for an operation that they have no use for.
  static var routes: [AdminRoute] { get }
  /// The scope that an app key needs, at a route and from a shell elsewhere (`parley --server`); nil for an operation that
  /// is performed on the server's own machine only.
  static var scope: AppKey.Scope? { get }
  /// Whether it is no act of its own, because it changes nothing or is a piece of something that the audit has: it is not in the audit
  /// unless a key calls it.
  static var isReading: Bool { get }
  /// Whether it has something to show or to change in a running server only. Where none runs, a command that would show
  /// nothing or change nothing says so.
  static var needsServer: Bool { get }
  /// Returns the names of what the operation is about, for the audit; no secret.
  static func object(of input: Input) -> String
  /// The same after it was performed, where the output has more to say.
  static func object(of input: Input, after output: Output) -> String
  static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output
}

extension AdminOperation {
  package static var answerWait: Duration { AdminLimits.answerWait }
  package static var routes: [AdminRoute] { [] }
  package static var scope: AppKey.Scope? { routes.first?.scope }
  package static var isReading: Bool { !routes.isEmpty && routes.allSatisfy { $0.method == .get } }
  package static var needsServer: Bool { false }
  package static func object(of input: Input) -> String { AuditObject.text(of: input) }
  package static func object(of input: Input, after output: Output) -> String { object(of: input) }
}

/// The state that operations work on.
package struct AdminContext: Sendable {
  package let accounts: Accounts
  package let startedAt: Timestamp
  /// The server's URL for browsers, without a trailing slash; nil if it has none.
  package let publicURL: String?
  /// The dispatcher of backends' hooks; nil if no server is running.
  package let hookRoute: (any HookRoute)?
  /// The running server; nil if there is none.
  package let server: (any RunningServer)?
  /// The writing of backups; nil if the store has none.
  package let backups: (any BackupWriter)?
  /// Reads what is measured and not counted; nil if no server is running.
  package let readings: (@Sendable () async -> Readings)?
  /// The only realm that the caller's key or role can access; nil for the operator, who has access to all.
  package private(set) var realm: Realm?
  /// The scopes of the caller's key or role; nil for the operator, who needs none.
  private(set) var scopes: Set<AppKey.Scope>?
  /// The caller's name at the beginning of a refusal.
  private(set) var callerName = ""
  /// The caller, for the audit; nil in a context that only tests call.
  private(set) var actor: AuditActor?
  let imports = OpenImports()

  package init(
    accounts: Accounts, startedAt: Timestamp, publicURL: String? = nil, hookRoute: (any HookRoute)? = nil,
    server: (any RunningServer)? = nil, backups: (any BackupWriter)? = nil,
    readings: (@Sendable () async -> Readings)? = nil
  ) {
    self.readings = readings
    self.accounts = accounts
    self.startedAt = startedAt
    self.publicURL = publicURL
    self.hookRoute = hookRoute
    self.server = server
    self.backups = backups
  }

  /// Returns the same context for the holder of a key, or a role, with these scopes in a realm.
  func within(_ realm: Realm, scopes: Set<AppKey.Scope> = [], of name: String = "This key") -> AdminContext {
    var context = self
    context.callerName = name
    context.realm = realm
    context.scopes = scopes
    return context
  }

  /// Returns the same context for a caller, whose acts are in the audit.
  package func acting(_ actor: AuditActor) -> AdminContext {
    var context = self
    context.actor = actor
    return context
  }

  /// Performs an operation in the caller's name. An act is in the audit before this returns, also one that was refused.
  ///
  /// - Throws: The operation's `Problem`, or that of the storage if an act could not be recorded.
  package func perform<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: Operation.Input
  ) async throws(Problem) -> Operation.Output {
    let perform = { () async throws(Problem) -> Operation.Output in
      try require(operation.scope, for: operation.name)
      return try await operation.perform(input, in: self)
    }
    if operation.isReading { return try await perform() }
    return try await recorded(
      operation.name, on: operation.object(of: input), finally: { operation.object(of: input, after: $0) }, perform)
  }

  /// Does the same for an act that is not an operation's own.
  func recorded<Output>(
    _ operation: String, on object: String, _ body: () async throws(Problem) -> Output
  ) async throws(Problem) -> Output {
    try await recorded(operation, on: object, finally: { _ in object }, body)
  }

  /// - Parameter finally: Returns the object of an act that was not refused.
  private func recorded<Output>(
    _ operation: String, on object: String, finally: (Output) -> String, _ body: () async throws(Problem) -> Output
  ) async throws(Problem) -> Output {
    guard let actor else { return try await body() }
    let output: Output
    do throws(Problem) {
      output = try await body()
    } catch {
      // What was refused is told as such, also where the storage fails.
      try? await accounts.note(operation, on: object, by: actor, status: error.kind.status, code: error.code)
      throw error
    }
    try await accounts.note(operation, on: finally(output), by: actor, status: 200)
    return output
  }

  package var parley: Parley { accounts.parley }

  /// The rendering of what backends get.
  var hookEvents: HookEvents { HookEvents(parley: parley) }

  var hooks: Hooks { Hooks(parley, rendering: hookEvents) }
}

/// The list of all operations, and the dispatch of requests to them.
enum AdminOperations {
  static let all: [any AdminOperation.Type] = [
    ServerStatus.self, ServerStats.self,
    AddUser.self, ImportUsers.self, ListUsers.self, ShowUser.self, SetPassword.self, SetUserState.self, DeleteUser.self,
    ExportUser.self,
    ListRoster.self, AddContact.self, RemoveContact.self, ImportContacts.self,
    ListContactGroups.self, ShowContactGroup.self, PutContactGroup.self, ChangeContactGroup.self,
    DeleteContactGroup.self,
    ListDialogs.self, ShowDialog.self, CreateDialog.self, ListDialogMembers.self, AddDialogMember.self,
    SetDialogRole.self, RemoveDialogMember.self, DeleteDialog.self,
    ListSessions.self, ShowSession.self, CloseSession.self, EndSessions.self, Announce.self, SetMessageOfTheDay.self,
    ShowMessageOfTheDay.self,
    CreateInvite.self, ListInvites.self, RevokeInvite.self,
    ListReports.self, ShowReport.self, DismissReport.self,
    Backup.self, ReloadServer.self, ShowCertificates.self, RenewCertificate.self, ShowLogLevel.self, SetLogLevel.self,
    SetAddress.self, SetNote.self, SetRole.self, CheckNames.self, RemoveSecondFactorOf.self,
    UpdateUser.self, CreateSession.self, UpdateDialog.self, PostMessage.self, ListMessages.self, DeleteMessage.self,
    AddKey.self, ListKeys.self, RevokeKey.self, ListAudit.self,
    AddWebhook.self, ListWebhooks.self, ShowWebhook.self, UpdateWebhook.self, RemoveWebhook.self,
    RotateWebhookSecret.self, TestWebhook.self, ListWebhookFailures.self, RedriveWebhookFailures.self,
    RemoveWebhookFailures.self,
    SendNotification.self, EraseUser.self, ListTasks.self,
    ImportRecords.self, ImportFile.self, EndImport.self, ExportRecords.self,
    ListFederation.self, ShowFederation.self, TestFederation.self, ListFederationRules.self, SetFederationRule.self,
    RemoveFederationRule.self, CloseFederation.self, RetryFederation.self, ListFederationQueue.self,
    DropFederationQueue.self,
    ShowRetention.self, RunRetention.self, AddHold.self, ListHolds.self, RemoveHold.self,
    ListBoundAccounts.self,
  ]

  static func named(_ name: String) -> (any AdminOperation.Type)? { all.first { $0.name == name } }

  /// Performs a named operation and returns an HTTP status and a JSON body; the body of a failure is an `AdminProblem`.
  static func answer(_ name: String, _ body: [UInt8], in context: AdminContext) async -> (status: Int, body: [UInt8]) {
    guard let operation = named(name) else {
      return answer(Problem(.missing, "operation-unknown", "There is no operation \(Line.safe(name))."))
    }
    return await answer(operation, body, in: context)
  }

  private static func answer<Operation: AdminOperation>(
    _ operation: Operation.Type, _ body: [UInt8], in context: AdminContext
  ) async -> (status: Int, body: [UInt8]) {
    let input: Operation.Input
    do {
      input = try InputDecoder.decode(Operation.Input.self, from: JSONValue(parsing: body))
    } catch {
      // The error's own text would quote the input, which may contain a password.
      return answer(Problem(.malformed, "request-malformed", "The request is not an input of \(Operation.name)."))
    }
    do {
      return (200, try AdminJSON.encode(await context.perform(operation, input)))
    } catch let problem as Problem {
      return answer(problem)
    } catch {
      return answer(Problem(.internal, "answer-failed", "The answer could not be written."))
    }
  }

  private static func answer(_ problem: Problem) -> (status: Int, body: [UInt8]) {
    (problem.kind.status, (try? AdminJSON.encode(AdminProblem(problem))) ?? [])
  }
}

/// The JSON of a problem on the socket.
struct AdminProblem: Codable, Sendable {
  let kind: UInt8
  let code: String
  let text: String
  let field: String?

  init(_ problem: Problem) {
    kind = problem.kind.rawValue
    code = problem.code
    text = problem.explanation
    field = problem.field
  }

  var problem: Problem { Problem(Problem.Kind(rawValue: kind) ?? .internal, code, text, field: field) }
}

/// The JSON of the admin socket and of `--json`. Keys are sorted, so that equal answers have equal texts.
package enum AdminJSON {
  package static func encode(_ value: some Encodable, pretty: Bool = false) throws -> [UInt8] {
    let json = try JSONValue(encoding: value).sorted()
    return Array((pretty ? json.prettyText : json.text).utf8)
  }
}

/// The empty input or output.
package struct Empty: Codable, Sendable {
  package init() {}
}
