import Accounts
import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0050: the door's commands, at the server's domain. Each has one stage; a session id is issued and not stored,
/// since a submission is complete in itself, and permission is checked each time.
struct AdHocCommands: Feature {
  static let xep = XEP(50, "1.3.0", "Ad-Hoc Commands", note: "Commands of one stage, at the server's domain.")

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
    let features = ["\(NS.commands)"] + (command.form == nil ? [] : ["\(NS.dataForm)"])
    reply(turn, node, .init(category: "automation", type: "command-node", name: command.title), features)
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
    let commands = turn.session.door.commands.all.filter { mayExecute($0, turn) }
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

  private static func mayExecute(_ command: AdHocCommand, _ turn: Turn) -> Bool {
    switch command.audience {
    case .users: turn.to.map { $0.domain == turn.party.address.domain } ?? true
    case .admins:
      turn.parley.options.admins.contains(turn.party.address) && !turn.accounts.isLimited(turn.session.handle)
    }
  }

  private static func check(_ turn: Turn, _ command: AdHocCommand) throws(StanzaError) {
    guard mayExecute(command, turn) else { throw StanzaError(.forbidden, "this is not for you to do") }
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
    switch payload["action"] ?? "execute" {
    case "cancel": return write(turn, node, id ?? DoorContext.randomID(), status: "canceled") { _ in }
    case "execute", "complete", "next": break
    // There is nothing before the only stage.
    case "prev": throw refusal("bad-action", "this command has one stage")
    default: throw refusal("malformed-action", "there is no such action")
    }
    guard let form = command.form else { return perform(turn, command, id, DataForm(.submit)) }
    switch submitted?.kind {
    case nil where id == nil, .form?, .result?:
      write(turn, node, id ?? DoorContext.randomID(), status: "executing") { writer in
        writer.element("actions") { writer in
          writer.attribute("execute", "complete" as StaticString)
          writer.element("complete")
        }
        form(turn.party).write(into: &writer)
      }
    case nil: throw refusal("bad-payload", "the form is missing")
    // 3.5: a client that declines the form means to cancel.
    case .cancel?: write(turn, node, id ?? DoorContext.randomID(), status: "canceled") { _ in }
    case .submit?: perform(turn, command, id, submitted ?? DataForm(.submit))
    }
  }

  private static func perform(_ turn: Turn, _ command: AdHocCommand, _ id: String?, _ form: DataForm) {
    let party = turn.party
    let perform = command.perform
    turn.await { () throws(Problem) in
      try await perform(form, party)
    } then: { result in
      switch result {
      case .failure(let problem): turn.fail(problem)
      case .success(let outcome):
        write(turn, command.node, id ?? DoorContext.randomID(), status: "completed") { write(outcome, into: &$0) }
      }
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
