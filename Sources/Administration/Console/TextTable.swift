import Basics

/// A table of text, aligned by terminal columns.
package struct TextTable: Sendable {
  package enum Side: Sendable { case left, right }

  private let columns: [(title: String, side: Side)]
  private var rows: [[String]] = []

  package init(_ columns: [(title: String, side: Side)]) { self.columns = columns }

  package init(_ titles: String...) { self.init(titles.map { ($0, .left) }) }

  package var isEmpty: Bool { rows.isEmpty }

  /// Adds a row. Cells beyond the last column are dropped, missing ones are empty.
  package mutating func add(_ cells: [String]) {
    rows.append(columns.indices.map { $0 < cells.count ? Line.safe(cells[$0]) : "" })
  }

  /// Returns the title row and the rows as lines, with two spaces between columns and none at the end of a line.
  package func text() -> String {
    let widths = columns.indices.map { column in
      rows.reduce(Line.width(columns[column].title)) { max($0, Line.width($1[column])) }
    }
    return ([columns.map(\.title)] + rows).map { cells in
      var line = ""
      for (column, cell) in cells.enumerated() {
        let padding = String(repeating: " ", count: max(0, widths[column] - Line.width(cell)))
        switch columns[column].side {
        case .left: line += cell + padding
        case .right: line += padding + cell
        }
        if column < cells.count - 1 { line += "  " }
      }
      while line.last == " " { line.removeLast() }
      return line
    }.joined(separator: "\n")
  }
}
