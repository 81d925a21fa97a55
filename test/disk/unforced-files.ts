import type { FileSystem, OpenFile } from '../../src/files/file-system.ts'
import { nodeFileSystem } from '../../src/files/node-file-system.ts'

/** The file system of this machine, but nothing is forced: for tests without a power cut. */
export const unforcedFiles: FileSystem = {
  ...nodeFileSystem,
  open: async (path, mode) => unforced(await nodeFileSystem.open(path, mode)),
  openSync: (path, mode) => unforced(nodeFileSystem.openSync(path, mode)),
  syncFolder: async () => {},
  syncFolderSync: () => {},
}

function unforced(file: OpenFile): OpenFile {
  return Object.assign(file, { datasync: async () => {}, datasyncSync: () => {} })
}
