import JSON

/// The answer of `GET /v1/info` for anyone: the server's features and limits.
struct InfoBody: Hashable, Sendable, JSONObjectWritable {
  struct Bounds: Hashable, Sendable, JSONObjectWritable {
    var textCharacters: Int
    var messageBytes: Int
    var metadataBytes: Int
    var pageItems: Int
    var syncEvents: Int
    var syncWaitSeconds: Int
    /// The most bytes of one file; 0 if uploads are off.
    var attachmentBytes: Int64

    func writeMembers(to writer: inout JSONWriter) {
      writer.member("textCharacters", textCharacters)
      writer.member("messageBytes", messageBytes)
      writer.member("metadataBytes", metadataBytes)
      writer.member("pageItems", pageItems)
      writer.member("syncEvents", syncEvents)
      writer.member("syncWaitSeconds", syncWaitSeconds)
      writer.member("attachmentBytes", attachmentBytes)
    }
  }

  /// The place where users of a provider get an authorization code (RFC 6749 3.1).
  struct Authorization: Hashable, Sendable, JSONObjectWritable {
    /// One of `providers`.
    var provider: String
    var url: String
    var clientId: String
    var scope: String?
    var redirectUris: [String]

    func writeMembers(to writer: inout JSONWriter) {
      writer.member("provider", provider)
      writer.member("url", url)
      writer.member("clientId", clientId)
      writer.member("scope", scope)
      writer.member("redirectUris", redirectUris)
    }
  }

  /// The name of the software, `parley`.
  var server: String
  var version: String
  /// The protocol versions: `v1`.
  var protocols: [String]
  /// The XMPP domain of this app.
  var domain: String
  var features: [String]
  /// The ways to sign in: values of `grant` in `POST /v1/sessions`.
  var grants: [String]
  /// The providers whose ID tokens or codes are accepted.
  var providers: [String]
  var authorizationEndpoints: [Authorization] = []
  var registration: Bool
  var webSocketUrl: String
  var limits: Bounds
  /// The push providers, as named by `device.put`.
  var pushProviders: [String] = []
  /// The key that browsers subscribe with (`applicationServerKey`); absent without Web Push.
  var webPushKey: String?
  /// The page with the terms of use; absent if there is none.
  var termsUrl: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("server", server)
    writer.member("version", version)
    writer.member("protocols", protocols)
    writer.member("domain", domain)
    writer.member("features", features)
    writer.member("grants", grants)
    writer.member("providers", providers)
    writer.member("authorizationEndpoints", authorizationEndpoints)
    writer.member("registration", registration)
    writer.member("webSocketUrl", webSocketUrl)
    writer.member("limits", limits)
    writer.member("pushProviders", pushProviders)
    writer.member("webPushKey", webPushKey)
    writer.member("termsUrl", termsUrl)
  }
}
