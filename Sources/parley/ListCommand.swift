import Administration
import ArgumentParser

/// A command that prints all rows of a list, which it reads page by page.
protocol ListCommand: AsyncParsableCommand {
  associatedtype Operation: AdminOperation where Operation.Output: RowPage
  /// The table without rows.
  static var table: TextTable { get }
  /// The text that is printed if there are no rows.
  static var none: String { get }
  /// The same text, if it depends on the data.
  func none(in context: CommandContext) -> String
  /// Whether further pages are read after the first one.
  static var readsAllPages: Bool { get }
  var options: CommandOptions { get }
  func input(in context: CommandContext, after cursor: Operation.Output.Cursor?) -> Operation.Input
  func cells(_ row: Operation.Output.Row) -> [String]
}

extension ListCommand {
  static var readsAllPages: Bool { true }

  func none(in context: CommandContext) -> String { Self.none }

  func run() async throws { try await perform() }

  func perform() async throws {
    try await options.withData { context in
      var rows: [Operation.Output.Row] = []
      var cursor: Operation.Output.Cursor?
      repeat {
        let page = try await context.call(Operation.self, input(in: context, after: cursor))
        rows += page.items
        cursor = page.nextCursor
      } while cursor != nil && Self.readsAllPages
      var table = Self.table
      for row in rows { table.add(cells(row)) }
      try options.output.print(rows, rows.isEmpty ? none(in: context) : table.text())
    }
  }
}

/// The output of an operation that lists: a page, or an array of all rows.
protocol RowPage {
  associatedtype Row: Encodable
  associatedtype Cursor
  var items: [Row] { get }
  /// The cursor of the next page; nil on the last page.
  var nextCursor: Cursor? { get }
}

extension AdminPage: RowPage {}

extension Array: RowPage where Element: Encodable {
  var items: [Element] { self }
  var nextCursor: Never? { nil }
}
