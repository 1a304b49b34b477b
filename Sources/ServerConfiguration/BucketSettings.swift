import FileStorage

/// The keys of a bucket, which users' files and backups have.
struct BucketKeys {
  let endpoint: Key<String>
  let name: Key<String>
  let region: Key<String>
  let key: Key<String>
  let secret: Key<String>
  let prefix: Key<String>
  let isInPath: Key<Bool>
}

extension Keys {
  var uploadsBucket: BucketKeys {
    BucketKeys(
      endpoint: bucketEndpoint, name: bucketName, region: bucketRegion, key: bucketKey, secret: bucketSecret,
      prefix: bucketPrefix, isInPath: bucketInPath)
  }

  var backupBucket: BucketKeys {
    BucketKeys(
      endpoint: backupBucketEndpoint, name: backupBucketName, region: backupBucketRegion, key: backupBucketKey,
      secret: backupBucketSecret, prefix: backupBucketPrefix, isInPath: backupBucketInPath)
  }
}

extension SettingsReader {
  mutating func bucket(_ keys: BucketKeys) -> BucketOptions {
    var endpoint = read(keys.endpoint)
    while endpoint.hasSuffix("/") { endpoint.removeLast() }
    return BucketOptions(
      endpoint: endpoint, bucket: read(keys.name), region: read(keys.region), key: read(keys.key),
      secret: read(keys.secret), prefix: read(keys.prefix), isInPath: read(keys.isInPath))
  }

  /// Records what a bucket lacks.
  ///
  /// - Parameter reason: Why it has to be complete.
  mutating func check(_ bucket: BucketOptions, _ keys: BucketKeys, because reason: String) {
    if !bucket.endpoint.hasPrefix("https://"),
      !bucket.endpoint.hasPrefix("http://") || bucket.endpoint.contains(where: \.isWhitespace)
    {
      reject(keys.endpoint, "a URL such as https://s3.eu-central-1.amazonaws.com is expected")
    }
    for (key, value) in [
      (keys.name, bucket.bucket), (keys.region, bucket.region), (keys.key, bucket.key), (keys.secret, bucket.secret),
    ] where value.isEmpty { reject(key, "it is missing: \(reason)") }
    checkNames(bucket, keys)
  }

  /// Records characters that would need escaping: the signature covers the path as it is in the URL.
  mutating func checkNames(_ bucket: BucketOptions, _ keys: BucketKeys) {
    for (key, value) in [(keys.name, bucket.bucket), (keys.prefix, bucket.prefix)]
    where !value.utf8.allSatisfy(Self.isPlain) {
      reject(key, "letters, digits and . _ - / are expected")
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d...0x2f, 0x5f: true
    default: false
    }
  }
}
