import Addresses
import Dialogs
import Peers
import Synchronization
import XMLStream
import XMPP

/// All delegations, by the domain whose server delegates. Immutable.
struct Delegations: Sendable {
  private let byDomain: [String: [Delegation]]

  init(_ byDomain: [String: [Delegation]]) { self.byDomain = byDomain.filter { !$0.value.isEmpty } }

  var isEmpty: Bool { byDomain.isEmpty }

  func all(of domain: String) -> [Delegation] { byDomain[domain] ?? [] }

  /// Returns the delegation of an IQ request with this payload to the domain or a bare address of it, the first in the
  /// order of the configuration; `nil` if the server answers.
  func manager(of payload: Element, in domain: String) -> Delegation? {
    guard let delegations = byDomain[domain] else { return nil }
    let namespace = payload.namespace
    return delegations.first { delegation in
      guard delegation.namespace == namespace else { return false }
      if delegation.attributes.isEmpty { return true }
      let names = Set(payload.attributes.map(\.local))
      return delegation.attributes.allSatisfy(names.contains)
    }
  }

  func manager(ofNodes namespace: String, in domain: String) -> Delegation? {
    byDomain[domain]?.first { $0.namespace == namespace }
  }

  func delegates(_ namespace: String, in domain: String) -> Bool {
    byDomain[domain]?.contains { $0.namespace == namespace } == true
  }
}

/// The discovery information of components for their delegated namespaces (XEP-0355 7.2), while they are connected.
final class NestedDiscovery: Sendable {
  struct Information: Sendable {
    /// The information that replaces the server's own, and a user's account's.
    var server = Capabilities(identities: [], features: [])
    var account = Capabilities(identities: [], features: [])
  }
  private struct ConnectedComponent {
    let link: SessionID
    var information = Information()
  }
  private let components = Mutex<[String: ConnectedComponent]>([:])
  private let changes = Atomic<Int>(0)

  /// The number of changes so far. Whoever reads it first, and the information then, has no older information.
  var version: Int { changes.load(ordering: .sequentiallyConsistent) }

  private func changed() { changes.wrappingAdd(1, ordering: .sequentiallyConsistent) }

  func begin(_ component: String, _ link: SessionID) {
    components.withLock { $0[component] = ConnectedComponent(link: link) }
    changed()
  }

  /// Adds information, unless the component has disconnected since.
  func add(_ component: String, _ link: SessionID, _ change: @Sendable (inout Information) -> Void) {
    components.withLock { components in
      guard components[component]?.link == link else { return }
      change(&components[component]!.information)  // found just above
    }
    changed()
  }

  func end(_ component: String, _ link: SessionID) {
    components.withLock { if $0[component]?.link == link { $0[component] = nil } }
    changed()
  }

  func information(by component: String) -> Information? { components.withLock { $0[component]?.information } }
}

extension Capabilities {
  /// Adds other capabilities, without duplicates.
  mutating func add(_ other: Capabilities) {
    identities += other.identities.filter { !identities.contains($0) }
    let known = Set(features)
    features += other.features.filter { !known.contains($0) }
    forms += other.forms
  }
}
