import Accounts
import Dialogs
import Logging
import Peers
import PushServices

/// The keys of the configuration, in the order of the reference file `conf/parley.yaml`, which documents them. Each is
/// declared here, with its default and its range, and read at one place of `SettingsReader`.
package struct Keys: Sendable {
  let domain = Key.text("domain", "localhost")
  let domains = Key.entries("domains", ["name", "rooms", "uploads", "pubsub", "certificate", "key"])
  package let data = Key.path("data", "./data")
  let xmppHost = Key.host("xmpp.host", "::")
  package let xmppPort = Key.port("xmpp.port", 5222)
  package let xmppTLSPort = Key.port("xmpp.tls_port", 5223)
  let xmppPlaintext = Key.flag("xmpp.plaintext", false)
  let xmppProxyProtocol = Key.flag("xmpp.proxy_protocol", false)
  let httpHost = Key.host("http.host", "127.0.0.1")
  package let httpPort = Key.port("http.port", 8080)
  let httpURL = Key.text("http.url")
  let httpAddresses = Key.text("http.addresses")
  let httpOrigins = Key.list("http.origins", "*")
  let httpTrustedProxies = Key.list("http.trusted_proxies")
  let httpsHost = Key.host("https.host", "::")
  package let httpsPort = Key.port("https.port", 8443)
  let webClient = Key.flag("web.client", true)
  let boundsByNetwork = Key.flag("limits.by_network", true)
  let tlsCertificate = Key.path("tls.certificate", change: .reload)
  let tlsKey = Key.path("tls.key", change: .reload)
  let acmeEnabled = Key.flag("tls.acme.enabled", false)
  let acmeTermsAgreed = Key.flag("tls.acme.terms_agreed", false)
  let acmeDirectory = Key.text("tls.acme.directory", "letsencrypt")
  let acmeContact = Key.list("tls.acme.contact")
  let acmeEABKeyID = Key.text("tls.acme.eab_key_id")
  package let acmeEABKey = Key.path("tls.acme.eab_key")
  package let acmeAuthorities = Key.path("tls.acme.authorities")
  let roomsDomain = Key.text("rooms.domain", "conference.{domain}")
  let pubsubEnabled = Key.flag("pubsub.enabled", true)
  let pubsubDomain = Key.text("pubsub.domain", "pubsub.{domain}")
  let pubsubCreate = Key.choice("pubsub.create", PubsubServices.Creators.users)
  let uploadsDomain = Key.text("uploads.domain", "upload.{domain}")
  /// The maximum is a terabyte.
  let uploadsBytes = Key.number("uploads.bytes", 104_857_600, 0...(1 << 40), "bytes")
  let uploadsUserBytes = Key.number("uploads.user_bytes", 1_073_741_824, 0...Int.max, "bytes")
  let uploadsUserDayBytes = Key.number("uploads.user_day_bytes", 536_870_912, 0...Int.max, "bytes")
  /// The maximum is a century; 0 means without limit.
  let uploadsDays = Key.number("uploads.days", 365, 0...36_500, "days", change: .reload)
  let uploadsEndWithMessages = Key.flag("uploads.end_with_messages", true)
  let uploadsThumbnails = Key.flag("uploads.thumbnails", true)
  let uploadsScanClamd = Key.text("uploads.scan.clamd")
  let uploadsScanCommand = Key.text("uploads.scan.command")
  /// The maximum is ten minutes, since an upload waits for its scan.
  let uploadsScanSeconds = Key.seconds("uploads.scan.seconds", 60, 1...600)
  let uploadsScanNeeded = Key.flag("uploads.scan.needed", true)
  let uploadsStore = Key.text("uploads.store", "folder")
  let bucketEndpoint = Key.text("uploads.s3.endpoint")
  let bucketName = Key.text("uploads.s3.bucket")
  let bucketRegion = Key.text("uploads.s3.region", "us-east-1")
  let bucketKey = Key.text("uploads.s3.key")
  let bucketSecret = Key.text("uploads.s3.secret", secret: true)
  let bucketPrefix = Key.text("uploads.s3.prefix")
  let bucketInPath = Key.flag("uploads.s3.path_style", true)
  /// The minima let every stanza through within seconds; the maxima are more than a machine handles.
  let sendingStanzas = Key.number(
    "sending.stanzas_per_second", Limits.sendingStanzasPerSecond, 10...1_000_000, "stanzas")
  let sendingBytes = Key.number(
    "sending.bytes_per_second", Limits.sendingBytesPerSecond, 65_536...(1 << 40), "bytes")
  let sendingNetworkStanzas = Key.number(
    "sending.network_stanzas_per_second", Limits.sendingNetworkStanzasPerSecond, 10...10_000_000, "stanzas")
  let sendingNetworkBytes = Key.number(
    "sending.network_bytes_per_second", Limits.sendingNetworkBytesPerSecond, 65_536...(1 << 40), "bytes")
  let sendingDayBytes = Key.number("sending.day_bytes", Int(Limits.sendingDayBytes), 1_048_576...Int.max, "bytes")
  let sendingUnlimited = Key.list("sending.unlimited")
  let registration = Key.flag("registration", false)
  let invitations = Key.flag("invitations", false)
  let guestDomains = Key.list("guests.domains")
  /// The maximum is bounded because each guest is a user in memory and a row.
  let guestsMax = Key.number("guests.max", 1_000, 1...100_000, "guests")
  let guestsPerAddress = Key.number("guests.address_max", 20, 1...100_000, "guests")
  /// The maximum is a day.
  let guestSeconds = Key.seconds("guests.seconds", 60, 0...86_400)
  let guestRights = Key.list("guests.may")
  let termsVersion = Key.text("terms.version")
  let termsURL = Key.text("terms.url")
  let identityBackends = Key.entries(
    "identity.backends", ["name", "secrets", "keys", "jwks", "domain", "signup"], lists: ["secrets", "keys"],
    secrets: ["secrets"])
  let identityProviders = Key.entries(
    "identity.providers", ["name", "audiences", "issuers", "jwks", "domain", "signup", "nonce", "contacts"],
    lists: ["audiences", "issuers"])
  let identityCodes = Key.entries(
    "identity.codes",
    [
      "name", "client_id", "client_secret", "authorize_url", "scope", "token_url", "user_url", "subject",
      "display_name", "redirects", "domain", "signup",
    ], lists: ["redirects"], secrets: ["client_secret"])
  let admins = Key.list("admins")
  /// The maximum is a day.
  let resumeSeconds = Key.seconds("resume.seconds", 300, 0...86_400)
  let pushContent = Key.choice("push.content", PushContent.none)
  /// The maximum is a week, after which the archive serves the client better.
  let pushResumeSeconds = Key.seconds("push.resume_seconds", 259_200, 0...604_800)
  package let pushAPNsKey = Key.path("push.apns.key")
  let pushAPNsKeyID = Key.text("push.apns.key_id")
  let pushAPNsTeamID = Key.text("push.apns.team_id")
  let pushAPNsTopics = Key.list("push.apns.topics")
  let pushAPNsURL = Key.pushURL("push.apns.url", APNs.production)
  let pushAPNsSandboxURL = Key.pushURL("push.apns.sandbox_url", APNs.sandbox)
  package let pushFCMAccount = Key.path("push.fcm.account")
  let pushFCMURL = Key.pushURL("push.fcm.url", FCM.standardURL)
  let pushWebPush = Key.flag("push.webpush.enabled", true)
  let pushWebPushContact = Key.text("push.webpush.contact")
  let pushWebhookURL = Key.pushURL("push.webhook.url")
  let pushWebhookSecret = Key.text("push.webhook.secret", secret: true)
  package let components = Key.entries(
    "components", ["name", "secret", "roster", "roster_push", "message", "iq", "presence", "delegate"],
    lists: ["iq", "delegate"], secrets: ["secret"])
  let componentHost = Key.host("component.host", "127.0.0.1")
  package let componentPort = Key.port("component.port", 5347)
  let federationEnabled = Key.flag("federation.enabled", false)
  let federationHost = Key.host("federation.host", "::")
  package let federationPort = Key.port("federation.port", 5269)
  package let federationTLSPort = Key.port("federation.tls_port", 5270)
  let federationVerify = Key.choice("federation.verify", FederationOptions.Verification.certificate)
  let federationUnverified = Key.list("federation.unverified", change: .reload)
  let federationAllow = Key.list("federation.allow", change: .reload)
  let federationDeny = Key.list("federation.deny", change: .reload)
  let federationAuthorities = Key.path("federation.authorities", change: .reload)
  let federationDNSSEC = Key.choice("federation.dnssec", FederationOptions.DNSSECTrust.auto)
  let federationDNS = Key.list("federation.dns")
  let federationPOSH = Key.flag("federation.posh", false)
  let federationRoutes = Key.entries("federation.routes", ["name", "host", "port", "tls"])
  /// The maximum is a week: an author should learn that a message was not delivered while they remember it.
  let federationGiveUpSeconds = Key.number("federation.give_up_seconds", 3_600, 1...604_800, "seconds")
  let federationIdleSeconds = Key.number("federation.idle_seconds", 1_800, 10...86_400, "seconds")
  let federationAbsentSeconds = Key.number("federation.absent_seconds", 300, 10...86_400, "seconds")
  let federationRooms = Key.choice("federation.rooms", RemoteRoomPolicy.open)
  let federationStrangers = Key.choice("federation.strangers", StrangerPolicy.limit)
  let federationForwardReports = Key.flag("federation.forward_reports", false)
  let federationComponents = Key.flag("federation.components", true)
  let federationBlocklists = Key.list("federation.blocklists")
  let turnServers = Key.list("turn.servers")
  let turnSecret = Key.text("turn.secret", secret: true)
  /// The maximum is a week: credentials with a longer validity would be as good as passwords.
  let turnSeconds = Key.seconds("turn.seconds", 86_400, 60...604_800)
  /// The maximum is ten minutes.
  let callsRingSeconds = Key.seconds("calls.ring_seconds", 60, 1...600)
  /// The roles of XEP-0157.
  let contacts = ["abuse", "admin", "feedback", "sales", "security", "status", "support"].map { role in
    Key.list("contact.\(role)")
  }
  let outageAddresses = Key.list("outage.addresses")
  let outgoingNetworks = Key.list("outgoing.networks")
  package let outgoingAuthorities = Key.path("outgoing.authorities")
  let signupEmail = Key.flag("signup.email", false)
  let signupPhone = Key.flag("signup.phone", false)
  let signupProof = Key.flag("signup.proof", true)
  /// The maximum is more than one machine creates.
  let signupNetworkHour = Key.number(
    "signup.network_hour_max", AccountLimits.networkAccountsPerHour, 1...1_000_000, "accounts")
  let mailServer = Key.text("mail.server")
  let mailUser = Key.text("mail.user")
  let mailPassword = Key.text("mail.password", secret: true)
  let mailFrom = Key.text("mail.from")
  let mailPlaintext = Key.flag("mail.plaintext", false)
  let mailTemplates = Key.path("mail.templates")
  let mailResetURL = Key.text("mail.reset_url")
  let deliveryURL = Key.text("delivery.url")
  let deliverySecret = Key.text("delivery.secret", secret: true)
  let beforeSendURL = Key.text("before_send.url")
  let beforeSendSecret = Key.text("before_send.secret", secret: true)
  /// The maximum is five seconds; after longer waits users send messages twice.
  let beforeSendSeconds = Key.seconds("before_send.seconds", 1, 1...5)
  let beforeSendOnFailure = Key.choice("before_send.on_failure", Permission.allow)
  let beforeSendEncrypted = Key.choice("before_send.encrypted", Permission.allow)
  let backupEvery = Key<Duration>.time("backup.every")
  let backupKeep = Key.number("backup.keep", 7, 1...1_000, "backups")
  let backupStore = Key.choice("backup.store", Settings.Backups.Place.folder)
  package let backupFolder = Key.path("backup.folder")
  let backupBucketEndpoint = Key.text("backup.s3.endpoint")
  let backupBucketName = Key.text("backup.s3.bucket")
  let backupBucketRegion = Key.text("backup.s3.region", "us-east-1")
  let backupBucketKey = Key.text("backup.s3.key")
  let backupBucketSecret = Key.text("backup.s3.secret", secret: true)
  let backupBucketPrefix = Key.text("backup.s3.prefix", "backups/")
  let backupBucketInPath = Key.flag("backup.s3.path_style", true)
  let backupReplicated = Key.flag("backup.replicated", false)
  /// The maximum is a century; 0 means that nothing goes.
  let retentionPrivateDays = Key.number("retention.private_days", 0, 0...36_500, "days", change: .reload)
  let retentionRoomDays = Key.number("retention.room_days", 0, 0...36_500, "days", change: .reload)
  let retentionDomains = Key.entries(
    "retention.domains", ["name", "private_days", "room_days", "file_bytes"], change: .reload)
  let retentionFileBytes = Key.number("retention.file_bytes", 0, 0...Int.max, "bytes", change: .reload)
  let retentionAccountDays = Key.number("retention.account_days", 0, 0...36_500, "days", change: .reload)
  let adminSocket = Key.path("admin.socket")
  let metricsHost = Key.host("metrics.host", "127.0.0.1")
  package let metricsPort = Key.port("metrics.port", 9522)
  package let tracingEndpoint = Key.text("tracing.endpoint")
  let tracingRatio = Key<Double>.ratio("tracing.ratio", "0.1")
  let tracingServiceName = Key.text("tracing.service_name", "parley")
  let logLevel = Key.choice("log.level", Logger.Level.info, change: .reload)
  let logFormat = Key.choice("log.format", Settings.LogFormat.text)
  /// The maximum is more than the cores of any machine.
  let threads = Key.number("threads", nil, 1...1_024, "threads")

  enum Permission: String, CaseIterable { case allow, refuse }

  package static let shared = Keys()

  /// All keys in the order of their declaration.
  package static let all: [any AnyKey] = Mirror(reflecting: shared).children.flatMap { child -> [any AnyKey] in
    (child.value as? any AnyKey).map { [$0] } ?? child.value as? [any AnyKey] ?? []
  }

  package static func named(_ name: String) -> (any AnyKey)? { all.first { $0.name == name } }
}
