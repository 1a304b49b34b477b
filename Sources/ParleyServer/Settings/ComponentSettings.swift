import Dialogs

extension SettingsReader {
  mutating func readComponents(_ domains: [Settings.Domain]) -> [Settings.Component] {
    let entries = raw.components
    note(
      .components, entries.map { $0.fields["name"]?.text ?? "" }.joined(separator: ", "),
      entries.first?.origin ?? .standard)
    if entries.count > ServerLimits.componentsMax {
      mistakes.append(
        Mistake(
          key: Key.components.name, value: "\(entries.count) components", origin: entries[0].origin,
          "at most \(ServerLimits.componentsMax) are served"))
      return []
    }
    var taken = Set(domains.flatMap { [$0.name, $0.rooms] })
    var components: [Settings.Component] = []
    for entry in entries {
      func mistake(_ field: String, _ text: String) -> Mistake {
        Mistake(
          key: "\(Key.components.name).\(field)", value: field == "secret" ? nil : entry.fields[field]?.text,
          origin: entry.fields[field]?.origin ?? entry.origin, text)
      }
      guard let name = entry.fields["name"].flatMap({ Host.domain($0.text) }) else {
        mistakes.append(mistake("name", "a domain name is expected"))
        continue
      }
      if !taken.insert(name).inserted { mistakes.append(mistake("name", "the domain is already in use here")) }
      guard let secret = entry.fields["secret"]?.text, !secret.isEmpty else {
        mistakes.append(mistake("secret", "\(name) needs a secret"))
        continue
      }
      let home = domains.filter { name.hasSuffix("." + $0.name) }.max { $0.name.count < $1.name.count }
      components.append(
        Settings.Component(name: name, secret: secret, home: (home ?? domains.first)?.name ?? "localhost"))
    }
    return components
  }
}
