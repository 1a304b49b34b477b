/// The content of a field for a password. Some servers keep the keys of a password there, or a mark in place of it. Neither
/// may become a password: whoever has read the field could log in with its text.
public enum StoredPassword: Sendable, Equatable {
  case none
  /// A password as its user types it.
  case plain(String)
  case keys([SCRAMRecord])
  /// The mark of a banned account, in place of a password that is lost.
  case banned
  /// Keys or a hash in a form that is not read, with a description for the report.
  case unknown(String)

  public init(_ text: String) {
    if text.isEmpty {
      self = .none
    } else if text.hasPrefix("BANNED_ACCOUNT--") {
      // COMPAT(ejabberd): `ban_account` sets this as the password (always before 24.06).
      self = .banned
    } else if text.hasPrefix("scram:") {
      // COMPAT(ejabberd): its exports in the portable format before `<scram-credentials/>`.
      self = Self.parsed(text.dropFirst("scram:".count))
    } else if text.hasPrefix("==SCRAM==,") {
      // COMPAT(MongooseIM): "SCRAM serialization format".
      self = Self.parsed(text.dropFirst("==SCRAM==,".count))
    } else if let form = Self.foreignForm(of: text) {
      self = .unknown(form)
    } else {
      self = .plain(text)
    }
  }

  /// Parses `[HASH,]STORED KEY,SERVER KEY,SALT,ITERATIONS`; the hash is SHA-1 unless it is named.
  private static func parsed(_ list: Substring) -> StoredPassword {
    var parts = list.split(separator: ",", maxSplits: 5, omittingEmptySubsequences: false).map(String.init)
    var mechanism = "SCRAM-SHA-1"
    if parts.count == 5 {
      switch parts.removeFirst() {
      case "sha": break
      case "sha256": mechanism = "SCRAM-SHA-256"
      case "sha512": mechanism = "SCRAM-SHA-512"
      default: return .unknown("a list of SCRAM keys of an unknown hash")
      }
    }
    guard parts.count == 4, let iterations = Int(parts[3]) else { return .unknown("a damaged list of SCRAM keys") }
    return .keys([
      SCRAMRecord(
        mechanism: mechanism, iterations: iterations, salt: parts[2], storedKey: parts[0], serverKey: parts[1])
    ])
  }

  /// Returns the name of a form in which passwords are hashed; `nil` for a text that looks like none.
  private static func foreignForm(of text: String) -> String? {
    for prefix in ["==MULTI_SCRAM==", "SCRAM-SHA-", "sha256:", "sha512:", "{scram,"] where text.hasPrefix(prefix) {
      return "a list of keys (\(prefix))"
    }
    // `{SCHEME}` in front of base 64, as directories and mail servers write it (RFC 2307 5.3).
    if text.hasPrefix("{"), let end = text.prefix(32).firstIndex(of: "}"),
      text[end...].utf8.count > 16, text[..<end].dropFirst().utf8.allSatisfy({ isOfScheme($0) })
    {
      return "a hash (\(text[...end]))"
    }
    // `$ID$SALT$HASH`, as crypt(5) writes it.
    let parts = text.prefix(64).split(separator: "$", omittingEmptySubsequences: false)
    if parts.count > 3, parts[0].isEmpty, !parts[1].isEmpty, parts[1].utf8.allSatisfy({ isOfScheme($0) }),
      text.utf8.count >= 20
    {
      return "a hash ($\(parts[1])$)"
    }
    return nil
  }

  private static func isOfScheme(_ byte: UInt8) -> Bool {
    ByteCursor.isName(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
  }
}

extension AccountRecord {
  /// Takes the content of a field for a password, and returns what there is to report.
  mutating func take(password text: String) -> String? {
    switch StoredPassword(text) {
    case .none:
      return password == nil && scram.isEmpty && !isDisabled ? "it has no password: \(Self.locked)" : nil
    case .plain(let text):
      if let password, password != text { return "it has two passwords, of which the first is taken" }
      password = text
      return nil
    case .keys(let keys): return add(keys)
    case .banned:
      isDisabled = true
      return nil
    case .unknown(let form): return "its password is \(form), which is not read: \(Self.locked)"
    }
  }

  /// Adds keys of further mechanisms, and returns what there is to report.
  mutating func add(_ keys: [SCRAMRecord]) -> String? {
    var flaw: String?
    for keys in keys {
      if let known = scram.first(where: { $0.mechanism == keys.mechanism }) {
        if known != keys { flaw = "it has two sets of keys of \(keys.mechanism), of which the first is taken" }
      } else {
        scram.append(keys)
      }
    }
    return flaw
  }

  /// The consequence of credentials that cannot be taken.
  static let locked = "nobody can log in until it has a new one"
}

extension XMLNode {
  /// Whether this is the element of private XML by which ejabberd bans an account beside its password (24.06;
  /// mod_admin_extra: one without a date bans nobody).
  var isBan: Bool {
    self.is("banned", Self.banNamespace) && first("bandate", Self.banNamespace)?.text.isEmpty == false
  }

  static let banNamespace = "jabber:ejabberd:banned"
}
