import Basics
import Testing
import Tracing

@testable import TraceExport

@Suite struct TraceContextTests {
  private static let example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  /// The examples of W3C Trace Context 3.2.
  @Test func aTraceparentIsReadAndWritten() throws {
    let context = try #require(TraceContext(traceparent: Self.example))
    #expect(Hex.string(context.trace) == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(Hex.string(context.span) == "00f067aa0ba902b7")
    #expect(context.isSampled && context.traceparent == Self.example)
    let other = try #require(TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02"))
    #expect(!other.isSampled)
  }

  @Test func aLaterVersionMayHaveMore() {
    #expect(TraceContext(traceparent: "cc" + Self.example.dropFirst(2) + "-what-comes") != nil)
    #expect(TraceContext(traceparent: Self.example + "-what-comes") == nil)
  }

  @Test(arguments: [
    "", "00", "ff" + example.dropFirst(2), "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01", example + "1", " " + example, example + "\n",
    "00-ÄÄ92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  ])
  func whatIsInvalidBeginsANewTrace(text: String) {
    #expect(TraceContext(traceparent: text) == nil)
  }

  @Test func theStateOfCallersIsPassedOnIfItIsOne() {
    #expect(TraceContext(traceparent: Self.example, state: "a=b,c=d")?.state == "a=b,c=d")
    for state in ["", "a=b\r\nevil: 1", String(repeating: "x", count: 513), "ä=1"] {
      #expect(TraceContext(traceparent: Self.example, state: state)?.state == nil)
    }
  }
}
