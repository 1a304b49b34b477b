import Basics
public import Dialogs
public import WebClient

extension Settings {
  /// The delivery of codes and links, and the issuers of addresses that may create users.
  public struct Delivery: Hashable, Sendable {
    public struct Mail: Hashable, Sendable {
      public let server: MailClient.Server
      public let from: Mailbox
      /// The folder of templates; nil for the standard texts.
      public let templates: String?
      public let resetURL: String?
    }
    public struct Hook: Hashable, Sendable {
      public let url: String
      public let signer: WebhookSigner
    }
    public var mail: Mail?
    public var hook: Hook?
    /// The kinds of addresses whose owner may sign up.
    public var newcomers: Set<Dialogs.Identity.Issuer> = []
  }
}

extension SettingsReader {
  mutating func delivery() -> Settings.Delivery {
    var delivery = Settings.Delivery(mail: mail(), hook: hook())
    if read(keys.signupEmail) { delivery.newcomers.insert(.email) }
    if read(keys.signupPhone) { delivery.newcomers.insert(.phone) }
    if delivery.newcomers.contains(.email), delivery.mail == nil, delivery.hook == nil {
      reject(keys.signupEmail, "codes cannot be sent: neither mail.server nor delivery.url is set")
    }
    if delivery.newcomers.contains(.phone), delivery.hook == nil {
      reject(keys.signupPhone, "codes cannot be sent: delivery.url is not set")
    }
    return delivery
  }

  private mutating func mail() -> Settings.Delivery.Mail? {
    let (url, user, password) = (read(keys.mailServer), read(keys.mailUser), read(keys.mailPassword))
    let (written, templates, resetURL) = (read(keys.mailFrom), read(keys.mailTemplates), read(keys.mailResetURL))
    let allowsPlaintext = read(keys.mailPlaintext)
    if url.isEmpty { return nil }
    let rest = url.hasPrefix("smtps://") ? url.dropFirst(8) : url.hasPrefix("smtp://") ? url.dropFirst(7) : ""
    if rest.isEmpty || !rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
      || rest.contains(where: { "@/?#".contains($0) })
    {
      reject(keys.mailServer, "a mail server such as smtps://mail.example.org:465 is expected")
    }
    if user.isEmpty != password.isEmpty {
      reject(user.isEmpty ? keys.mailPassword : keys.mailUser, "set both mail.user and mail.password, or neither")
    }
    guard let from = Mailbox(written) else {
      reject(keys.mailFrom, "mail.server requires an address such as Chat <chat@example.org>")
      return nil
    }
    if !resetURL.isEmpty, !Host.isWebURL(resetURL) || !resetURL.contains("{token}") {
      reject(keys.mailResetURL, "a URL such as https://app.example.org/reset?token={token} is expected")
    }
    return Settings.Delivery.Mail(
      server: MailClient.Server(
        url: url, user: user.isEmpty ? nil : user, password: password.isEmpty ? nil : password,
        allowsPlaintext: allowsPlaintext),
      from: from, templates: templates.isEmpty ? nil : templates,
      resetURL: resetURL.isEmpty ? nil : resetURL)
  }

  private mutating func hook() -> Settings.Delivery.Hook? {
    let (url, secret) = (read(keys.deliveryURL), read(keys.deliverySecret))
    if url.isEmpty { return nil }
    if !Host.isWebURL(url) { reject(keys.deliveryURL, "a URL such as https://api.example.org/parley is expected") }
    guard let signer = WebhookSigner(secret: secret) else {
      rejectSecret(keys.deliverySecret, of: keys.deliveryURL)
      return nil
    }
    return Settings.Delivery.Hook(url: url, signer: signer)
  }
}
