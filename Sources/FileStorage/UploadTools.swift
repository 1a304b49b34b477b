import Basics
package import Dialogs

extension BlobTools {
  /// Creates the programs that process files.
  ///
  /// - Parameters:
  ///   - thumbnails: Whether thumbnails of pictures are made and large avatars are shrunk.
  ///   - scan: The scanner; nil for none.
  ///   - folder: The folder for temporary files with pictures from memory.
  package init(thumbnails: Bool, scan: ScanOptions?, folder: String) {
    self.init()
    let memory = AllowedMemory.bytes
    if thumbnails, let pictures = VipsPictures(folder: folder, memory: memory) {
      self.pictures = pictures
      inspectionsMax = min(inspectionsMax, StorageLimits.picturesAtOnce(memory: memory))
    }
    guard let scan else { return }
    isScanNeeded = scan.isNeeded
    switch scan.scanner {
    case .clamd(let address): scanner = ClamdScanner(address: address, time: scan.time)
    case .command(let arguments): scanner = CommandScanner(arguments: arguments, time: scan.time)
    }
  }

  /// The reason why this machine cannot make thumbnails; nil if it can.
  package static var missingProgram: String? {
    ChildProgram.find(VipsPictures.name) == nil ? "\(VipsPictures.name) is not installed (libvips-tools)" : nil
  }
}
