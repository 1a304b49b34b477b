import FileStorage

/// Reads the settings of uploads, scans and buckets.
extension SettingsReader {
  mutating func uploads() -> Settings.Uploads? {
    let bytes = number(.uploadsBytes, 0...ConfigurationLimits.uploadBytesMax, "bytes")
    let userBytes = number(.uploadsUserBytes, 0...Int.max, "bytes")
    let dayBytes = number(.uploadsUserDayBytes, 0...Int.max, "bytes")
    let days = number(.uploadsDays, 0...ConfigurationLimits.uploadDaysMax, "days")
    let endWithMessages = flag(.uploadsEndWithMessages)
    let thumbnails = flag(.uploadsThumbnails)
    let scan = scan()
    let bucket = bucket()
    if bytes == 0 { return nil }
    if userBytes < bytes { mistake(.uploadsUserBytes, "one file of uploads.bytes is larger") }
    if dayBytes < bytes { mistake(.uploadsUserDayBytes, "one file of uploads.bytes is larger") }
    if bucket != nil, bytes > ConfigurationLimits.bucketObjectBytesMax {
      mistake(.uploadsBytes, "one object of a bucket has at most \(ConfigurationLimits.bucketObjectBytesMax) bytes")
    }
    return Settings.Uploads(
      bytesMax: Int64(bytes), userBytesMax: Int64(userBytes), userDayBytesMax: Int64(dayBytes),
      lifetime: days == 0 ? nil : .seconds(days * 86_400), endWithMessages: endWithMessages, thumbnails: thumbnails,
      scan: scan, bucket: bucket)
  }

  private mutating func scan() -> ScanOptions? {
    let clamd = text(.uploadsScanClamd)
    let command = text(.uploadsScanCommand).split(separator: " ").map(String.init)
    let time = Duration.seconds(number(.uploadsScanSeconds, 1...ConfigurationLimits.scanSecondsMax, "seconds"))
    let isNeeded = flag(.uploadsScanNeeded)
    switch (clamd.isEmpty, command.isEmpty) {
    case (true, true): return nil
    case (false, false):
      mistake(.uploadsScanCommand, "uploads.scan.clamd is set beside it; one of them scans")
      return nil
    case (true, false):
      guard command[0].hasPrefix("/") else {
        mistake(
          .uploadsScanCommand, "a program with its whole path is expected, then its arguments, with spaces between")
        return nil
      }
      return ScanOptions(scanner: .command(command), time: time, isNeeded: isNeeded)
    case (false, true):
      guard let address = ClamdAddress(clamd) else {
        mistake(.uploadsScanClamd, "the path of a socket, such as /run/clamav/clamd.ctl, or HOST:PORT is expected")
        return nil
      }
      return ScanOptions(scanner: .clamd(address), time: time, isNeeded: isNeeded)
    }
  }

  private mutating func bucket() -> BucketOptions? {
    let store = text(.uploadsStore).lowercased()
    var endpoint = text(.bucketEndpoint)
    while endpoint.hasSuffix("/") { endpoint.removeLast() }
    let bucket = BucketOptions(
      endpoint: endpoint, bucket: text(.bucketName), region: text(.bucketRegion), key: text(.bucketKey),
      secret: text(.bucketSecret), prefix: text(.bucketPrefix), isInPath: flag(.bucketInPath))
    guard store == "s3" else {
      if store != "folder" { mistake(.uploadsStore, "folder or s3 is expected") }
      return nil
    }
    if !endpoint.hasPrefix("https://"), !endpoint.hasPrefix("http://") || endpoint.contains(where: \.isWhitespace) {
      mistake(.bucketEndpoint, "a URL such as https://s3.eu-central-1.amazonaws.com is expected")
    }
    for (key, value) in [
      (Key.bucketName, bucket.bucket), (.bucketRegion, bucket.region), (.bucketKey, bucket.key),
      (.bucketSecret, bucket.secret),
    ] where value.isEmpty { mistake(key, "it is missing: uploads.store is s3") }
    // The signature covers the path as it is in the URL: no character may need escaping.
    for (key, value) in [(Key.bucketName, bucket.bucket), (.bucketPrefix, bucket.prefix)]
    where !value.utf8.allSatisfy(Self.isPlain) {
      mistake(key, "letters, digits and . _ - / are expected")
    }
    return bucket
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d...0x2f, 0x5f: true
    default: false
    }
  }
}
