import Testing

@testable import ImportSources

@Suite struct LuaParserTests {
  @Test("Prosody's own form of an account") func account() throws {
    var parser = LuaParser(
      Array(
        """
        return {
        \t["server_key"] = "7b9d";
        \t["iteration_count"] = 10000;
        \tsalt = "a\\"b\\\\c\\n\\009\\'";
        \t[false] = { ["version"] = 5; };
        \t{ "x"; "y" };
        \t[2] = true;
        };

        """.utf8))
    let table = try #require(try parser.whole().table)
    #expect(table["server_key"] == .text("7b9d"))
    #expect(table["iteration_count"]?.number == 10_000)
    #expect(table["salt"] == .text("a\"b\\c\n\t'"))
    #expect(table.whole.first?.table?["version"]?.number == 5)
    #expect(table.list.first?.table?.list == [.text("x"), .text("y")])
    #expect(table.list.last == .boolean(true))
  }

  @Test(
    "What is not data is refused with its line",
    arguments: [
      ("", 1), ("return", 1), ("return {", 1), ("return {\n[1] = os.exit();\n}", 2), ("return function() end", 1),
      ("return { [{}] = 1 }", 1), ("return {\n\n\"unfinished\n\" }", 3), ("return { \"\\300\" }", 1),
      ("return { \"\\q\" }", 1), ("return {} return", 1), ("return { a == 1 }", 1), ("return \"\\255\"", 1),
      ("return { a = 1; a = 1 }", 1), ("return { a = 1;\n[\"a\"] = 2 }", 2), ("return { [false] = 1; [false] = 2 }", 1),
      ("return { 1 2 }", 1), ("return 1e", 1), ("return [[long]]", 1), ("local x = 1", 1),
    ]) func refused(_ text: String, _ line: Int)
  {
    var parser = LuaParser(Array(text.utf8))
    let flaw = #expect(throws: LuaFlaw.self) { try parser.whole() }
    #expect(flaw?.line == line)
  }

  @Test("A key is in a table once, however large it is") func keys() throws {
    let many = (0..<10_000).map { "k\($0) = \($0)" }.joined(separator: ";\n")
    var parser = LuaParser(Array("return { \(many) }".utf8))
    #expect(try parser.whole().table?["k9999"]?.number == 9_999)
    parser = LuaParser(Array("return { \(many); k7 = 0 }".utf8))
    #expect(throws: LuaFlaw(line: 10_000, text: "the key k7 is there twice")) { try parser.whole() }
  }

  @Test("Tables that are nested too deeply are refused, and do not exhaust the stack") func depth() {
    let text = "return " + String(repeating: "{", count: 100_000)
    var parser = LuaParser(Array(text.utf8))
    #expect(throws: LuaFlaw.self) { try parser.whole() }
  }

  @Test("A damaged item of a list does not affect the others") func list() throws {
    var parser = LuaParser(Array("item({ 1 });\nitem({ 2\nitem({ 3 });\nnonsense\nitem({ 4 });\n".utf8))
    #expect(try parser.item()?.value.table?.list == [.number(1)])
    let torn = #expect(throws: LuaFlaw.self) { try parser.item() }
    #expect(torn?.line == 3)
    var rest: [LuaValue] = []
    var flaws = 0
    while true {
      do throws(LuaFlaw) {
        guard let item = try parser.item() else { break }
        rest += item.value.table?.list ?? []
      } catch {
        flaws += 1
      }
    }
    #expect(flaws == 1)
    #expect(rest == [.number(3), .number(4)])
  }
}
