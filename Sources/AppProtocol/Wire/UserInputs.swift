/// What operations on oneself and on users take, beyond `Inputs.swift`.

public struct LocationInput: Codable, Hashable, Sendable {
  public var latitude: Double
  public var longitude: Double
  /// Seconds; absent: an hour.
  public var ttl: Int?
  public init(latitude: Double, longitude: Double, ttl: Int? = nil) {
    self.latitude = latitude
    self.longitude = longitude
    self.ttl = ttl
  }
}

public struct TermsInput: Codable, Hashable, Sendable {
  public var version: String
  public init(version: String) { self.version = version }
}

public struct ContactMatchInput: Codable, Hashable, Sendable {
  /// Each 64 hex digits.
  public var hashes: [String]
  public init(hashes: [String]) { self.hashes = hashes }
}

public struct ExportInput: Codable, Hashable, Sendable {
  public var exportId: String
  public init(exportId: String) { self.exportId = exportId }
}

public struct DeleteMeInput: Codable, Hashable, Sendable {
  /// Whether everything that was said is taken back, too.
  public var erase: Bool?
  public init(erase: Bool? = nil) { self.erase = erase }
}
