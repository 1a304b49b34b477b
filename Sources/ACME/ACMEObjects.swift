import Basics
import JSON

/// A way to prove the control of a name (RFC 8555 8.3, RFC 8737 3).
package enum ChallengeKind: String, Hashable, Sendable {
  case http = "http-01"
  case tlsALPN = "tls-alpn-01"
}

/// The authority's resources that this client uses (RFC 8555 7.1.1).
struct Directory: Hashable, Sendable {
  let newNonce: String
  let newAccount: String
  let newOrder: String
  let wantsExternalAccount: Bool
  /// RFC 9773 3; nil if the authority tells nothing of renewals.
  let renewalInfo: String?

  init(_ value: JSONValue) throws(ACMEFailure) {
    newNonce = try value.text("newNonce", of: "directory")
    newAccount = try value.text("newAccount", of: "directory")
    newOrder = try value.text("newOrder", of: "directory")
    renewalInfo = value["renewalInfo"]?.string
    wantsExternalAccount = value["meta"]?["externalAccountRequired"] == .bool(true)
  }
}

/// An order (RFC 8555 7.1.3).
struct Order: Hashable, Sendable {
  enum Status: String { case pending, ready, processing, valid, invalid }

  /// The order's URL, of its `Location`.
  let url: String
  let status: Status
  let authorizations: [String]
  let finalize: String
  let certificate: String?
  let problem: ACMEProblem?

  init(_ value: JSONValue, url: String) throws(ACMEFailure) {
    self.url = url
    guard let status = Status(rawValue: try value.text("status", of: "order")) else {
      throw ACMEFailure("the authority's order has an unknown status")
    }
    self.status = status
    guard case .array(let list) = value["authorizations"] else {
      throw ACMEFailure("the authority's order has no authorizations")
    }
    authorizations = list.compactMap(\.string)
    finalize = try value.text("finalize", of: "order")
    certificate = value["certificate"]?.string
    problem = value["error"].map { ACMEProblem($0, status: nil) }
  }
}

/// An authorization for one name (RFC 8555 7.1.4), with its challenges (8).
struct Authorization: Hashable, Sendable {
  struct Challenge: Hashable, Sendable {
    let kind: ChallengeKind
    let url: String
    let token: String
  }

  let name: String
  let status: String
  /// The challenges of known kinds.
  let challenges: [Challenge]
  /// The reason why it failed, of the challenge that was tried.
  let problem: ACMEProblem?

  init(_ value: JSONValue) throws(ACMEFailure) {
    guard let name = value["identifier"]?["value"]?.string else {
      throw ACMEFailure("the authority's authorization names nothing")
    }
    self.name = name.lowercased()
    status = try value.text("status", of: "authorization")
    guard case .array(let list) = value["challenges"] else {
      throw ACMEFailure("the authority's authorization has no challenges")
    }
    challenges = list.compactMap { item in
      guard let kind = item["type"]?.string.flatMap(ChallengeKind.init), let url = item["url"]?.string,
        let token = item["token"]?.string, Self.isToken(token)
      else { return nil }
      return Challenge(kind: kind, url: url, token: token)
    }
    problem = list.lazy.compactMap { $0["error"] }.first.map { ACMEProblem($0, status: nil) }
  }

  /// Whether a text has the alphabet of tokens and nonces (RFC 8555 8.3, 6.5.1).
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 512
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

extension JSONValue {
  fileprivate func text(_ member: String, of what: String) throws(ACMEFailure) -> String {
    guard let text = self[member]?.string else { throw ACMEFailure("the authority's \(what) has no \(member)") }
    return text
  }
}
