import PushServices

/// A key of the configuration: the table behind the reader, `parley check` and the reference file.
public struct Key: Hashable, Sendable {
  /// The syntax of a value.
  public enum Kind: String, Sendable {
    case domain, domains, path, host, port, flag, url, addresses, users, seconds, days, bytes, count, level, choice
    /// A domain that contains `{domain}`.
    case template
    /// Any text.
    case text
    /// A list of name, secret and grants.
    case components
    /// A list of maps.
    case entries
    /// A list; in the environment separated by commas.
    case list
  }

  /// The time at which a changed value takes effect.
  public enum Change: String, Sendable {
    /// At a restart.
    case restart
    /// On SIGHUP; for certificates also without it.
    case reload
  }

  public let name: String
  public let kind: Kind
  /// The default as written in a file; nil if it is derived as described in `meaning`.
  public let fallback: String?
  public let change: Change
  /// A sentence for the reference.
  public let meaning: String
  /// Whether the value is never shown.
  public let isSecret: Bool

  init(_ name: String, _ kind: Kind, _ fallback: String?, _ change: Change, secret: Bool = false, _ meaning: String) {
    self.name = name
    self.kind = kind
    self.fallback = fallback
    self.change = change
    self.isSecret = secret
    self.meaning = meaning
  }

  /// The environment variable: `PARLEY_` and the name in upper case, with underscores for dots.
  public var environmentName: String {
    "PARLEY_" + name.map { $0 == "." ? "_" : $0.uppercased() }.joined()
  }
}

extension Key {
  static let domain = Key(
    "domain", .domain, "localhost", .restart, "The first XMPP domain, and the realm of its users.")
  static let domains = Key(
    "domains", .domains, nil, .restart,
    "Further domains: a list of name, rooms, certificate, key; in the environment names with commas between.")
  static let data = Key(
    "data", .path, "./data", .restart,
    "The folder of the database, the self-signed certificate and the admin socket.")
  static let xmppHost = Key(
    "xmpp.host", .host, "::", .restart, "Where XMPP clients connect to; :: is every address, IPv6 and IPv4.")
  package static let xmppPort = Key(
    "xmpp.port", .port, "5222", .restart, "XMPP with STARTTLS; 0 turns the port off.")
  package static let xmppTLSPort = Key(
    "xmpp.tls_port", .port, "5223", .restart, "XMPP over direct TLS; 0 turns the port off.")
  static let xmppPlaintext = Key(
    "xmpp.plaintext", .flag, "false", .restart,
    "Allow logins without TLS; only where xmpp.host is a loopback address.")
  static let httpHost = Key("http.host", .host, "127.0.0.1", .restart, "Where plain HTTP listens.")
  package static let httpPort = Key(
    "http.port", .port, "8080", .restart, "Plain HTTP, for local use and proxies; 0 turns the port off.")
  static let httpURL = Key(
    "http.url", .url, nil, .restart,
    "The public base URL of the app protocol; unless set, clients are told the address they came by.")
  static let httpAddresses = Key(
    "http.addresses", .addresses, nil, .restart,
    "The server's public IP addresses, with commas between, for clients that ask no DNS (XEP-0487).")
  static let httpsHost = Key("https.host", .host, "::", .restart, "Where HTTPS listens.")
  package static let httpsPort = Key(
    "https.port", .port, "8443", .restart, "HTTPS with the server's certificate; 0 turns the port off.")
  static let tlsCertificate = Key(
    "tls.certificate", .path, nil, .reload,
    "The certificate chain as PEM, re-read when the file changes; without it a self-signed one is made.")
  static let tlsKey = Key("tls.key", .path, nil, .reload, "The certificate's private key as PEM.")
  static let roomsDomain = Key(
    "rooms.domain", .template, "conference.{domain}", .restart, "The domain of group rooms.")
  static let uploadsDomain = Key(
    "uploads.domain", .template, "upload.{domain}", .restart,
    "The domain of the upload service, for XMPP; it needs no record in the DNS.")
  static let uploadsBytes = Key(
    "uploads.bytes", .bytes, "104857600", .restart, "Bytes of one file; 0: no files are taken.")
  static let uploadsUserBytes = Key(
    "uploads.user_bytes", .bytes, "1073741824", .restart, "Bytes of all files of one user.")
  static let uploadsUserDayBytes = Key(
    "uploads.user_day_bytes", .bytes, "536870912", .restart, "Bytes that one user may upload within a day.")
  static let uploadsDays = Key(
    "uploads.days", .days, "365", .restart, "Days that files are kept; 0: for ever.")
  static let uploadsEndWithMessages = Key(
    "uploads.end_with_messages", .flag, "true", .restart,
    "Whether a file goes when the last message with it is taken back.")
  static let uploadsThumbnails = Key(
    "uploads.thumbnails", .flag, "true", .restart,
    "Whether small pictures are made of pictures, and avatars of larger ones; needs vipsthumbnail (libvips-tools).")
  static let uploadsScanClamd = Key(
    "uploads.scan.clamd", .text, nil, .restart,
    "Where clamd listens that scans each file before anybody may read it: a socket's path, or HOST:PORT.")
  static let uploadsScanCommand = Key(
    "uploads.scan.command", .text, nil, .restart,
    "A program that scans instead, with its arguments: it reads the file from standard input and ends with 0 (clean) or 1 "
      + "(refused).")
  static let uploadsScanSeconds = Key(
    "uploads.scan.seconds", .seconds, "60", .restart, "How long scanning one file may take.")
  static let uploadsScanNeeded = Key(
    "uploads.scan.needed", .flag, "true", .restart,
    "Whether files are refused while they cannot be scanned; else they are taken, and the log says so.")
  static let uploadsStore = Key(
    "uploads.store", .choice, "folder", .restart,
    "Where files are kept: folder (the data folder) or s3 (a bucket of an S3-compatible service).")
  static let bucketEndpoint = Key(
    "uploads.s3.endpoint", .url, nil, .restart, "The service's URL, such as https://s3.eu-central-1.amazonaws.com.")
  static let bucketName = Key("uploads.s3.bucket", .text, nil, .restart, "The bucket, which exists.")
  static let bucketRegion = Key(
    "uploads.s3.region", .text, "us-east-1", .restart, "The region that requests are signed for.")
  static let bucketKey = Key("uploads.s3.key", .text, nil, .restart, "The access key's id.")
  static let bucketSecret = Key("uploads.s3.secret", .text, nil, .restart, secret: true, "The access key's secret.")
  static let bucketPrefix = Key(
    "uploads.s3.prefix", .text, nil, .restart, "What the names of all objects begin with, such as parley/.")
  static let bucketInPath = Key(
    "uploads.s3.path_style", .flag, "true", .restart,
    "Whether the bucket is in the URL's path; else it is the first part of its host.")
  static let registration = Key(
    "registration", .flag, "false", .restart, "Whether strangers may make accounts (in-band and POST /v1/users).")
  static let invitations = Key(
    "invitations", .flag, "false", .restart,
    "Whether every user may invite others to an account here (XEP-0401); admins always may.")
  static let guestDomains = Key(
    "guests.domains", .list, nil, .restart,
    "Served domains on which guests may log in without an account (SASL ANONYMOUS).")
  static let guestsMax = Key("guests.max", .count, "1000", .restart, "Guests at a time.")
  static let guestsPerAddress = Key(
    "guests.address_max", .count, "20", .restart, "Guests at a time from one address.")
  static let guestSeconds = Key(
    "guests.seconds", .seconds, "60", .restart, "How long a guest without a session is kept.")
  static let guestRights = Key(
    "guests.may", .list, nil, .restart,
    "What guests may do besides being in open rooms: messages, rooms, memberships, uploads, calls.")
  static let identityBackends = Key(
    "identity.backends", .entries, nil, .restart, secret: true,
    "The app's own backends, which vouch for users by tokens: a list of name, secrets, keys, jwks, domain and signup; in the "
      + "environment name=secret with commas between.")
  static let identityProviders = Key(
    "identity.providers", .entries, nil, .restart,
    "OpenID providers whose ID tokens let users in: a list of name, audiences, issuers, jwks, domain, signup, nonce and "
      + "contacts.")
  static let identityCodes = Key(
    "identity.codes", .entries, nil, .restart, secret: true,
    "Providers without ID tokens (Twitter), whose authorization codes the server redeems (RFC 6749 4.1, RFC 7636): a list of name, "
      + "client_id, client_secret, token_url, user_url, subject, display_name, redirects, domain and signup.")
  static let termsVersion = Key(
    "terms.version", .text, nil, .restart,
    "The version of the app's terms that users are to accept (PUT /v1/users/me/terms); answers tell who has not.")
  static let admins = Key(
    "admins", .users, nil, .restart,
    "Users who may look after the server with their XMPP client (XEP-0133): addresses with commas between, or a list.")
  static let resumeSeconds = Key(
    "resume.seconds", .seconds, "300", .restart, "How long a lost XMPP session may be resumed; 0: not at all.")
  package static let components = Key(
    "components", .components, nil, .restart,
    "Components (XEP-0114): a list of name, secret and grants, which reload; in the environment name=secret with commas "
      + "between.")
  static let componentHost = Key(
    "component.host", .host, "127.0.0.1", .restart, "Where components connect to, without TLS.")
  package static let componentPort = Key(
    "component.port", .port, "5347", .restart, "Where components connect to; closed where there are none.")
  static let turnServers = Key(
    "turn.servers", .list, nil, .restart,
    "STUN and TURN servers that clients are told of: URIs such as turn:relay.example.org:3478?transport=udp.")
  static let turnSecret = Key(
    "turn.secret", .text, nil, .restart, secret: true,
    "Shared with the TURN servers: what coturn calls static-auth-secret.")
  static let turnSeconds = Key(
    "turn.seconds", .seconds, "86400", .restart, "How long the credentials for a TURN server count.")
  static let callsRingSeconds = Key(
    "calls.ring_seconds", .seconds, "60", .restart, "How long a call of an app rings when nobody answers.")
  /// The roles of XEP-0157.
  static let contacts = ["abuse", "admin", "feedback", "sales", "security", "status", "support"].map { role in
    Key("contact.\(role)", .list, nil, .restart, "URIs to reach the server's people at: \(role).")
  }
  static let pushContent = Key(
    "push.content", .choice, "none", .restart,
    "What pushes say of a message: none (that there is one), sender (and from whom) or body (and its text).")
  static let pushResumeSeconds = Key(
    "push.resume_seconds", .seconds, "259200", .restart,
    "How long a lost XMPP session may be resumed whose client can be woken by a push; never less than resume.seconds.")
  package static let pushAPNsKey = Key(
    "push.apns.key", .path, nil, .restart, "Apple's key for pushes (.p8); without it iPhones are not woken.")
  static let pushAPNsKeyID = Key("push.apns.key_id", .text, nil, .restart, "What Apple calls that key: ten characters.")
  static let pushAPNsTeamID = Key(
    "push.apns.team_id", .text, nil, .restart, "The team of Apple's developer account: ten characters.")
  static let pushAPNsTopics = Key(
    "push.apns.topics", .list, nil, .restart,
    "The apps that are woken, by their bundle ids; the first where a device names none.")
  static let pushAPNsURL = Key(
    "push.apns.url", .url, APNs.production, .restart, "Where Apple listens; another for a proxy, and for tests.")
  static let pushAPNsSandboxURL = Key(
    "push.apns.sandbox_url", .url, APNs.sandbox, .restart, "The same for apps that are being developed.")
  package static let pushFCMAccount = Key(
    "push.fcm.account", .path, nil, .restart,
    "The JSON file of a service account of Firebase; without it Android phones are not woken by Google.")
  static let pushFCMURL = Key(
    "push.fcm.url", .url, FCM.standardURL, .restart, "Where Google listens; another for a proxy, and for tests.")
  static let pushWebPush = Key(
    "push.webpush.enabled", .flag, "true", .restart,
    "Whether browsers and UnifiedPush are woken: at public addresses that users give.")
  static let pushWebPushContact = Key(
    "push.webpush.contact", .text, nil, .restart,
    "Whom push services may write to: a mailto: or https: URI; by default http.url.")
  static let pushWebhookURL = Key(
    "push.webhook.url", .url, nil, .restart, "A push gateway of your own, which is asked with signed requests.")
  static let pushWebhookSecret = Key(
    "push.webhook.secret", .text, nil, .restart, secret: true,
    "What they are signed with: whsec_ and 24 to 64 random bytes in base64.")
  static let outgoingNetworks = Key(
    "outgoing.networks", .list, nil, .restart,
    "Networks that URLs given by users may lead to although they are not public, such as 10.0.0.0/8.")
  static let outgoingAuthorities = Key(
    "outgoing.authorities", .path, nil, .restart,
    "A PEM file of the authorities whose certificates other servers must have; by default the system's.")
  static let signupEmail = Key(
    "signup.email", .flag, "false", .restart,
    "Whether somebody nobody knows becomes a user by a code that was mailed to them (grant code).")
  static let signupPhone = Key(
    "signup.phone", .flag, "false", .restart,
    "Whether somebody nobody knows becomes a user by a code that was sent to their telephone (grant code).")
  static let mailServer = Key(
    "mail.server", .text, nil, .restart,
    "The server that takes mail for others: smtps://host:465, or smtp://host:587 with STARTTLS.")
  static let mailUser = Key("mail.user", .text, nil, .restart, "The name to log in to mail.server with.")
  static let mailPassword = Key(
    "mail.password", .text, nil, .restart, secret: true, "The password for mail.user.")
  static let mailFrom = Key("mail.from", .text, nil, .restart, "Whom mails are from: Chat <chat@example.org>.")
  static let mailPlaintext = Key(
    "mail.plaintext", .flag, "false", .restart, "Allow an smtp:// server that offers no STARTTLS.")
  static let mailTemplates = Key(
    "mail.templates", .path, nil, .restart,
    "A folder with code.txt and password-reset.txt, in place of the server's own texts.")
  static let mailResetURL = Key(
    "mail.reset_url", .text, nil, .restart,
    "The page of the app that sets another password; {token} stands for the token. Without it mails tell the token.")
  static let deliveryURL = Key(
    "delivery.url", .text, nil, .restart,
    "Where codes and links are posted to, to be sent on by the app's backend; mails only where mail.server is not set.")
  static let deliverySecret = Key(
    "delivery.secret", .text, nil, .restart, secret: true,
    "Signs those posts as Standard Webhooks: whsec_ and 24 to 64 random bytes in base 64.")
  static let beforeSendURL = Key(
    "before_send.url", .text, nil, .restart,
    "A URL of the backend that is shown every message before it is said, and may change or refuse it; unset: none is.")
  static let beforeSendSecret = Key(
    "before_send.secret", .text, nil, .restart, secret: true,
    "What requests to before_send.url are signed with (Standard Webhooks): whsec_ and 24 to 64 bytes in base 64.")
  static let beforeSendSeconds = Key(
    "before_send.seconds", .seconds, "1", .restart, "How long an author waits for that answer, from 1 to 5.")
  static let beforeSendOnFailure = Key(
    "before_send.on_failure", .choice, "allow", .restart,
    "What becomes of a message that got no answer: allow, or refuse.")
  static let beforeSendEncrypted = Key(
    "before_send.encrypted", .choice, "allow", .restart,
    "What becomes of an encrypted message, which is not shown: allow, or refuse.")
  static let adminSocket = Key(
    "admin.socket", .path, nil, .restart, "The Unix socket of the admin commands; <data>/admin.sock by default.")
  static let logLevel = Key(
    "log.level", .level, "info", .reload, "trace, debug, info, notice, warning, error or critical.")
  static let threads = Key(
    "threads", .count, nil, .restart, "Threads for connections; by default one per core the process may use.")

  /// All keys in the order of the reference file.
  public static let all: [Key] =
    [
      domain, domains, data, xmppHost, xmppPort, xmppTLSPort, xmppPlaintext, httpHost, httpPort, httpURL,
      httpAddresses, httpsHost, httpsPort, tlsCertificate, tlsKey, roomsDomain, uploadsDomain, uploadsBytes,
      uploadsUserBytes, uploadsUserDayBytes, uploadsDays, uploadsEndWithMessages, uploadsThumbnails,
      uploadsScanClamd, uploadsScanCommand, uploadsScanSeconds, uploadsScanNeeded, uploadsStore, bucketEndpoint,
      bucketName, bucketRegion, bucketKey, bucketSecret, bucketPrefix, bucketInPath, registration, invitations,
      guestDomains, guestsMax, guestsPerAddress, guestSeconds, guestRights, termsVersion,
      identityBackends, identityProviders, identityCodes, admins, resumeSeconds, pushContent,
      pushResumeSeconds, pushAPNsKey, pushAPNsKeyID, pushAPNsTeamID, pushAPNsTopics, pushAPNsURL, pushAPNsSandboxURL,
      pushFCMAccount, pushFCMURL, pushWebPush, pushWebPushContact, pushWebhookURL, pushWebhookSecret, components,
      componentHost, componentPort, turnServers, turnSecret,
      turnSeconds, callsRingSeconds,
    ] + contacts + [
      outgoingNetworks, outgoingAuthorities, signupEmail, signupPhone, mailServer, mailUser, mailPassword, mailFrom,
      mailPlaintext, mailTemplates, mailResetURL, deliveryURL, deliverySecret, beforeSendURL, beforeSendSecret,
      beforeSendSeconds, beforeSendOnFailure, beforeSendEncrypted, adminSocket, logLevel, threads,
    ]

  /// The fields of an element of `domains`.
  static let domainFields = ["name", "rooms", "uploads", "certificate", "key"]

  /// The fields of an element of `components`.
  static let componentFields = ["name", "secret", "roster", "roster_push", "message", "iq", "presence", "delegate"]

  /// The fields of an element of `identity.backends`, and of `identity.providers`.
  static let backendFields = ["name", "secrets", "keys", "jwks", "domain", "signup"]
  static let providerFields = ["name", "audiences", "issuers", "jwks", "domain", "signup", "nonce", "contacts"]

  /// The fields of an element of `identity.codes`.
  static let codeFields = [
    "name", "client_id", "client_secret", "token_url", "user_url", "subject", "display_name", "redirects", "domain",
    "signup",
  ]

  /// The keys that are lists of maps, with the fields of their elements; the first is the name.
  static let entryFields: [String: [String]] = [
    domains.name: domainFields, components.name: componentFields, identityBackends.name: backendFields,
    identityProviders.name: providerFields, identityCodes.name: codeFields,
  ]

  /// The fields that may be lists.
  static let listFields: Set<String> = ["iq", "delegate", "secrets", "keys", "issuers", "audiences", "redirects"]

  package static func named(_ name: String) -> Key? { all.first { $0.name == name } }
}
