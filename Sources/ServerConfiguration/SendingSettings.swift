import Dialogs

extension SettingsReader {
  /// Reads what one user may send.
  mutating func sending() -> SendingPolicy {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = read(keys.sendingStanzas)
    policy.bytesPerSecond = read(keys.sendingBytes)
    policy.dayBytes = Int64(read(keys.sendingDayBytes))
    return policy
  }
}
