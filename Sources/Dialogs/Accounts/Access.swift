public import Basics

/// The credential a session was opened with; revoking it closes the session.
public struct Access: Hashable, Sendable {
  /// The credential proved at the login, or at the login from which its token was derived.
  public enum Source: Hashable, Sendable {
    case password
    /// A login of the app.
    case grant(Int64)
    case appPassword(Int64)
  }

  public var source: Source
  /// The client, if it identified itself.
  public var agent: ClientAgent?
  /// The client by whose token it was opened, and with which it ends.
  public var client: Int64?
  public var since: Timestamp
  /// A salt of the account's keys at the login, new with each password; `nil` if it is not known any more.
  public var salt: [UInt8]?

  public init(
    _ source: Source, agent: ClientAgent? = nil, client: Int64? = nil, since: Timestamp, salt: [UInt8]? = nil
  ) {
    self.source = source
    self.agent = agent
    self.client = client
    self.since = since
    self.salt = salt
  }

  /// Returns whether nothing of it was revoked since.
  public func stands(for user: UserID, _ reader: any StoreReader) throws -> Bool {
    if let client, try !reader.clients(of: user).contains(where: { $0.id == client }) { return false }
    if let salt, try !reader.credentials(of: user).contains(where: { $0.salt == salt }) { return false }
    switch source {
    // The password alone does not open a session if there is a second factor.
    case .password: return try reader.secondFactor(of: user)?.isOn != true
    case .grant(let id): return try reader.grants(of: user).contains { $0.id == id }
    case .appPassword(let id): return try reader.appPasswords(of: user).contains { $0.id == id }
    }
  }
}

/// The identification of an XMPP client (XEP-0388 2.4).
public struct ClientAgent: Hashable, Sendable {
  /// The installation's own UUID, in lower case.
  public var id: String?
  public var software: String?
  public var device: String?

  public init(id: String?, software: String?, device: String?) {
    self.id = id
    self.software = software
    self.device = device
  }
}
