import Basics
import Dialogs

extension SettingsReader {
  /// Reads the ages at which messages and accounts go.
  mutating func retention(among domains: [Settings.Domain], _ uploads: Settings.Uploads?) -> RetentionPolicy {
    var policy = RetentionPolicy()
    policy.files = uploads?.lifetime
    let accounts = read(keys.retentionAccountDays)
    if (1..<ConfigurationLimits.idleAccountDaysMin).contains(accounts) {
      reject(
        keys.retentionAccountDays,
        "days: 0, or a whole number from \(ConfigurationLimits.idleAccountDaysMin) to 36500 is expected")
    }
    policy.accounts = Self.age(accounts)
    policy.ages = RetentionPolicy.Ages(
      privately: Self.age(read(keys.retentionPrivateDays)), rooms: Self.age(read(keys.retentionRoomDays)))
    let entries = raw.entries[keys.retentionDomains.name] ?? []
    note(
      keys.retentionDomains, entries.map { Self.shown($0) }.joined(separator: ", "), entries.first?.origin ?? .standard)
    for entry in entries {
      let written = entry.fields["name"]?.text ?? ""
      guard let name = Host.domain(written), domains.contains(where: { $0.name == name }) else {
        reject(entry, "name", "it is not served here")
        continue
      }
      if policy.byDomain[name] != nil { reject(entry, "name", "it is there twice") }
      policy.byDomain[name] = RetentionPolicy.Ages(
        privately: age(entry, "private_days", policy.ages.privately), rooms: age(entry, "room_days", policy.ages.rooms))
    }
    return policy
  }

  private mutating func age(
    _ entry: RawSettings.DomainEntry, _ field: String, _ fallback: Duration?
  ) -> Duration? {
    guard let written = entry.fields[field]?.text else { return fallback }
    guard let days = Int(written), (0...36_500).contains(days) else {
      reject(entry, field, "days: a whole number from 0 to 36500 is expected")
      return nil
    }
    return Self.age(days)
  }

  private mutating func reject(_ entry: RawSettings.DomainEntry, _ field: String, _ text: String) {
    let value = entry.fields[field]
    errors.append(
      ConfigurationError(
        key: "\(keys.retentionDomains.name).\(field)", value: value?.text, origin: value?.origin ?? entry.origin, text))
  }

  private static func age(_ days: Int) -> Duration? { days == 0 ? nil : .days(days) }

  private static func shown(_ entry: RawSettings.DomainEntry) -> String {
    ["name", "private_days", "room_days"].compactMap { field in
      entry.fields[field].map { field == "name" ? $0.text : "\(field)=\($0.text)" }
    }.joined(separator: " ")
  }
}
