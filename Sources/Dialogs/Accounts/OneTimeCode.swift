public import Basics

/// A code that was sent to a mail address or a telephone. One is valid at a time for one subject and purpose.
public struct OneTimeCode: Hashable, Sendable {
  /// The address it was sent to.
  public let identity: Identity
  /// The user who proves the address; `nil` for a code to sign in with.
  public let user: UserID?
  /// Random bytes, from which the code is made for this subject and purpose, with a key that is not stored here.
  public let seed: [UInt8]
  public let expires: Timestamp
  public var attemptsLeft: Int

  public init(identity: Identity, user: UserID?, seed: [UInt8], expires: Timestamp, attemptsLeft: Int) {
    self.identity = identity
    self.user = user
    self.seed = seed
    self.expires = expires
    self.attemptsLeft = attemptsLeft
  }
}

/// A code in its realm.
struct RealmCode {
  let realm: RealmID
  let code: OneTimeCode
}

extension RealmCode: Record {
  enum Field: String, CaseIterable, Sendable {
    case realm, issuer, subject, user, seed = "hash", expires, attemptsLeft = "attempts"
  }
  static let kind = "codes"
  static let key: [Field] = [.realm, .issuer, .subject, .user]
  var fields: [FieldValue] {
    // A user of 0 stands for none, since the field is part of the key.
    [
      realm.field, code.identity.issuer.field, code.identity.subject.field, (code.user ?? UserID(0)).field,
      code.seed.field, code.expires.field, code.attemptsLeft.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    realm = try fields.next()
    let identity = try Identity(fields.next(), fields.next())
    let user: UserID = try fields.next()
    code = try OneTimeCode(
      identity: identity, user: user.number == 0 ? nil : user, seed: fields.next(), expires: fields.next(),
      attemptsLeft: fields.next())
  }
}

extension RecordReader {
  public func code(for identity: Identity, of user: UserID?, in realm: RealmID) throws -> OneTimeCode? {
    try record(
      RealmCode.self, .equal(.realm, realm), .equal(.issuer, identity.issuer), .equal(.subject, identity.subject),
      .equal(.user, user ?? UserID(0)))?.code
  }
}

extension RecordWriter {
  /// Stores a code, replacing the previous one.
  public func put(_ code: OneTimeCode, in realm: RealmID) throws { try put(RealmCode(realm: realm, code: code)) }

  public func removeCode(for identity: Identity, of user: UserID?, in realm: RealmID) throws {
    try remove(
      RealmCode.self, .equal(.realm, realm), .equal(.issuer, identity.issuer), .equal(.subject, identity.subject),
      .equal(.user, user ?? UserID(0)))
  }

  public func removeCodes(endedBy time: Timestamp) throws { try remove(RealmCode.self, .atMost(.expires, time)) }
}
