import Accounts
import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0077 for a user with an account: shows the registration, changes the password, deletes the account.
/// `RegistrationMachine` handles registration before a login.
struct InBandRegistration: Feature {
  static let xep = XEP(
    77, "2.4", "In-Band Registration",
    note: "With user name and password; in a data form for a proof of work (XEP-0158).")

  private static let username = Name("username", NS.register)
  private static let password = Name("password", NS.register)
  private static let remove = Name("remove", NS.register)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.register)")
    table.iq(.get, .register, to: [.server, .account]) { (turn, _) throws(StanzaError) in
      try Self.check(turn)
      turn.reply { writer in
        writer.element(.register) { writer in
          writer.element("registered")
          writer.element("instructions") { writer in
            writer.text("You have an account here. A new password takes the place of the old one.")
          }
          writer.element("username") { $0.text(turn.party.localpart) }
          writer.element("password")
        }
      }
    }
    table.iq(.set, .register, to: [.server, .account]) { (turn, query) throws(StanzaError) in
      try Self.check(turn)
      let change = try Change(query, of: turn.party.address)
      do throws(Problem) { try turn.accounts.checkManages(turn.session.handle) } catch { throw StanzaError(error) }
      switch change {
      case .remove: Self.remove(turn)
      case .password(let password): Self.setPassword(password, turn)
      }
    }
  }

  /// Another domain of this server counts as another server.
  private static func check(_ turn: Turn) throws(StanzaError) {
    if let to = turn.to, to.domain != turn.party.address.domain { throw StanzaError(.registrationRequired) }
  }

  enum Change: Equatable {
    case remove
    case password(String)

    /// Reads a request.
    ///
    /// - Throws: the errors in the tables of 3.2 and 3.3.
    init(_ query: Element, of owner: BareJID) throws(StanzaError) {
      if query.first(InBandRegistration.remove) != nil {
        var children = query.children.makeIterator()
        _ = children.next()
        guard children.next() == nil else { throw StanzaError(.badRequest, "<remove/> stands alone") }
        self = .remove
        return
      }
      guard let name = try query.only(InBandRegistration.username)?.text, !name.isEmpty else {
        throw StanzaError(.badRequest, "the username is missing")
      }
      // A password must not become empty (3.3).
      guard let password = try query.only(InBandRegistration.password)?.text, !password.isEmpty else {
        throw StanzaError(.badRequest, "the password is missing or empty")
      }
      let isOwn = BareJID(parsing: name) == owner || (try? BareJID(local: name, domain: owner.domain)) == owner
      guard isOwn else { throw StanzaError(.notAllowed, "this is not your account") }
      self = .password(password)
    }
  }

  private static func setPassword(_ password: String, _ turn: Turn) {
    let (accounts, session) = (turn.accounts, turn.session.handle)
    turn.await { () throws(Problem) in
      try await accounts.changePassword(by: session, to: password)
    } then: { result in
      switch result {
      case .success: turn.reply()
      case .failure(let problem): turn.fail(problem)
      }
    }
  }

  /// Deletes the account (3.2): the result, then the end of the stream.
  private static func remove(_ turn: Turn) {
    let (accounts, user, session) = (turn.accounts, turn.party.id, turn.session.handle.id)
    turn.await { () throws(Problem) in
      try await accounts.setState(of: user, .deleted, except: session)
    } then: { result in
      switch result {
      case .success:
        turn.reply()
        accounts.parley.hub.close(user, .revoked)
      case .failure(let problem): turn.fail(problem)
      }
    }
  }
}

/// XEP-0401 and XEP-0445: invitations are ad-hoc commands and tokens of streams; XEP-0379 is read with subscription
/// requests. The server itself advertises nothing of them.
extension Inbound {
  /// Returns the post of a subscription request.
  static func request(_ stanza: Stanza, to address: BareJID, extras: [UInt8]?) -> Intent {
    guard let token = stanza.element.first(.preauth)?["token"], !token.isEmpty else {
      return .subscription(.subscribe, to: address, stanza: extras)
    }
    return .redeem(token: Invites.hash(ofToken: token), from: address, stanza: extras)
  }
}
