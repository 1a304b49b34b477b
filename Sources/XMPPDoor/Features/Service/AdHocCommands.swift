import Accounts
import Addresses
import Basics
import Commands
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0050: the door's commands, at the server's domain. The session id of a command with one form is issued and not
/// stored, since a submission is complete in itself; `CommandExecutions` keeps those of several stages. Permission is
/// checked each time.
struct AdHocCommands: Feature {
  static let xep = XEP(50, "1.3.0", "Ad-Hoc Commands", note: "At the server's domain, for its users and admins.")

  private typealias Executions = CommandExecutions<AdHocCommand.Stage>
  private static let executions = Slot(Executions())

  private static let command = Name("command", NS.commands)
  private static let note = Name("note", NS.commands)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.commands)", on: [.server])
    table.iq(.set, Self.command, to: [.server]) { (turn, payload) throws(StanzaError) in
      try Self.received(turn, payload)
    }
  }

  // MARK: Discovery

  /// Answers disco#info about a node of the server (2.2, 2.3). Returns `false` if the node is no command.
  static func info(_ turn: Turn, _ node: String) throws(StanzaError) -> Bool {
    if node == "\(NS.commands)" {
      reply(turn, node, .init(category: "automation", type: "command-list", name: nil), ["\(NS.commands)"])
      return true
    }
    guard let command = turn.session.door.commands[node] else { return false }
    try check(turn, command)
    reply(
      turn, node, .init(category: "automation", type: "command-node", name: command.title),
      ["\(NS.commands)", "\(NS.dataForm)"])
    return true
  }

  private static func reply(
    _ turn: Turn, _ node: String, _ identity: Capabilities.Identity, _ features: [String]
  ) {
    turn.reply { Disco.write(Capabilities(identities: [identity], features: features), node: node, into: &$0) }
  }

  /// Lists the commands that the requester may execute (2.2).
  static func items(_ turn: Turn) {
    let domain = turn.to?.domain ?? turn.party.address.domain
    let audiences = audiences(of: turn)
    let commands = turn.session.door.commands.all.filter { audiences.contains($0.audience) }
    turn.reply { writer in
      writer.element(.discoItems) { writer in
        writer.attribute("node", NS.commands)
        for command in commands {
          writer.element(.discoItem) { writer in
            writer.attribute("jid", domain)
            writer.attribute("node", command.node)
            writer.attribute("name", command.title)
          }
        }
      }
    }
  }

  // MARK: Execution

  private enum Action: String {
    case execute, cancel, prev, next, complete
  }

  /// Returns the audiences that the requester belongs to.
  private static func audiences(of turn: Turn) -> Set<AdHocCommand.Audience> {
    var audiences: Set = [AdHocCommand.Audience.everybody]
    let isLimited = turn.accounts.isLimited(turn.session.handle)
    if !isLimited, turn.parley.registries.administrators.contains(turn.party) { audiences.insert(.admins) }
    let isAtHome = turn.to.map { $0.domain == turn.party.address.domain } ?? true
    guard isAtHome, !turn.parley.isGuest(turn.party.id) else { return audiences }
    audiences.insert(.users)
    if !isLimited { audiences.insert(.managers) }
    return audiences
  }

  private static func check(_ turn: Turn, _ command: AdHocCommand) throws(StanzaError) {
    guard audiences(of: turn).contains(command.audience) else {
      throw StanzaError(.forbidden, "this is not for you to do")
    }
  }

  private static func refusal(_ name: StaticString, _ text: String) -> StanzaError {
    StanzaError(.badRequest, text, application: Element(Name(name, NS.commands)))
  }

  private static func received(_ turn: Turn, _ payload: Element) throws(StanzaError) {
    guard let node = payload["node"], let command = turn.session.door.commands[node] else {
      throw StanzaError(.itemNotFound, "there is no such command")
    }
    try check(turn, command)
    let id = payload["sessionid"]
    if id?.isEmpty == true { throw refusal("bad-sessionid", "an empty sessionid") }
    let submitted = try payload.payload(DataForm.self)
    guard var action = Action(rawValue: payload["action"] ?? "execute") else {
      throw refusal("malformed-action", "there is no such action")
    }
    // 3.5: a client that declines the form means to cancel.
    if submitted?.kind == .cancel { action = .cancel }
    switch command.course {
    case .form(let form, let perform):
      try fillIn(turn, command, id ?? DoorContext.randomID(), isNew: id == nil, action, submitted, form, perform)
    case .steps(let begin):
      if let id { return try goOn(turn, command, id, action, submitted) }
      switch action {
      case .cancel: writeCanceled(turn, node, DoorContext.randomID())
      case .prev: throw noStageBefore
      case .execute, .next, .complete:
        let session = turn.session.handle
        step(turn, .init(node: node), DoorContext.randomID()) { () throws(Problem) in try await begin(session) }
      }
    }
  }

  private static var noStageBefore: StanzaError { refusal("bad-action", "there is no stage before this one") }
  private static var noForm: StanzaError { refusal("bad-payload", "the form is missing") }

  // MARK: One form

  private static func fillIn(
    _ turn: Turn, _ command: AdHocCommand, _ id: String, isNew: Bool, _ action: Action, _ submitted: DataForm?,
    _ form: (any LiveSession) -> DataForm,
    _ perform: @escaping @Sendable (DataForm, any LiveSession) async throws(Problem) -> AdHocCommand.Outcome
  ) throws(StanzaError) {
    let session = turn.session.handle
    switch (action, submitted?.kind) {
    case (.cancel, _): writeCanceled(turn, command.node, id)
    case (.prev, _): throw noStageBefore
    case (_, nil) where !isNew: throw noForm
    case (_, .submit?):
      let filled = submitted ?? DataForm(.submit)
      try form(session).check(filled)
      step(turn, .init(node: command.node), id) { () throws(Problem) in .done(try await perform(filled, session)) }
    case (.execute, _), (.next, _), (.complete, _):
      write(turn, command.node, id, form(session), isFirst: true, isLast: true)
    }
  }

  // MARK: Several stages

  /// Continues a command (2.4.2).
  private static func goOn(
    _ turn: Turn, _ command: AdHocCommand, _ id: String, _ action: Action, _ submitted: DataForm?
  ) throws(StanzaError) {
    let now = turn.parley.clock.now
    guard var execution = turn.session[executions].take(id, of: command.node, now: now),
      let stage = execution.stages.last
    else { throw refusal("bad-sessionid", "this command has ended, or waited too long") }
    if action == .cancel { return writeCanceled(turn, command.node, id) }
    do throws(StanzaError) {
      switch action {
      case .prev:
        guard execution.stages.count > 1 else { throw noStageBefore }
        execution.stages.removeLast()
        return show(turn, execution, id)
      case .complete where !stage.isLast: throw refusal("bad-action", "there is another stage behind this one")
      case .execute, .next, .complete, .cancel: break
      }
      guard let submitted, submitted.kind == .submit else { throw noForm }
      try stage.form.check(submitted)
      let session = turn.session.handle
      step(turn, execution, id) { () throws(Problem) in try await stage.submit(submitted, session) }
    } catch {
      turn.session[executions].put(execution, as: id, now: now)
      throw error
    }
  }

  /// Takes the next step. After a failure the command stays at its stage, so that the client can correct the form.
  private static func step(
    _ turn: Turn, _ execution: Executions.Execution, _ id: String,
    _ work: @escaping @Sendable () async throws(Problem) -> AdHocCommand.Step
  ) {
    turn.await(work) { result in
      switch result {
      case .failure(let problem):
        if !execution.stages.isEmpty { keep(turn, execution, id) }
        turn.fail(problem)
      case .success(.stage(let stage)):
        var execution = execution
        execution.stages.append(stage)
        show(turn, execution, id)
      case .success(.done(let outcome)):
        write(turn, execution.node, id, status: "completed") { write(outcome, into: &$0) }
      }
    }
  }

  private static func keep(
    _ turn: Turn, _ execution: Executions.Execution, _ id: String
  ) {
    turn.session[executions].put(execution, as: id, now: turn.parley.clock.now)
  }

  private static func show(
    _ turn: Turn, _ execution: Executions.Execution, _ id: String
  ) {
    guard let stage = execution.stages.last else { return }
    keep(turn, execution, id)
    write(turn, execution.node, id, stage.form, isFirst: execution.stages.count == 1, isLast: stage.isLast)
  }

  // MARK: Writing

  private static func writeCanceled(_ turn: Turn, _ node: String, _ id: String) {
    write(turn, node, id, status: "canceled") { _ in }
  }

  /// Writes a form with the actions that it allows (3.4).
  private static func write(
    _ turn: Turn, _ node: String, _ id: String, _ form: DataForm, isFirst: Bool, isLast: Bool
  ) {
    write(turn, node, id, status: "executing") { writer in
      writer.element("actions") { writer in
        writer.attribute("execute", (isLast ? "complete" : "next") as StaticString)
        if !isFirst { writer.element("prev") }
        writer.element((isLast ? "complete" : "next") as StaticString)
      }
      form.write(into: &writer)
    }
  }

  private static func write(_ outcome: AdHocCommand.Outcome, into writer: inout ElementWriter) {
    switch outcome {
    case .done(nil): break
    case .done(let text?): write(text, "info", into: &writer)
    case .result(let form): form.write(into: &writer)
    case .incomplete(let lines): for line in lines { write(line, "error", into: &writer) }
    }
  }

  private static func write(_ text: String, _ type: StaticString, into writer: inout ElementWriter) {
    writer.element(note) { writer in
      writer.attribute("type", type)
      writer.text(text)
    }
  }

  private static func write(
    _ turn: Turn, _ node: String, _ id: String, status: StaticString, _ content: (inout ElementWriter) -> Void
  ) {
    turn.reply { writer in
      writer.element(command) { writer in
        writer.attribute("node", node)
        writer.attribute("sessionid", id)
        writer.attribute("status", status)
        content(&writer)
      }
    }
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
