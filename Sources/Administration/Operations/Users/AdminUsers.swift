import Addresses
import Basics
import Dialogs

/// A user in the operators' view.
package struct UserRow: Codable, Hashable, Sendable {
  /// The user's id for apps.
  package let id: String
  package let jid: String
  package let name: String?
  /// `active`, `disabled` or `deleted`.
  package let state: String
  /// `admin` for an administrator of the domain, else `user`.
  package let role: String
  package let createdAt: String
  package let lastSeenAt: String?
  package let online: Bool

  init(_ user: User, in context: AdminContext) {
    id = user.name
    jid = user.address.description
    name = user.profile.displayName
    state = user.state.word
    role = (context.parley.registries.administrators.contains(user.party) ? SetRole.Role.admin : .user).rawValue
    createdAt = user.createdAt.description
    lastSeenAt = context.parley.hub.lastSeen(of: user)?.description
    online = context.parley.hub.isOnline(user.id)
  }
}

extension User.State {
  /// The name of the state in tables and JSON.
  var word: String {
    switch self {
    case .active: "active"
    case .disabled: "disabled"
    case .deleted: "deleted"
    }
  }
}

/// The outcome of one row of an import.
package struct RowOutcome: Codable, Hashable, Sendable {
  package enum Status: String, Codable, Sendable {
    case done
    /// The user existed already.
    case exists
    case failed
  }
  package let status: Status
  package let reason: String?
  /// The problem's code; nil if there is none.
  package let code: String?

  package init(_ status: Status, _ reason: String? = nil, code: String? = nil) {
    self.status = status
    self.reason = reason
    self.code = code
  }

  /// Creates the outcome of a row that was refused.
  init(_ problem: Problem) {
    self.init(.failed, problem.field.map { "\($0): \(problem.text)" } ?? problem.text, code: problem.code)
  }
}

extension [RowOutcome] {
  /// Returns the counts for the audit, such as `5 users, 3 refused`.
  func counted(_ noun: String) -> String {
    func count(_ status: RowOutcome.Status) -> Int { filter { $0.status == status }.count }
    var parts = [ProgressBar.counted(count(.done), noun)]
    if count(.exists) > 0 { parts.append("\(count(.exists)) already present") }
    if count(.failed) > 0 { parts.append("\(count(.failed)) refused") }
    return parts.joined(separator: ", ")
  }
}

extension AdminContext {
  /// Returns a local account that is not deleted.
  func user(_ jid: String) async throws(Problem) -> User {
    let address = try account(jid)
    guard parley.realm(domain: address.domain) != nil else {
      throw Problem(.foreign, "domain-not-served", "\(address.domain) is not served here.", field: "jid")
    }
    guard let user = try await parley.read({ try $0.user(address) }), user.state != .deleted else {
      throw Problem(.missing, "user-unknown", "There is no user \(address).", field: "jid")
    }
    return user
  }

  /// Parses an address of anybody. A caller with access to one realm may give the localpart of a user there alone.
  func contact(_ jid: String) throws(Problem) -> BareJID {
    guard let realm, !jid.contains("@") else { return try Self.contact(jid) }
    return try Self.contact("\(jid)@\(realm.domain)")
  }

  /// Parses an address with a localpart. A caller with access to one realm may give the localpart alone, and has no
  /// other realm.
  func account(_ jid: String) throws(Problem) -> BareJID {
    guard let realm else { return try Self.account(jid) }
    let address = try contact(jid)
    guard address.domain == realm.domain else {
      throw Problem(.missing, "user-unknown", "There is no user \(address).", field: "jid")
    }
    return address
  }

  /// Parses an address with a localpart.
  static func account(_ jid: String) throws(Problem) -> BareJID {
    let address = try contact(jid)
    guard address.local != nil else {
      throw Problem(.malformed, "jid-malformed", "\(address) has no name before the @.", field: "jid")
    }
    return address
  }

  /// Parses a bare address.
  static func contact(_ jid: String) throws(Problem) -> BareJID {
    do {
      return try BareJID(jid)
    } catch {
      throw Problem(.malformed, "jid-malformed", "\(Line.safe(jid)) is not an address: \(error).", field: "jid")
    }
  }
}
