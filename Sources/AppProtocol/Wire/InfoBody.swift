/// What `GET /v1/info` tells anybody: what this server can do, and its bounds.
public struct InfoBody: Codable, Hashable, Sendable, JSONWritable {
  public struct Bounds: Codable, Hashable, Sendable, JSONWritable {
    public var textCharacters: Int
    public var messageBytes: Int
    public var metadataBytes: Int
    public var pageItems: Int
    public var syncEvents: Int
    public var syncWaitSeconds: Int
    /// Of one file; 0: none are taken.
    public var attachmentBytes: Int64

    public init(
      textCharacters: Int, messageBytes: Int, metadataBytes: Int, pageItems: Int, syncEvents: Int,
      syncWaitSeconds: Int, attachmentBytes: Int64
    ) {
      self.attachmentBytes = attachmentBytes
      self.textCharacters = textCharacters
      self.messageBytes = messageBytes
      self.metadataBytes = metadataBytes
      self.pageItems = pageItems
      self.syncEvents = syncEvents
      self.syncWaitSeconds = syncWaitSeconds
    }

    public func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("textCharacters", textCharacters)
      writer.member("messageBytes", messageBytes)
      writer.member("metadataBytes", metadataBytes)
      writer.member("pageItems", pageItems)
      writer.member("syncEvents", syncEvents)
      writer.member("syncWaitSeconds", syncWaitSeconds)
      writer.member("attachmentBytes", attachmentBytes)
      writer.endObject()
    }
  }

  /// `parley`.
  public var server: String
  public var version: String
  /// `v1`.
  public var protocols: [String]
  /// The XMPP domain of this app.
  public var domain: String
  public var features: [String]
  /// Ways to sign in: values of `grant` in `POST /v1/sessions`.
  public var grants: [String]
  /// Whose ID tokens are taken.
  public var providers: [String]
  public var registration: Bool
  public var webSocketUrl: String
  public var limits: Bounds
  /// What wakes devices here: providers as `device.put` names them.
  public var pushProviders: [String]
  /// What browsers subscribe with (`applicationServerKey`); absent: they are not woken.
  public var webPushKey: String?

  public init(
    server: String, version: String, protocols: [String], domain: String, features: [String], grants: [String],
    providers: [String], registration: Bool, webSocketUrl: String, limits: Bounds, pushProviders: [String] = [],
    webPushKey: String? = nil
  ) {
    self.pushProviders = pushProviders
    self.webPushKey = webPushKey
    self.server = server
    self.version = version
    self.protocols = protocols
    self.domain = domain
    self.features = features
    self.grants = grants
    self.providers = providers
    self.registration = registration
    self.webSocketUrl = webSocketUrl
    self.limits = limits
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
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
    writer.endObject()
  }
}
