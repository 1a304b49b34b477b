/// A bucket of an S3-compatible service, and the key to it.
public struct BucketOptions: Hashable, Sendable {
  /// A URL without a slash at its end.
  package let endpoint: String
  package let bucket: String
  package let region: String
  package let key: String
  package let secret: String
  /// What the names of all objects begin with.
  package let prefix: String
  /// The bucket is the first part of the path, not of the host.
  package let isInPath: Bool

  package init(
    endpoint: String, bucket: String, region: String, key: String, secret: String, prefix: String, isInPath: Bool
  ) {
    self.endpoint = endpoint
    self.bucket = bucket
    self.region = region
    self.key = key
    self.secret = secret
    self.prefix = prefix
    self.isInPath = isInPath
  }

  /// The bucket's own URL.
  var base: String {
    guard !isInPath, let slashes = endpoint.firstRange(of: "://") else { return endpoint + "/" + bucket }
    return endpoint[..<slashes.upperBound] + bucket + "." + endpoint[slashes.upperBound...]
  }
}
