public import FileStorage

extension Settings {
  /// The backups of the server: where they are, and when it makes them by itself.
  public struct Backups: Hashable, Sendable {
    /// The place of the backups that the server makes by itself.
    public enum Place: String, CaseIterable, Sendable { case folder, s3 }

    /// The absolute path of the folder.
    public let folder: String
    /// The time between two backups; nil if the server makes none by itself.
    public let every: Duration?
    /// The number of databases that are kept.
    public let keep: Int
    public let place: Place
    /// The bucket, also for commands; nil if none is configured.
    public let bucket: BucketOptions?
    /// Whether a program beside the server copies the write-ahead log as it grows.
    public let isReplicated: Bool
  }
}

extension SettingsReader {
  mutating func backups(data: String, _ uploads: Settings.Uploads?) -> Settings.Backups {
    let (every, keep, place) = (read(keys.backupEvery), read(keys.backupKeep), read(keys.backupStore))
    var folder = data + "/backups"
    if raw.values[keys.backupFolder.name] == nil {
      note(keys.backupFolder, folder, .derived)
    } else {
      folder = read(keys.backupFolder)
    }
    if folder == data { reject(keys.backupFolder, "it must not be the data folder itself") }
    return Settings.Backups(
      folder: folder, every: every == .zero ? nil : every, keep: keep, place: place,
      bucket: backupBucket(place, beside: uploads?.bucket), isReplicated: read(keys.backupReplicated))
  }

  /// Reads the bucket of backups. Without an endpoint it is at the service of `uploads.s3`, with its credentials.
  private mutating func backupBucket(
    _ place: Settings.Backups.Place, beside uploads: BucketOptions?
  ) -> BucketOptions? {
    let own = bucket(keys.backupBucket)
    if !own.endpoint.isEmpty {
      check(own, keys.backupBucket, because: "backup.s3.endpoint is set")
      return own
    }
    for (key, value) in [(keys.backupBucketKey, own.key), (keys.backupBucketSecret, own.secret)] where !value.isEmpty {
      reject(key, "backup.s3.endpoint must be set as well")
    }
    guard let uploads else {
      if place == .s3 {
        reject(keys.backupBucketEndpoint, "it is required: backup.store is s3, and uploads.s3 names no bucket to share")
      }
      return nil
    }
    checkNames(own, keys.backupBucket)
    let bucket = own.bucket.isEmpty ? uploads.bucket : own.bucket
    if bucket == uploads.bucket, own.prefix == uploads.prefix {
      reject(keys.backupBucketPrefix, "users' files already use this prefix in the same bucket")
    }
    return BucketOptions(
      endpoint: uploads.endpoint, bucket: bucket, region: uploads.region, key: uploads.key, secret: uploads.secret,
      prefix: own.prefix, isInPath: uploads.isInPath)
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
