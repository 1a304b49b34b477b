import Dialogs
import XMLStream
import XMPP

/// The capabilities in a client's presence (XEP-0115 5): the node to query, and a hash of the answer.
struct CapabilitiesClaim: Sendable, Hashable {
  let node: String
  let version: String
  let hash: String

  /// Reads a presence; `nil` without capabilities, or with those of before version 1.4, which prove nothing.
  init?(_ presence: Element) {
    guard let caps = presence.first(.caps), let node = caps["node"], let version = caps["ver"], let hash = caps["hash"],
      !version.isEmpty, node.utf8.count + version.utf8.count <= DoorLimits.capabilitiesNodeBytesMax
    else { return nil }
    self.node = node
    self.version = version
    self.hash = hash
  }

  /// Whether this server can verify an answer against the hash.
  var isVerifiable: Bool { hash == "sha-1" }

  /// The node to query (6.2).
  var queried: String { "\(node)#\(version)" }
}

/// The nodes that clients are interested in (XEP-0060 9.2), by the hash of their capabilities: one client is asked, and
/// the answer holds for all with the same hash. Shared by all sessions; a leaf lock.
final class ClientCapabilities: Sendable {
  private let known = Locked<[String: Set<String>]>([:])

  func interests(of claim: CapabilitiesClaim) -> Set<String>? {
    claim.isVerifiable ? known.withLock { $0[claim.version] } : nil
  }

  /// Returns the interests in an answer. Only an answer that matches the hash is kept for other clients (5.4); any
  /// other is used for its sender alone.
  func learn(_ query: Element, for claim: CapabilitiesClaim) -> Set<String> {
    guard let capabilities = try? Capabilities(query) else { return [] }
    let interests = Self.interests(capabilities.features)
    guard claim.isVerifiable, Self.isSound(capabilities), capabilities.verification == claim.version else {
      return interests
    }
    return known.withLock { known in
      if let found = known[claim.version] { return found }
      // At the bound the cache is emptied: entries that are still in use are asked for again.
      if known.count >= DoorLimits.knownCapabilitiesMax { known = [:] }
      known[claim.version] = interests
      return interests
    }
  }

  /// Returns whether capabilities are well-formed, and free of the character that ends each part of the hashed text:
  /// with it two different answers could have one hash (8.3).
  private static func isSound(_ capabilities: Capabilities) -> Bool {
    func isPlain(_ text: String?) -> Bool { text?.utf8.contains(UInt8(ascii: "<")) != true }
    return capabilities.isWellFormed && capabilities.features.allSatisfy(isPlain)
      && capabilities.identities.allSatisfy {
        isPlain($0.category) && isPlain($0.type) && isPlain($0.language) && isPlain($0.name)
      }
      && capabilities.forms.allSatisfy { form in
        form.fields.allSatisfy { isPlain($0.name) && $0.values.allSatisfy(isPlain) }
      }
  }

  static func interests(_ features: [String]) -> Set<String> {
    var interests: Set<String> = []
    var left = DoorLimits.interestsBytesMax
    for feature in features where feature.hasSuffix("+notify") && interests.count < DoorLimits.interestsMax {
      let node = feature.dropLast(7)
      if node.isEmpty || node.utf8.count > min(Limits.nodeNameBytesMax, left) { continue }
      if interests.insert(String(node)).inserted { left -= node.utf8.count }
    }
    return interests
  }
}
