import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../src/core/errors.ts'
import type { CheckpointStorage } from '../../src/runtime/checkpoint/storage/checkpoint-storage.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (data: Uint8Array): string => new TextDecoder().decode(data)

async function put(storage: CheckpointStorage, path: string, content: string): Promise<void> {
  const writer = await storage.createWriter(path)
  await writer.write(bytes(content))
  await writer.commit()
}

async function codeOf(action: () => Promise<unknown>): Promise<string> {
  try {
    await action()
    return 'no error'
  } catch (error) {
    return isWeirError(error) ? error.code : String(error)
  }
}

/**
 * Contract of every checkpoint storage. `open` returns an empty one; `reopen` returns another object over the
 * same files, as in another process.
 */
export function checkpointStorageContract(
  name: string,
  open: () => Promise<{ storage: CheckpointStorage; reopen: () => CheckpointStorage }>,
): void {
  describe(`${name} as checkpoint storage`, () => {
    it('shows a file with all its pieces after its commit', async () => {
      const { storage, reopen } = await open()
      const writer = await storage.createWriter('job/shared/a')
      const piece = bytes('one ')
      await writer.write(piece)
      piece.fill(0)
      await writer.write(bytes('two'))
      expect(await codeOf(() => storage.read('job/shared/a'))).toBe('CHECKPOINT_NOT_FOUND')
      expect(await storage.list('job')).toEqual([])
      await writer.commit()
      expect(text(await reopen().read('job/shared/a'))).toBe('one two')
    })

    it('replaces a file of the same name at commit', async () => {
      const { storage } = await open()
      await put(storage, 'a', 'old')
      await put(storage, 'a', 'new')
      expect(text(await storage.read('a'))).toBe('new')
    })

    it('keeps nothing of an aborted file', async () => {
      const { storage } = await open()
      const writer = await storage.createWriter('job/a')
      await writer.write(bytes('x'))
      await writer.abort()
      await writer.abort()
      expect(await storage.list('job')).toEqual([])
      expect(await codeOf(() => writer.write(bytes('y')))).toBe('ILLEGAL_STATE')
    })

    it('keeps a committed file when its writer is aborted later', async () => {
      const { storage } = await open()
      const writer = await storage.createWriter('a')
      await writer.commit()
      await writer.abort()
      expect((await storage.read('a')).length).toBe(0)
      expect(await codeOf(() => writer.commit())).toBe('ILLEGAL_STATE')
    })

    it('reads a part, and less at the end of the file', async () => {
      const { storage } = await open()
      await put(storage, 'a', '0123456789')
      expect(text(await storage.read('a', 2, 3))).toBe('234')
      expect(text(await storage.read('a', 7))).toBe('789')
      expect(text(await storage.read('a', 8, 5))).toBe('89')
      expect((await storage.read('a', 20, 5)).length).toBe(0)
    })

    it('creates a name only once, for any caller', async () => {
      const { storage, reopen } = await open()
      const rivals = Array.from({ length: 8 }, (_, i) =>
        (i % 2 === 0 ? storage : reopen()).createExclusive('job/epoch-1', bytes(`writer ${i}`)),
      )
      const outcomes = await Promise.all(rivals)
      expect(outcomes.filter((outcome) => outcome === 'created').length).toBe(1)
      const winner = outcomes.indexOf('created')
      expect(text(await storage.read('job/epoch-1'))).toBe(`writer ${winner}`)
      expect(await storage.createExclusive('job/epoch-1', bytes('late'))).toBe('already-exists')
    })

    it('makes an existing file durable, and no other', async () => {
      const { storage, reopen } = await open()
      await put(storage, 'job/chk-1/_metadata', '1')
      await reopen().ensureDurable('job/chk-1/_metadata')
      expect(text(await storage.read('job/chk-1/_metadata'))).toBe('1')
      expect(await codeOf(() => storage.ensureDurable('job/none'))).toBe('CHECKPOINT_NOT_FOUND')
    })

    it('lists files below a folder with their sizes, by path', async () => {
      const { storage } = await open()
      await put(storage, 'job/chk-2/_metadata', '22')
      await put(storage, 'job/chk-1/_metadata', '1')
      await put(storage, 'jobs/other', 'x')
      expect(await storage.list('job')).toEqual([
        { path: 'job/chk-1/_metadata', bytes: 1 },
        { path: 'job/chk-2/_metadata', bytes: 2 },
      ])
      expect(await storage.list('nothing')).toEqual([])
    })

    it('deletes files and folders, and ignores what is missing', async () => {
      const { storage } = await open()
      await put(storage, 'job/a', 'x')
      await put(storage, 'job/b/c', 'x')
      await put(storage, 'job/bb', 'x')
      await storage.delete('job/b')
      await storage.delete('job/a')
      await storage.delete('job/a')
      expect((await storage.list('job')).map((file) => file.path)).toEqual(['job/bb'])
    })

    it('lists all files of storage from its root', async () => {
      const { storage } = await open()
      for (const path of ['job/a', 'savepoints/b/c']) {
        await storage.createExclusive(path, bytes('x'))
      }
      expect((await storage.list('')).map((file) => file.path)).toEqual(['job/a', 'savepoints/b/c'])
    })

    it('throws CHECKPOINT_NOT_FOUND for a missing file', async () => {
      const { storage } = await open()
      expect(await codeOf(() => storage.read('job/none'))).toBe('CHECKPOINT_NOT_FOUND')
    })

    it.each(['../a', 'a/../../b', '/etc/passwd', '', 'a//b', 'a/./b', '.hidden', 'a\\b', 'a\0'])(
      'refuses the path %j',
      async (path) => {
        const { storage } = await open()
        expect(await codeOf(() => storage.read(path))).toBe('INVALID_ARGUMENT')
        expect(await codeOf(() => storage.createWriter(path))).toBe('INVALID_ARGUMENT')
        expect(await codeOf(() => storage.createExclusive(path, bytes('')))).toBe(
          'INVALID_ARGUMENT',
        )
        // The empty path is the root, which can only be listed.
        if (path !== '') expect(await codeOf(() => storage.list(path))).toBe('INVALID_ARGUMENT')
        expect(await codeOf(() => storage.delete(path))).toBe('INVALID_ARGUMENT')
      },
    )
  })
}
