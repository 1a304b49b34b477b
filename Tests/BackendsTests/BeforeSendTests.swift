import Basics
import Dialogs
import Testing

@testable import Backends

@Suite struct BeforeSendTests {
  @Test(arguments: [
    ("", BeforeSendAnswer.allow), ("{\"action\":\"allow\"}", .allow),
    ("{\"action\":\"change\",\"text\":\"x\"}", .change(text: "x")),
    ("{\"action\":\"refuse\",\"code\":\"spam\",\"text\":\"No.\"}", .refuse(code: "spam", text: "No.")),
    (
      "{\"action\":\"refuse\"}",
      .refuse(code: "message-refused", text: "This message is not allowed here.")
    ),
  ])
  func answersOfTheBackend(body: String, answer: BeforeSendAnswer) throws {
    #expect(try BeforeSendClient.read(Array(body.utf8)) == answer)
  }

  @Test(arguments: [
    ("{\"action\":\"change\"}", "text of the change"),
    ("{\"action\":\"change\",\"text\":\"\\u0001\"}", "text of the change"),
    ("{\"action\":\"refuse\",\"code\":\"Not A Slug\"}", "code of the refusal"),
    ("{\"action\":\"refuse\",\"text\":\"\\u0001\"}", "text of the refusal"),
    ("{\"action\":\"what\"}", "action is none"), ("{}", "action is none"), ("[]", "action is none"),
    ("nonsense", "the answer is not JSON"),
  ])
  func anAnswerThatCannotBeUsedHasAReason(body: String, reason: String) {
    let unanswered = #expect(throws: BeforeSendClient.Unanswered.self) { try BeforeSendClient.read(Array(body.utf8)) }
    #expect(unanswered?.reason.hasPrefix(reason) == true)
  }

  @Test func theLogHasALineForEachReasonAndOneForTheNextAnswer() {
    let lines = LogLines()
    let watch = AnswerWatch(
      url: "https://user:secret@backend.example:8443/path?key=1", passes: true,
      logger: lines.logger)
    watch.answered()
    #expect(watch.failure == nil && lines.all.isEmpty)
    let (start, effect) = (Timestamp(milliseconds: 0), "messages are sent unchecked (before_send.on_failure: allow)")
    for second in 0..<100 { watch.failed("Timeout was reached", at: start + .seconds(second)) }
    #expect(watch.failure == "Timeout was reached, since \(start); \(effect)")
    watch.failed("status 500", at: start + .seconds(100))
    #expect(watch.failure == "status 500, since \(start); \(effect)")
    watch.answered()
    watch.answered()
    #expect(watch.failure == nil)
    let said = [
      "warning | before_send was not answered; \(effect) | backend.example:8443 | Timeout was reached",
      "warning | before_send was not answered; \(effect) | backend.example:8443 | status 500",
      "notice | before_send is answered again | backend.example:8443",
    ]
    #expect(lines.all == said)
    // A backend that answers now and then does not fill the log.
    for _ in 0..<100 {
      watch.failed("status 500", at: start)
      watch.answered()
    }
    #expect(lines.all == said)
  }
}
