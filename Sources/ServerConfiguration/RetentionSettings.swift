import Basics
import Dialogs

extension SettingsReader {
  /// Reads the ages at which messages and accounts go, and the bytes beyond which files do.
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
    policy.bounds = RetentionPolicy.Bounds(
      privately: Self.age(read(keys.retentionPrivateDays)), rooms: Self.age(read(keys.retentionRoomDays)),
      fileBytes: Self.bytes(read(keys.retentionFileBytes)))
    let entries = raw.entries[keys.retentionDomains.name] ?? []
    note(
      keys.retentionDomains, entries.map { Self.shown($0) }.joined(separator: ", "), entries.first?.origin ?? .standard)
    for entry in entries {
      let written = entry.fields["name"]?.text ?? ""
      guard let name = Host.domain(written), domains.contains(where: { $0.name == name }) else {
        reject(entry, "name", "it is not served here")
        continue
      }
      if policy.byDomain[name] != nil { reject(entry, "name", "the list has it twice") }
      let standard = policy.bounds
      policy.byDomain[name] = RetentionPolicy.Bounds(
        privately: number(entry, "private_days", in: 0...36_500, "days").map(Self.age) ?? standard.privately,
        rooms: number(entry, "room_days", in: 0...36_500, "days").map(Self.age) ?? standard.rooms,
        fileBytes: number(entry, "file_bytes", in: 0...Int.max, "bytes").map(Self.bytes) ?? standard.fileBytes)
    }
    return policy
  }

  /// Reads a number of an entry; `nil` if it is not there, or an error.
  private mutating func number(
    _ entry: RawSettings.DomainEntry, _ field: String, in range: ClosedRange<Int>, _ unit: String
  ) -> Int? {
    guard let written = entry.fields[field]?.text else { return nil }
    guard let number = Int(written), range.contains(number) else {
      reject(entry, field, "\(unit): a whole number from \(range.lowerBound) to \(range.upperBound) is expected")
      return nil
    }
    return number
  }

  private mutating func reject(_ entry: RawSettings.DomainEntry, _ field: String, _ text: String) {
    let value = entry.fields[field]
    errors.append(
      ConfigurationError(
        key: "\(keys.retentionDomains.name).\(field)", value: value?.text, origin: value?.origin ?? entry.origin, text))
  }

  private static func age(_ days: Int) -> Duration? { days == 0 ? nil : .days(days) }
  private static func bytes(_ bytes: Int) -> Int64? { bytes == 0 ? nil : Int64(bytes) }

  private static func shown(_ entry: RawSettings.DomainEntry) -> String {
    ["name", "private_days", "room_days", "file_bytes"].compactMap { field in
      entry.fields[field].map { field == "name" ? $0.text : "\(field)=\($0.text)" }
    }.joined(separator: " ")
  }
}
