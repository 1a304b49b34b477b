import Dialogs
import Testing

@testable import Backends

@Suite struct BeforeSendTests {
  @Test(arguments: [
    ("", BeforeSendAnswer.allow), ("{\"action\":\"allow\"}", .allow),
    ("{\"action\":\"change\",\"text\":\"x\"}", .change(text: "x")), ("{\"action\":\"change\"}", .none),
    ("{\"action\":\"change\",\"text\":\"\\u0001\"}", .none),
    ("{\"action\":\"refuse\",\"code\":\"spam\",\"text\":\"No.\"}", .refuse(code: "spam", text: "No.")),
    (
      "{\"action\":\"refuse\"}",
      .refuse(code: "message-refused", text: "This message is not allowed here.")
    ),
    ("{\"action\":\"refuse\",\"code\":\"Not A Slug\"}", .none), ("{\"action\":\"what\"}", .none), ("nonsense", .none),
    ("[]", .none),
  ])
  func answersOfTheBackend(body: String, answer: BeforeSendAnswer) {
    #expect(BeforeSendClient.read(Array(body.utf8)) == answer)
  }
}
