import JSON

/// What `GET /v1/info` tells anybody: what this server can do, and its bounds.
struct InfoBody: Hashable, Sendable, JSONObjectWritable {
  struct Bounds: Hashable, Sendable, JSONObjectWritable {
    var textCharacters: Int
    var messageBytes: Int
    var metadataBytes: Int
    var pageItems: Int
    var syncEvents: Int
    var syncWaitSeconds: Int
    /// Of one file; 0: none are taken.
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

  /// `parley`.
  var server: String
  var version: String
  /// `v1`.
  var protocols: [String]
  /// The XMPP domain of this app.
  var domain: String
  var features: [String]
  /// Ways to sign in: values of `grant` in `POST /v1/sessions`.
  var grants: [String]
  /// Whose ID tokens are taken.
  var providers: [String]
  var registration: Bool
  var webSocketUrl: String
  var limits: Bounds
  /// What wakes devices here: providers as `device.put` names them.
  var pushProviders: [String] = []
  /// What browsers subscribe with (`applicationServerKey`); absent: they are not woken.
  var webPushKey: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("server", server)
    writer.member("version", version)
    writer.member("protocols", protocols)
    writer.member("domain", domain)
    writer.member("features", features)
    writer.member("grants", grants)
    writer.member("providers", providers)
    writer.member("registration", registration)
    writer.member("webSocketUrl", webSocketUrl)
    writer.member("limits", limits)
    writer.member("pushProviders", pushProviders)
    writer.member("webPushKey", webPushKey)
  }
}
