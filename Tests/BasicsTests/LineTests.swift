import Basics
import Testing

@Suite struct LineTests {
  @Test(arguments: [
    ("Romeo", "Romeo"), ("Ro\u{1b}[2Jmeo\n", "Ro\\u{1b}[2Jmeo\\n"), ("a\u{202e}b\u{2069}", "a\\u{202e}b\\u{2069}"),
    // Names that look equal are not.
    ("Ro\u{200b}meo\u{ad}", "Ro\\u{200b}meo\\u{ad}"), ("می\u{200c}خواهم 👩\u{200d}🚀", "می\u{200c}خواهم 👩\u{200d}🚀"),
  ])
  func whatCannotBeSeenIsEscaped(_ text: String, _ line: String) { #expect(Line.safe(text) == line) }
}
