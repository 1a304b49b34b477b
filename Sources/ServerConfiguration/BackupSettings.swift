extension Settings {
  /// The backups that the server makes by itself.
  public struct Backups: Hashable, Sendable {
    /// The absolute path of the folder.
    public let folder: String
    public let every: Duration
    /// The number of databases that are kept.
    public let keep: Int
  }
}

extension SettingsReader {
  /// Reads the settings of backups; nil if the server makes none.
  mutating func backups(data: String) -> Settings.Backups? {
    let (every, keep) = (read(keys.backupEvery), read(keys.backupKeep))
    var folder = data + "/backups"
    if raw.values[keys.backupFolder.name] == nil {
      note(keys.backupFolder, folder, .derived)
    } else {
      folder = read(keys.backupFolder)
    }
    if folder == data { reject(keys.backupFolder, "it is the data folder itself") }
    return every == .zero ? nil : Settings.Backups(folder: folder, every: every, keep: keep)
  }
}

extension Key where Value == Duration {
  /// Declares a time with a unit, `30m`, `6h` or `1d`, from a minute to a year; zero if it is empty.
  static func time(_ name: String) -> Key {
    Key(name) { text in
      if text.isEmpty { return (.zero, nil) }
      let units: [Character: Int] = ["m": 60, "h": 3_600, "d": 86_400]
      guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()),
        (1...525_600).contains(number), (60...31_622_400).contains(number * unit)
      else { return (.zero, "a time such as 30m, 6h or 1d is expected, at least a minute and at most a year") }
      return (.seconds(number * unit), nil)
    }
  }
}
