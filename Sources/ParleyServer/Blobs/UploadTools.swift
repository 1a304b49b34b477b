import Dialogs

extension Settings.Uploads {
  /// The programs that look at files.
  func tools(folder: String) -> BlobTools {
    var tools = BlobTools()
    if thumbnails, let pictures = VipsPictures(folder: folder) { tools.pictures = pictures }
    if let scan {
      tools.isScanNeeded = scan.isNeeded
      switch scan.scanner {
      case .clamd(let address): tools.scanner = ClamdScanner(address: address, time: scan.time)
      case .command(let arguments): tools.scanner = CommandScanner(arguments: arguments, time: scan.time)
      }
    }
    return tools
  }
}

extension Settings {
  /// What is not wrong and will be missed nonetheless, for `parley check` and the start.
  public var shortcomings: [String] {
    guard let uploads, uploads.thumbnails, ChildProgram.find(VipsPictures.name) == nil else { return [] }
    return [
      "There are no thumbnails, and avatars are not made smaller: \(VipsPictures.name) is not installed (libvips-tools)."
    ]
  }
}
