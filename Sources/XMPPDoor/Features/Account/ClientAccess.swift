import Accounts
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0494: lists the clients that have access to the account, and revokes it.
///
/// The list contains clients with tokens (XEP-0484), logins of apps, app passwords, and sessions that were opened with
/// the account's password alone. Former sessions of that kind are not kept: it is the password that has access.
struct ClientAccess: Feature {
  static let xep = XEP(
    494, "0.1.0", "Client Access Management",
    note: """
      A client that knows only the account's password is listed while it is connected. Permissions have no details.
      """)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.clientAccess)")
    table.iq(.get, Name("list", NS.clientAccess), to: [.account], Self.list)
    table.iq(.set, Name("revoke", NS.clientAccess), to: [.account], Self.revoke)
  }

  private static func list(_ turn: Turn, _ request: Element) throws(StanzaError) {
    let (accounts, user) = (turn.accounts, turn.party.id)
    turn.fetch {
      try accounts.accessors(of: user, $0)
    } reply: { accessors in
      turn.reply { writer in
        writer.element(Name("clients", NS.clientAccess)) { writer in
          for accessor in accessors { write(accessor, into: &writer) }
        }
      }
    }
  }

  /// Revokes a client (4.2). Where it also knows the password, the request fails, but the rest has been revoked.
  private static func revoke(_ turn: Turn, _ request: Element) throws(StanzaError) {
    guard let id = request["id"] else { throw StanzaError(.badRequest, "name a client by its id") }
    let session = turn.session
    let bound = NIOLoopBound(turn, eventLoop: session.loopContext.loop)
    turn.accounts.revoke(id, by: session.handle, on: session.loopContext.lane) { result in
      let turn = bound.value
      switch result {
      case .success(.revoked): turn.reply()
      case .success(.passwordKnown):
        turn.fail(
          StanzaError(
            .serviceUnavailable, "it knows the account's password",
            application: Element(Name("password-reset-required", NS.clientAccess))))
      case .success(.unknown): turn.fail(StanzaError(.itemNotFound, "there is no such client"))
      case .failure(let problem): turn.fail(problem)
      }
      turn.session.flush()
    }
  }

  private static func write(_ accessor: Accounts.Accessor, into writer: inout ElementWriter) {
    let isSession: Bool
    let means: [StaticString]
    var isFull = true
    switch accessor.kind {
    case .client(let client):
      isSession = true
      switch client.source {
      case .password: means = ["password", "fast"]
      case .grant: means = ["grant", "fast"]
      case .appPassword:
        means = ["grant", "fast"]
        isFull = false
      }
    case .grant:
      isSession = accessor.isConnected
      means = ["grant"]
    case .appPassword(let password):
      isSession = password.usedAt != nil
      means = ["grant"]
      isFull = false
    case .session:
      isSession = true
      means = ["password"]
    }
    writer.element("client") { writer in
      writer.attribute("connected", (accessor.isConnected ? "true" : "false") as StaticString)
      writer.attribute("id", accessor.id)
      writer.attribute("type", (isSession ? "session" : "access") as StaticString)
      text("first-seen", accessor.firstSeen.description, into: &writer)
      text("last-seen", accessor.lastSeen.description, into: &writer)
      writer.element("auth") { writer in
        for name in means {
          writer.element(name)
        }
      }
      writer.element("permission") { $0.attribute("status", (isFull ? "unrestricted" : "normal") as StaticString) }
      if accessor.software != nil || accessor.device != nil {
        writer.element("user-agent") { writer in
          if let software = accessor.software { text("software", software, into: &writer) }
          if let device = accessor.device { text("device", device, into: &writer) }
        }
      }
    }
  }

  private static func text(_ name: StaticString, _ text: String, into writer: inout ElementWriter) {
    writer.element(name) { $0.text(text) }
  }
}
