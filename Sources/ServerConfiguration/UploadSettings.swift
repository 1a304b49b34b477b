import FileStorage

/// Reads the settings of uploads, scans and buckets.
extension SettingsReader {
  mutating func uploads() -> Settings.Uploads? {
    let bytes = read(keys.uploadsBytes)
    let userBytes = read(keys.uploadsUserBytes)
    let dayBytes = read(keys.uploadsUserDayBytes)
    let days = read(keys.uploadsDays)
    let endWithMessages = read(keys.uploadsEndWithMessages)
    let thumbnails = read(keys.uploadsThumbnails)
    let scan = scan()
    let bucket = bucket()
    if bytes == 0 { return nil }
    if userBytes < bytes { reject(keys.uploadsUserBytes, "it must be at least uploads.bytes, the bytes of one file") }
    if dayBytes < bytes { reject(keys.uploadsUserDayBytes, "it must be at least uploads.bytes, the bytes of one file") }
    if bucket != nil, bytes > ConfigurationLimits.bucketObjectBytesMax {
      reject(keys.uploadsBytes, "one object of a bucket has at most \(ConfigurationLimits.bucketObjectBytesMax) bytes")
    }
    return Settings.Uploads(
      bytesMax: Int64(bytes), userBytesMax: Int64(userBytes), userDayBytesMax: Int64(dayBytes),
      lifetime: days == 0 ? nil : .seconds(days * 86_400), endWithMessages: endWithMessages, thumbnails: thumbnails,
      scan: scan, bucket: bucket)
  }

  private mutating func scan() -> ScanOptions? {
    let clamd = read(keys.uploadsScanClamd)
    let command = read(keys.uploadsScanCommand).split(separator: " ").map(String.init)
    let time = read(keys.uploadsScanSeconds)
    let isNeeded = read(keys.uploadsScanNeeded)
    switch (clamd.isEmpty, command.isEmpty) {
    case (true, true): return nil
    case (false, false):
      reject(keys.uploadsScanCommand, "uploads.scan.clamd is set, too; only one of them can scan")
      return nil
    case (true, false):
      guard command[0].hasPrefix("/") else {
        reject(
          keys.uploadsScanCommand, "the absolute path of a program and its arguments are expected, separated by spaces")
        return nil
      }
      return ScanOptions(scanner: .command(command), time: time, isNeeded: isNeeded)
    case (false, true):
      guard let address = ClamdAddress(clamd) else {
        reject(keys.uploadsScanClamd, "the path of a socket, such as /run/clamav/clamd.ctl, or HOST:PORT is expected")
        return nil
      }
      return ScanOptions(scanner: .clamd(address), time: time, isNeeded: isNeeded)
    }
  }

  private mutating func bucket() -> BucketOptions? {
    let store = read(keys.uploadsStore).lowercased()
    let bucket = bucket(keys.uploadsBucket)
    guard store == "s3" else {
      if store != "folder" { reject(keys.uploadsStore, "folder or s3 is expected") }
      return nil
    }
    check(bucket, keys.uploadsBucket, because: "uploads.store is s3")
    return bucket
  }
}
