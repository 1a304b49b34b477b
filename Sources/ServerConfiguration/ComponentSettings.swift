import Basics
package import Dialogs
import Peers

extension SettingsReader {
  mutating func readComponents(_ domains: [Settings.Domain]) -> [Settings.Component] {
    let entries = raw.components
    note(
      keys.components, entries.map { $0.fields["name"]?.text ?? "" }.joined(separator: ", "),
      entries.first?.origin ?? .standard)
    if entries.count > ConfigurationLimits.componentsMax {
      errors.append(
        ConfigurationError(
          key: keys.components.name, value: "\(entries.count) components", origin: entries[0].origin,
          "at most \(ConfigurationLimits.componentsMax) can be set"))
      return []
    }
    var taken = Set(domains.flatMap { [$0.name, $0.rooms] })
    var components: [Settings.Component] = []
    for entry in entries {
      var reader = ComponentReader(entry)
      if let component = reader.component(domains, &taken, after: components) { components.append(component) }
      errors += reader.errors
    }
    return components
  }
}

/// Reads one element of `components`.
private struct ComponentReader {
  private let entry: RawSettings.DomainEntry
  private(set) var errors: [ConfigurationError] = []

  init(_ entry: RawSettings.DomainEntry) { self.entry = entry }

  mutating func component(
    _ domains: [Settings.Domain], _ taken: inout Set<String>, after others: [Settings.Component]
  ) -> Settings.Component? {
    guard let name = entry.fields["name"].flatMap({ Host.domain($0.text) }) else {
      reject("name", "a domain name is expected")
      return nil
    }
    if !taken.insert(name).inserted { reject("name", "this server already uses the domain") }
    guard let secret = entry.fields["secret"]?.text, !secret.isEmpty else {
      reject("secret", "\(name) needs a secret")
      return nil
    }
    let above = domains.filter { name.hasSuffix("." + $0.name) }.max { $0.name.count < $1.name.count }
    let home = (above ?? domains.first)?.name ?? "localhost"
    return Settings.Component(
      name: name, secret: secret, home: home, privileges: privileges(),
      delegated: delegated(to: name, others.filter { $0.home == home }.flatMap(\.delegated)))
  }

  /// Records an error in a field.
  private mutating func reject(_ field: String, _ text: String) {
    let key = Keys.shared.components
    errors.append(
      ConfigurationError(
        key: "\(key.name).\(field)", value: key.form.secrets.contains(field) ? nil : entry.fields[field]?.text,
        origin: entry.fields[field]?.origin ?? entry.origin, text))
  }

  /// Reads a field with one of several words; a missing field means the first of them.
  private mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ field: String) -> Choice? {
    guard let text = entry.fields[field]?.text else { return Choice.allCases.first }
    if let found = Choice(rawValue: text.trimmed) { return found }
    reject(field, "one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")) is expected")
    return nil
  }

  private enum MessagePermission: String, CaseIterable { case none, outgoing }

  private mutating func privileges() -> Privileges {
    let roster: Privileges.Access = choice("roster") ?? .none
    let reads = roster.allows(isSet: false)
    let messages: MessagePermission = choice("message") ?? .none
    let presence: Privileges.Presence = choice("presence") ?? .none
    if presence == .contacts, !reads {
      reject("presence", "presence: roster requires permission to read rosters: set roster to get or both")
    }
    var push: Bool?
    switch entry.fields["roster_push"]?.text.lowercased() {
    case nil: break
    case "true", "yes", "on":
      push = true
      if !reads { reject("roster_push", "roster_push requires permission to read rosters: set roster to get or both") }
    case "false", "no", "off": push = false
    default: reject("roster_push", "true or false is expected")
    }
    var requests: [String: Privileges.Access] = [:]
    for words in words("iq") {
      guard words.count == 2, let access = Privileges.Access(rawValue: words[1]) else {
        reject("iq", "a namespace, a space, and none, get, set or both are expected")
        continue
      }
      requests[words[0]] = access
    }
    return Privileges(
      roster: roster, isToldOfRosters: push, speaks: messages == .outgoing, requests: requests, presence: presence)
  }

  private mutating func delegated(to name: String, _ others: [Delegation]) -> [Delegation] {
    var delegations: [Delegation] = []
    for words in words("delegate") {
      guard let namespace = words.first else { continue }
      let attributes = Array(words.dropFirst())
      if !Delegation.isPossible(namespace) {
        reject("delegate", "\(namespace) cannot be delegated")
      } else if (others + delegations).contains(where: { $0.namespace == namespace && $0.attributes == attributes }) {
        reject("delegate", "\(namespace) is delegated already")
      } else {
        delegations.append(Delegation(namespace, attributes: attributes, to: name))
      }
    }
    return delegations
  }

  /// Splits a list into elements and each element into words.
  private func words(_ field: String) -> [[String]] {
    (entry.fields[field]?.text ?? "").split(separator: ",").map { element in
      element.split(whereSeparator: \.isWhitespace).map(String.init)
    }
  }
}

extension Settings {
  /// The privileges of components by domain.
  package var privileges: [String: Privileges] {
    Dictionary(components.map { ($0.name, $0.privileges) }, uniquingKeysWith: { first, _ in first })
  }
}

extension Settings.Component {
  /// The part of a component that needs a restart.
  package var fixed: Settings.Component {
    var fixed = self
    fixed.privileges = .none
    return fixed
  }
}
