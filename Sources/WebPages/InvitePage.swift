package import Accounts
import Addresses
import Administration
import Basics
import Dialogs
package import HTTPPort
import HTTPTypes
import Hummingbird
package import Logging
import NIOCore

/// The landing page of an invitation (XEP-0379 3.3, XEP-0401 4.1.3): the inviter, the link for the client, clients, and
/// a form that creates the account. A GET does not use up the invitation, since link previews fetch it.
package struct InvitePage: Sendable {
  let accounts: Accounts
  private var parley: Parley { accounts.parley }
  /// Whether the web client is at `/` of the same port.
  let leadsToWebClient: Bool
  let logger: Logger

  package init(accounts: Accounts, leadsToWebClient: Bool = false, logger: Logger) {
    self.accounts = accounts
    self.leadsToWebClient = leadsToWebClient
    self.logger = logger
  }

  package var site: HTTPSite {
    HTTPSite(routes: [
      HTTPRoute(.get, "/invite/{token}") { request, context in
        try await answer(request, context) { (token, peer) throws(Problem) in try await show(token, to: peer) }
      },
      HTTPRoute(.post, "/invite/{token}") { request, context in
        let body: ByteBuffer
        do {
          body = try await context.body(of: request, upTo: WebPageLimits.formBytesMax)
        } catch {
          return Self.notice(.contentTooLarge, "Too much", "This form is larger than any name and password.").response
        }
        let fields = Form.fields(String(buffer: body))
        return try await answer(request, context) { (token, peer) throws(Problem) in
          try await register(token, fields["username"] ?? "", fields["password"] ?? "", from: peer)
        }
      },
    ])
  }

  private func answer(
    _ request: Request, _ context: HTTPContext, _ page: (String, HTTPPeer) async throws(Problem) -> HTMLPage
  ) async throws -> Response {
    let peer = context.peer(of: request)
    let token = context.parameters.get("token") ?? ""
    do throws(Problem) {
      try accounts.pace(.invite(network: peer.address))
      return try await page(token, peer).response
    } catch {
      let isBusy = error.kind == .tooFast
      var response = Self.notice(
        isBusy ? .tooManyRequests : .serviceUnavailable, isBusy ? "Too fast" : "Not now", error.text
      ).response
      if let seconds = error.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
      return response
    }
  }

  // MARK: Actions

  private func show(_ token: String, to peer: HTTPPeer) async throws(Problem) -> HTMLPage {
    switch try await find(token) {
    case .open(let open):
      Self.page(open, token: token, allowsForm: peer.isPrivate, leadsToWebClient: leadsToWebClient)
    case .closed(let page): page
    }
  }

  private func register(
    _ token: String, _ name: String, _ password: String, from peer: HTTPPeer
  ) async throws(Problem) -> HTMLPage {
    let open: Invites.Open
    switch try await find(token) {
    case .open(let found): open = found
    case .closed(let page): return page
    }
    guard open.makesAccount, peer.isPrivate else {
      return Self.notice(
        .forbidden, "Not here", "No account can be made on this page. Use the link with an XMPP client.")
    }
    func again(_ problem: Problem, _ status: HTTPResponse.Status) -> HTMLPage {
      Self.page(
        open, token: token, allowsForm: true, leadsToWebClient: leadsToWebClient, name: name, problem: problem.text,
        status: status)
    }
    guard let address = try? BareJID(local: name, domain: open.realm.domain) else {
      return again(
        Problem(.malformed, "username-malformed", "This username cannot be used. Try letters and digits."),
        .unprocessableContent)
    }
    do throws(Problem) {
      try accounts.pace(.registration(network: peer.address))
      let user = try await accounts.register(address, password: password, displayName: nil, invite: open.invite)
      logger.info("registered", metadata: ["user": "\(user.address)", "peer": "\(peer.address)", "invited": "true"])
      return Self.success(user.address, open, leadsToWebClient: leadsToWebClient)
    } catch {
      switch error.kind {
      case .conflict: return again(error, .conflict)
      case .malformed, .forbidden, .tooLarge: return again(error, .unprocessableContent)
      // The invitation was used concurrently.
      case .missing: return Self.used
      case .unauthenticated, .unsupported, .unreachable, .blocked, .foreign, .tooFast, .overloaded, .internal, .refused:
        throw error
      }
    }
  }

  private enum Found {
    case open(Invites.Open)
    case closed(HTMLPage)
  }

  private func find(_ token: String) async throws(Problem) -> Found {
    guard let open = try await Invites(parley).find(token: token) else {
      return .closed(
        Self.notice(
          .notFound, "No such invitation",
          "There is no invitation at this address. Check that the link is complete, or ask for another one."))
    }
    switch open.state {
    case .open: return .open(open)
    case .used: return .closed(Self.used)
    case .expired:
      return .closed(Self.notice(.gone, "Too late", "This invitation has expired. Ask for another one."))
    }
  }

  // MARK: Appearance

  private static let used = notice(
    .gone, "Already used", "Somebody has used this invitation already: it can be used once. Ask for another one.")

  private static func notice(_ status: HTTPResponse.Status, _ title: String, _ text: String) -> HTMLPage {
    HTMLPage(
      status: status, title: title,
      body: "<section><h1>\(HTMLPage.escaped(title))</h1><p>\(HTMLPage.escaped(text))</p></section>")
  }

  static func page(
    _ open: Invites.Open, token: String, allowsForm: Bool, leadsToWebClient: Bool = false, name: String = "",
    problem: String? = nil, status: HTTPResponse.Status = .ok
  ) -> HTMLPage {
    let domain = HTMLPage.escaped(open.realm.domain)
    let uri = HTMLPage.escaped(open.uri(token: token))
    let title: String
    let lead: String
    if let inviter = open.inviter {
      let shown = HTMLPage.escaped(inviter.profile.displayName.flatMap { ShownText.name($0) } ?? inviter.name)
      title = "<bdi>\(shown)</bdi> invites you to chat"
      lead = "<p>You become a contact of <span class=\"address\">\(HTMLPage.escaped("\(inviter.address)"))</span>.</p>"
    } else {
      title = "You are invited to \(domain)"
      lead = "<p>Create an account on <span class=\"address\">\(domain)</span>.</p>"
    }
    let when = HTMLPage.escaped(day(open.invite.expires))
    var body = """
      <section><h1>\(title)</h1>\(lead)
      <p><a class="button" href="\(uri)">Open in your chat app</a></p>
      <p class="soft">The button needs an app that speaks XMPP; there are some below. \
      This invitation can be used once, until \(when).</p></section>
      """
    if open.makesAccount, allowsForm {
      if leadsToWebClient {
        body += "<section><p><a class=\"button\" href=\"/#/invite/\(token)\">Chat in this browser</a></p></section>"
      }
      body += form(open, domain: domain, name: name, problem: problem)
    }
    body += """
      <section><h2>Apps</h2>\(clients)<p class="soft">Any app for XMPP will do. Not expecting this? You can \
      ignore it.</p></section>
      """
    return HTMLPage(status: status, title: "Invitation to \(open.realm.domain)", body: body)
  }

  private static func form(_ open: Invites.Open, domain: String, name: String, problem: String?) -> String {
    let fixed = open.invite.name
    return """
      <section><h2>Or create your account here</h2>
      \(problem.map { "<p class=\"bad\" role=\"alert\">\(HTMLPage.escaped($0))</p>" } ?? "")
      <form method="post" autocomplete="on">
      <label for="username">Username</label>
      <input id="username" name="username" required maxlength="255" autocapitalize="none" autocomplete="username" \
      spellcheck="false" value="\(HTMLPage.escaped(fixed ?? name))"\(fixed == nil ? "" : " readonly")>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" required maxlength="1023" autocomplete="new-password">
      <button>Create an account</button></form>
      <p class="soft">Your address will be <span class="address">\
      \(HTMLPage.escaped(fixed ?? "username"))@\(domain)</span>.</p></section>
      """
  }

  private static func success(_ address: BareJID, _ open: Invites.Open, leadsToWebClient: Bool) -> HTMLPage {
    let contact = open.inviter.map {
      "<p><span class=\"address\">\(HTMLPage.escaped("\($0.address)"))</span> is your first contact.</p>"
    }
    return HTMLPage(
      status: .created, title: "Welcome",
      body: """
        <section><h1>Welcome</h1><p>Your address is <span class="address">\(HTMLPage.escaped("\(address)"))</span>.</p>
        \(contact ?? "")\(leadsToWebClient ? "<p><a class=\"button\" href=\"/\">Open the chat</a></p>" : "")<p>Log in with it, and with the password that you have just chosen, in one of these apps.</p></section>
        <section><h2>Apps</h2>\(clients)</section>
        """)
  }

  /// A maintained client for each platform, by name; their own pages link to downloads.
  private static let clients: String = {
    let all = [
      ("Android", [("Conversations", "https://conversations.im/"), ("Cheogram", "https://cheogram.com/")]),
      ("iPhone, iPad, Mac", [("Monal", "https://monal-im.org/"), ("Siskin", "https://siskin.im/")]),
      ("Windows", [("Gajim", "https://gajim.org/")]),
      ("Linux", [("Dino", "https://dino.im/"), ("Gajim", "https://gajim.org/")]),
      ("Terminal", [("profanity", "https://profanity-im.github.io/")]),
      ("Browser", [("Converse.js", "https://conversejs.org/")]),
    ]
    let items = all.map { platform, clients in
      "<li>\(platform): "
        + clients.map { "<a href=\"\($0.1)\" rel=\"noreferrer\">\($0.0)</a>" }.joined(separator: ", ") + "</li>"
    }
    return "<ul>\(items.joined())</ul>"
  }()

  /// Formats a time such as `2026-01-31 12:00 UTC`.
  private static func day(_ time: Timestamp) -> String {
    let text = time.description
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
  }
}

/// A form in `application/x-www-form-urlencoded`, as sent by browsers (URL Standard 5.1).
enum Form {
  /// Parses the fields. The last of a name applies; invalid UTF-8 is skipped.
  static func fields(_ text: String) -> [String: String] {
    var fields: [String: String] = [:]
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(parts[0]), let value = decoded(parts.count > 1 ? parts[1] : "") else { continue }
      fields[name] = value
    }
    return fields
  }

  private static func decoded(_ text: Substring) -> String? {
    PercentEncoding.decode(String(text.map { $0 == "+" ? " " : $0 }))
  }
}
