extension Settings {
  /// Who looks at files before anybody may read them.
  public struct Scan: Hashable, Sendable {
    enum Scanner: Hashable, Sendable {
      case clamd(ClamdScanner.Address)
      case command([String])
    }
    let scanner: Scanner
    /// How long one file may take.
    public let time: Duration
    /// What could not be scanned is not taken.
    public let isNeeded: Bool
  }

  /// A bucket of an S3-compatible service.
  public struct Bucket: Hashable, Sendable {
    /// A URL without a slash at its end.
    public let endpoint: String
    public let bucket: String
    public let region: String
    public let key: String
    public let secret: String
    /// What the names of all objects begin with.
    public let prefix: String
    /// The bucket is the first part of the path, not of the host.
    public let isInPath: Bool

    /// The bucket's own URL.
    var base: String {
      guard !isInPath, let slashes = endpoint.firstRange(of: "://") else { return endpoint + "/" + bucket }
      return endpoint[..<slashes.upperBound] + bucket + "." + endpoint[slashes.upperBound...]
    }
  }
}

/// What files are taken, and what becomes of them.
extension SettingsReader {
  mutating func uploads() -> Settings.Uploads? {
    let bytes = number(.uploadsBytes, 0...ServerLimits.uploadBytesMax, "bytes")
    let userBytes = number(.uploadsUserBytes, 0...Int.max, "bytes")
    let dayBytes = number(.uploadsUserDayBytes, 0...Int.max, "bytes")
    let days = number(.uploadsDays, 0...ServerLimits.uploadDaysMax, "days")
    let endWithMessages = flag(.uploadsEndWithMessages)
    let thumbnails = flag(.uploadsThumbnails)
    let scan = scan()
    let bucket = bucket()
    if bytes == 0 { return nil }
    if userBytes < bytes { mistake(.uploadsUserBytes, "one file of uploads.bytes is larger") }
    if dayBytes < bytes { mistake(.uploadsUserDayBytes, "one file of uploads.bytes is larger") }
    if bucket != nil, bytes > ServerLimits.bucketObjectBytesMax {
      mistake(.uploadsBytes, "one object of a bucket has at most \(ServerLimits.bucketObjectBytesMax) bytes")
    }
    return Settings.Uploads(
      bytesMax: Int64(bytes), userBytesMax: Int64(userBytes), userDayBytesMax: Int64(dayBytes),
      lifetime: days == 0 ? nil : .seconds(days * 86_400), endWithMessages: endWithMessages, thumbnails: thumbnails,
      scan: scan, bucket: bucket)
  }

  private mutating func scan() -> Settings.Scan? {
    let clamd = text(.uploadsScanClamd)
    let command = text(.uploadsScanCommand).split(separator: " ").map(String.init)
    let time = Duration.seconds(number(.uploadsScanSeconds, 1...ServerLimits.scanSecondsMax, "seconds"))
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
      return Settings.Scan(scanner: .command(command), time: time, isNeeded: isNeeded)
    case (false, true):
      guard let address = ClamdScanner.Address(clamd) else {
        mistake(.uploadsScanClamd, "the path of a socket, such as /run/clamav/clamd.ctl, or HOST:PORT is expected")
        return nil
      }
      return Settings.Scan(scanner: .clamd(address), time: time, isNeeded: isNeeded)
    }
  }

  private mutating func bucket() -> Settings.Bucket? {
    let store = text(.uploadsStore).lowercased()
    var endpoint = text(.bucketEndpoint)
    while endpoint.hasSuffix("/") { endpoint.removeLast() }
    let bucket = Settings.Bucket(
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
    // What is signed is the path as it stands in the URL: nothing in it needs an escape.
    for (key, value) in [(Key.bucketName, bucket.bucket), (.bucketPrefix, bucket.prefix)]
    where !value.utf8.allSatisfy(Self.isPlain) {
      mistake(key, "outgoingCodes, digits and . _ - / are expected")
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

extension ClamdScanner.Address {
  /// nil: neither a path from the root nor a host and a port.
  init?(_ text: String) {
    if text.hasPrefix("/") {
      self = .unix(text)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port)
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host.isEmpty { return nil }
    self = .tcp(host: String(host), port: port)
  }
}
