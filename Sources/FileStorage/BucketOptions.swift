/// A bucket of an S3-compatible service, with its credentials.
public struct BucketOptions: Hashable, Sendable {
  /// The service's URL without a trailing slash.
  package let endpoint: String
  package let bucket: String
  package let region: String
  package let key: String
  package let secret: String
  /// The prefix of all object names.
  package let prefix: String
  /// Whether the bucket is the first part of the path instead of the host.
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

  /// The bucket's URL.
  var base: String {
    guard !isInPath, let slashes = endpoint.firstRange(of: "://") else { return endpoint + "/" + bucket }
    return endpoint[..<slashes.upperBound] + bucket + "." + endpoint[slashes.upperBound...]
  }
}
