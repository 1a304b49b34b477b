extension Settings {
  /// The collector that the server sends its traces to.
  public struct Tracing: Hashable, Sendable {
    /// The URL that spans are posted to (OTLP/HTTP in JSON).
    public let url: String
    /// The share of the traces that are recorded, from 0 to 1.
    public let ratio: Double
    public let serviceName: String
  }
}

extension SettingsReader {
  /// Reads the settings of traces; nil if the server makes none.
  mutating func tracing() -> Settings.Tracing? {
    var endpoint = read(keys.tracingEndpoint)
    let (ratio, name) = (read(keys.tracingRatio), read(keys.tracingServiceName))
    if name.isEmpty || name.utf8.count > ConfigurationLimits.serviceNameBytesMax {
      reject(keys.tracingServiceName, "a name of 1 to \(ConfigurationLimits.serviceNameBytesMax) bytes is expected")
    }
    if endpoint.isEmpty { return nil }
    guard Host.isWebURL(endpoint), !endpoint.contains("@") else {
      reject(keys.tracingEndpoint, "a URL such as http://127.0.0.1:4318 is expected")
      return nil
    }
    // A URL without a path is a collector's, and the path is the protocol's.
    while endpoint.hasSuffix("/") { endpoint.removeLast() }
    let path = endpoint.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst(2)
    return Settings.Tracing(
      url: path.isEmpty ? endpoint + "/v1/traces" : endpoint, ratio: ratio, serviceName: name)
  }
}

extension Key where Value == Double {
  /// Declares a share, a number from 0 to 1.
  static func ratio(_ name: String, _ fallback: String) -> Key {
    Key(name, fallback) { text in
      guard let number = Double(text), (0...1).contains(number) else { return (0, "a number from 0 to 1 is expected") }
      return (number, nil)
    }
  }
}
