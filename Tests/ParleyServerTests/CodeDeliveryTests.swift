import Accounts
import Basics
import Dialogs
import Foundation
import ServerFixtures
import Testing

@testable import CodeTransports
@testable import ServerConfiguration

/// The form of codes and their configuration. `Tests/Clients/accounts_mail.py` tests their delivery.
@Suite struct CodeDeliveryTests {
  private static let time = Timestamp(milliseconds: 1_709_164_800_000)

  private func outgoing(
    _ content: OutgoingCode.Content, to: Identity = Identity(.email, "juliet@capulet.example"), user: String? = "juliet"
  ) -> OutgoingCode {
    OutgoingCode(to: to, content, domain: "localhost", user: user, expires: Self.time + .seconds(600))
  }

  @Test func aLetterIsJSONForTheHook() throws {
    let body = HookCodeTransport.body(of: outgoing(.code("012345")), at: Self.time)
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"type":"code.requested","timestamp":"2024-02-29T00:00:00.000Z","data":{"domain":"localhost","#
        + #""userId":"juliet","email":"juliet@capulet.example","code":"012345","expiresAt":"2024-02-29T00:10:00.000Z"}}"#
    )
    let reset = HookCodeTransport.body(
      of: outgoing(.passwordReset(token: "t"), to: Identity(.phone, "+390458000000"), user: nil), at: Self.time)
    #expect(
      String(decoding: reset, as: UTF8.self)
        == #"{"type":"password-reset.requested","timestamp":"2024-02-29T00:00:00.000Z","data":{"domain":"localhost","#
        + #""phone":"+390458000000","token":"t","expiresAt":"2024-02-29T00:10:00.000Z"}}"#)
    // The id is the same when it is tried again, another for another code, and tells nothing.
    #expect(outgoing(.code("1")).id == outgoing(.code("1")).id && outgoing(.code("1")).id != outgoing(.code("2")).id)
  }

  @Test func aMailHoldsNoMoreThanItSays() throws {
    let from = try #require(Mailbox("Verona, the chat <Chat@B\u{fc}cher.example>"))
    #expect(from.address == "chat@xn--bcher-kva.example")
    for bad in ["", "chat", "Chat <chat@x.example", "<>", "\"x\" <a@b.example>", "a\nBcc: b@c.example <a@b.example>"] {
      #expect(Mailbox(bad) == nil, "\(bad)")
    }
    let message = MailMessage(
      from: from, to: "juliet@capulet.example", subject: "Wherefore\r\nBcc: tybalt@capulet.example",
      body: "R\u{f6}meo\n.\n", id: "i", time: Self.time)
    let text = String(decoding: message.bytes, as: UTF8.self)
    #expect(!text.contains("\r\nBcc") && !text.contains("\n.\r"))
    let parts = text.components(separatedBy: "\r\n\r\n")
    #expect(parts.count == 2 && parts[1] == Data("R\u{f6}meo\r\n.\r\n".utf8).base64EncodedString() + "\r\n")
    #expect(text.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 78 && $0.utf8.allSatisfy { $0 < 0x80 } })
    let long = MailMessage.encoded(String(repeating: "\u{df}", count: 100))
    #expect(long.components(separatedBy: "\r\n ").allSatisfy { $0.utf8.count <= 75 && $0.hasPrefix("=?utf-8?B?") })
    #expect(MailMessage.encoded("=?utf-8?B?x?=") != "=?utf-8?B?x?=")
  }

  @Test func templatesAreFilledOnceAndCheckedAtTheStart() throws {
    let own = MailTemplates().text(for: outgoing(.code("012345")), resetURL: nil, now: Self.time)
    #expect(own.subject == "012345 is your code for localhost" && own.body.contains("within the next 10 minutes"))
    let reset = MailTemplates().text(
      for: outgoing(.passwordReset(token: "T"), user: "{token}"), resetURL: "https://a.example/?t={token}",
      now: Self.time
    )
    #expect(reset.body.contains("https://a.example/?t=T\n") && reset.body.contains("account {token} at"))
    try withScratchFolder { folder in
      try "Dein Code\n\n{code} {other} {domain".write(
        toFile: folder + "/code.txt", atomically: true, encoding: .utf8)
      let text = try MailTemplates(folder: folder).text(for: outgoing(.code("1")), resetURL: nil, now: Self.time)
      #expect(text.subject == "Dein Code" && text.body == "1 {other} {domain")
      try "{code}\n\nnothing".write(toFile: folder + "/code.txt", atomically: true, encoding: .utf8)
      #expect(throws: StartupError.self) { try MailTemplates(folder: folder) }
      try Data([0xff]).write(to: URL(fileURLWithPath: folder + "/code.txt"))
      #expect(throws: StartupError.self) { try MailTemplates(folder: folder) }
    }
  }
}
