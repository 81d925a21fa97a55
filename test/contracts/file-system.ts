import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FileSystem } from '../../src/files/file-system.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Contents of a file as text. */
export function textOf(files: FileSystem, path: string): string {
  const file = files.openSync(path, 'read')
  const buffer = new Uint8Array(file.sizeSync())
  file.readSync(buffer, 0)
  file.closeSync()
  return new TextDecoder().decode(buffer)
}

/** Writes a file whole. */
export function put(files: FileSystem, path: string, text: string): void {
  const file = files.openSync(path, 'replace')
  file.writeSync([bytes(text)], 0)
  file.closeSync()
}

/** What every file system owes its users. `open` returns one with the path of an empty folder. */
export function fileSystemContract(
  name: string,
  open: () => Promise<{ readonly files: FileSystem; readonly folder: string }>,
): void {
  describe(`${name} as file system`, () => {
    it('writes at a position and reads back, less at the end of the file', async () => {
      const { files, folder } = await open()
      const file = await files.open(join(folder, 'a'), 'change')
      await file.write([bytes('01'), bytes('2345')], 0)
      file.writeSync([bytes('xy')], 4)
      const buffer = new Uint8Array(8)
      expect(await file.read(buffer, 2, 3)).toBe(3)
      expect(new TextDecoder().decode(buffer.subarray(0, 3))).toBe('23x')
      expect(file.readSync(buffer, 4)).toBe(2)
      expect(await file.read(buffer, 9)).toBe(0)
      expect(file.sizeSync()).toBe(6)
      await file.close()
    })

    it('fills a hole with zeros, cuts and extends', async () => {
      const { files, folder } = await open()
      const path = join(folder, 'a')
      const file = files.openSync(path, 'change')
      file.writeSync([bytes('z')], 3)
      expect(textOf(files, path)).toBe('\0\0\0z')
      file.truncateSync(2)
      file.truncateSync(3)
      expect(textOf(files, path)).toBe('\0\0\0')
      await file.datasync()
      file.datasyncSync()
      file.closeSync()
    })

    it('opens as the mode says', async () => {
      const { files, folder } = await open()
      const path = join(folder, 'a')
      expect(() => files.openSync(path, 'read')).toThrow(/ENOENT/)
      await expect(files.open(path, 'read')).rejects.toMatchObject({ code: 'ENOENT' })
      put(files, path, 'one')
      expect(() => files.openSync(path, 'new')).toThrow(/EEXIST/)
      files.openSync(path, 'change').closeSync()
      expect(textOf(files, path)).toBe('one')
      files.openSync(path, 'replace').closeSync()
      expect(textOf(files, path)).toBe('')
      expect(() => files.openSync(join(folder, 'none', 'b'), 'new')).toThrow(/ENOENT/)
    })

    it('keeps an open file when its name is removed or given to another', async () => {
      const { files, folder } = await open()
      put(files, join(folder, 'a'), 'old')
      const file = files.openSync(join(folder, 'a'), 'read')
      put(files, join(folder, 'b'), 'new')
      files.renameSync(join(folder, 'b'), join(folder, 'a'))
      const buffer = new Uint8Array(3)
      file.readSync(buffer, 0)
      expect(new TextDecoder().decode(buffer)).toBe('old')
      expect(textOf(files, join(folder, 'a'))).toBe('new')
      expect(files.statSync(join(folder, 'b'))).toBeUndefined()
      file.closeSync()
    })

    it('renames a folder with all it holds', async () => {
      const { files, folder } = await open()
      await files.makeFolder(join(folder, 'a'))
      put(files, join(folder, 'a', 'x'), 'inside')
      await files.rename(join(folder, 'a'), join(folder, 'b'))
      expect(textOf(files, join(folder, 'b', 'x'))).toBe('inside')
      await expect(files.rename(join(folder, 'none'), join(folder, 'c'))).rejects.toMatchObject({
        code: 'ENOENT',
      })
    })

    it('links a name that is free, and refuses one that is taken', async () => {
      const { files, folder } = await open()
      put(files, join(folder, 'a'), 'first')
      put(files, join(folder, 'b'), 'second')
      await files.link(join(folder, 'a'), join(folder, 'name'))
      expect(() => files.linkSync(join(folder, 'b'), join(folder, 'name'))).toThrow(/EEXIST/)
      files.removeSync(join(folder, 'a'))
      expect(textOf(files, join(folder, 'name'))).toBe('first')
    })

    it('makes folders with their parents, says which was the first, and lists entries', async () => {
      const { files, folder } = await open()
      expect(await files.makeFolder(join(folder, 'a', 'b', 'c'))).toBe(join(folder, 'a'))
      expect(files.makeFolderSync(join(folder, 'a', 'b', 'c'))).toBeUndefined()
      put(files, join(folder, 'a', 'f'), '')
      const entries = [...(await files.list(join(folder, 'a')))]
      expect(entries.sort((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
        { name: 'b', isFolder: true },
        { name: 'f', isFolder: false },
      ])
      expect(() => files.listSync(join(folder, 'none'))).toThrow(/ENOENT/)
      await files.syncFolder(join(folder, 'a'))
      files.syncFolderSync(folder)
    })

    it('tells size and kind, and removes files and trees; what is missing is ignored', async () => {
      const { files, folder } = await open()
      put(files, join(folder, 'a'), 'four')
      await files.makeFolder(join(folder, 'd', 'e'))
      put(files, join(folder, 'd', 'e', 'x'), 'x')
      expect(files.statSync(join(folder, 'a'))).toMatchObject({ isFolder: false, size: 4 })
      expect(await files.stat(join(folder, 'd'))).toMatchObject({ isFolder: true })
      await files.remove(join(folder, 'a'))
      await files.remove(join(folder, 'a'))
      files.removeSync(join(folder, 'a'))
      await expect(files.removeEmptyFolder(join(folder, 'd'))).rejects.toMatchObject({
        code: 'ENOTEMPTY',
      })
      await files.makeFolder(join(folder, 'empty'))
      await files.removeEmptyFolder(join(folder, 'empty'))
      await files.removeTree(join(folder, 'd'))
      await files.removeTree(join(folder, 'd'))
      expect(files.listSync(folder)).toEqual([])
    })

    it('keeps the times that a file was given', async () => {
      const { files, folder } = await open()
      put(files, join(folder, 'a'), 'x')
      const file = files.openSync(join(folder, 'a'), 'change')
      file.setTimesSync(1_000_000, 2_000_000)
      file.closeSync()
      expect(files.statSync(join(folder, 'a'))).toMatchObject({
        accessedMs: 1_000_000,
        modifiedMs: 2_000_000,
      })
    })
  })
}
