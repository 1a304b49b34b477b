import Dialogs
import XMLStream
import XMPP

/// What a client's presence says of its capabilities (XEP-0115 5): where they
/// can be asked for, and a hash of the answer.
struct CapabilitiesClaim: Sendable, Hashable {
  let node: String
  let version: String
  let hash: String

  /// nil: nothing, or in the form of before 1.4, which proves nothing.
  init?(_ presence: Element) {
    guard let caps = presence.first(.caps), let node = caps["node"], let version = caps["ver"], let hash = caps["hash"],
      !version.isEmpty, node.utf8.count + version.utf8.count <= DoorLimits.capabilitiesNodeBytesMax
    else { return nil }
    self.node = node
    self.version = version
    self.hash = hash
  }

  /// Whether this server can tell that an answer is the one that was hashed.
  var isVerifiable: Bool { hash == "sha-1" }

  /// The node to ask for (6.2).
  var queried: String { "\(node)#\(version)" }
}

/// The nodes in which clients are interested (XEP-0060 9.2), by the hash of
/// their capabilities: asked once of one client, known of all that say the same.
/// Shared by all sessions; a leaf lock.
final class ClientCapabilities: Sendable {
  private let known = Locked<[String: Set<String>]>([:])

  func interests(of claim: CapabilitiesClaim) -> Set<String>? {
    claim.isVerifiable ? known.withLock { $0[claim.version] } : nil
  }

  /// What an answer says. Only one that the hash proves is kept for others
  /// (5.4); whoever gave another is believed about itself.
  func learn(_ query: Element, for claim: CapabilitiesClaim) -> Set<String> {
    guard let capabilities = try? Capabilities(query) else { return [] }
    let interests = Self.interests(capabilities.features)
    guard claim.isVerifiable, Self.isSound(capabilities), capabilities.verification == claim.version else {
      return interests
    }
    return known.withLock { known in
      if let found = known[claim.version] { return found }
      // At the bound it begins anew: what is still in use is asked for again.
      if known.count >= DoorLimits.knownCapabilitiesMax { known = [:] }
      known[claim.version] = interests
      return interests
    }
  }

  /// Well-formed, and without the character that ends each part of what is
  /// hashed: two different answers could have one hash with it (8.3).
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
    for feature in features where feature.hasSuffix("+notify") && interests.count < DoorLimits.interestsMax {
      let node = feature.dropLast(7)
      if !node.isEmpty, node.utf8.count <= Dialogs.Limits.nodeNameBytesMax { interests.insert(String(node)) }
    }
    return interests
  }
}
