import Accounts
import Addresses
import Administration
import Basics
import Dialogs
import Logging
import ServerCertificates
package import ServerConfiguration

/// The initialisation of a new data folder: two users who are contacts of each other, for a first conversation.
package enum FirstStart {
  /// Returns the path of the file that marks a completed first start, which is not repeated even if all users are
  /// deleted.
  private static func marker(_ folder: DataFolder) -> String { folder.path + "/first-start" }

  /// A created user with the password, which is shown only once.
  struct DemoUser: Hashable, Sendable {
    let address: BareJID
    let password: String
  }

  /// Prepares the data folder without serving (`parley init`).
  ///
  /// - Returns: The text for the operator.
  package static func prepare(_ settings: Settings, demo: Bool?) async throws(StartupError) -> String {
    let folder = try await DataFolder.hold(settings.data, for: .command)
    let logger = ServerLog(level: .warning).logger("parley")
    do throws(StartupError) {
      _ = try Certificates(settings, folder: folder.certificates, logger: logger)
    } catch { throw folder.explained(error) }
    let core = try Core.open(settings, folder, logger: logger)
    let users: [DemoUser]?
    do throws(StartupError) {
      users = try await run(core, settings, demo: demo)
    } catch {
      await core.close(logger)
      throw error
    }
    await core.close(logger)
    switch users {
    case nil: return "The data folder \(settings.data) was prepared before."
    case .some(let users) where users.isEmpty: return "Prepared the data folder \(settings.data)."
    case .some(let users): return "Prepared the data folder \(settings.data).\n\n" + greeting(users, settings)
    }
  }

  /// Creates the demo users if this is the first start.
  ///
  /// - Parameter demo: Whether to create them; nil means only if the first domain is localhost.
  /// - Returns: The created users; nil if this is not the first start.
  static func run(_ core: Core, _ settings: Settings, demo: Bool?) async throws(StartupError) -> [DemoUser]? {
    if Files.exists(marker(core.folder)) { return nil }
    let parley = core.parley
    do throws(Problem) {
      let realms = parley.realms
      let count = try await parley.read { reader in try realms.reduce(0) { $0 + (try reader.userCount(in: $1.id)) } }
      let users =
        count == 0 && demo ?? (settings.domains[0].name == "localhost") ? try await makeUsers(core.accounts) : []
      try finish(core.folder)
      return users
    } catch {
      throw StartupError("the first start failed: \(error.text)")
    }
  }

  private static func finish(_ folder: DataFolder) throws(Problem) {
    do {
      try Files.write(Array("\(SystemClock.now.description)\n".utf8), to: marker(folder), mode: 0o600)
    } catch {
      throw Problem(.overloaded, "storage-failed", "\(error.path) cannot be written: \(error.reason)")
    }
  }

  private static func makeUsers(_ accounts: Accounts) async throws(Problem) -> [DemoUser] {
    let parley = accounts.parley
    let domain = parley.realms[0].domain
    var made: [(user: User, demo: DemoUser)] = []
    for (local, name) in [("juliet", "Juliet"), ("romeo", "Romeo")] {
      let address: BareJID
      do { address = try BareJID(local: local, domain: domain) } catch {
        throw Problem(.internal, "jid-malformed", "\(local)@\(domain): \(error)")
      }
      let password = Passwords.make()
      let row = Accounts.NewUser(address: address, password: password, displayName: name)
      let user = try await accounts.importUsers([row], byOperator: true)[0].get()
      made.append((user, DemoUser(address: address, password: password)))
    }
    try await parley.post(
      .link(made[1].user.address, name: "Romeo", groups: [], mutual: true), by: made[0].user.party)
    try await parley.post(
      .link(made[0].user.address, name: "Juliet", groups: [], mutual: true), by: made[1].user.party)
    return made.map(\.demo)
  }

  /// Returns the instructions for a new operator.
  static func greeting(_ users: [DemoUser], _ settings: Settings) -> String {
    guard let first = users.first else { return "" }
    var table = TextTable("User", "Password")
    for user in users { table.add([user.address.description, user.password]) }
    var text = """
      Two demo users (contacts of each other). Their passwords are shown only now:

      \(table.text())


      """
    let ports = [
      settings.xmpp.isOn ? "port \(settings.xmpp.port) with STARTTLS" : nil,
      settings.xmppTLS.isOn ? "port \(settings.xmppTLS.port) with direct TLS" : nil,
    ].compactMap { $0 }
    let base =
      settings.http.isOn
      ? "http://\(bracketed(loopback(settings.http.host))):\(settings.http.port)"
      : settings.https.isOn ? "https://\(bracketed(loopback(settings.https.host))):\(settings.https.port)" : nil
    if let base, settings.servesWebClient { text += "Browser:       \(base)\n" }
    if !ports.isEmpty {
      text += """
        XMPP client:   address \(first.address), server \(loopback(settings.xmpp.host)), \(ports.joined(separator: " or "))\
        \(settings.certificate == nil ? "; accept the self-signed certificate" : "")

        """
    }
    if let base {
      let local = first.address.local ?? ""
      text += """
        App protocol:  curl \(base.hasPrefix("https") ? "-k " : "")-s \(base)/v1/sessions \
        -H 'Content-Type: application/json' \
        -d '{"grant":"password","username":"\(local)","password":"\(first.password)"}'

        """
    }
    return text
  }

  /// Returns the host that a client on this machine connects to.
  private static func loopback(_ host: String) -> String {
    switch host {
    case "::", "0.0.0.0": "127.0.0.1"
    default: host
    }
  }

  private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
