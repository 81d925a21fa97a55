import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { FileCheckpointStorage } from '../../../../src/runtime/checkpoint/storage/file.ts'
import { openStorage } from '../../../../src/runtime/checkpoint/storage/open.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { checkpointStorageContract } from '../../../contracts/checkpoint-storage.ts'

const folders: string[] = []

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-checkpoints-'))
  folders.push(folder)
  return folder
}

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

checkpointStorageContract('FileCheckpointStorage', async () => {
  const folder = await newFolder()
  const reopen = () => new FileCheckpointStorage(folder)
  return { storage: reopen(), reopen }
})

checkpointStorageContract('MemoryCheckpointStorage', async () => {
  const storage = new MemoryCheckpointStorage()
  return { storage, reopen: () => storage }
})

describe('FileCheckpointStorage', () => {
  it('takes a file URL and makes the folder', async () => {
    const folder = join(await newFolder(), 'a', 'b')
    const storage = openStorage(pathToFileURL(folder).href)
    await storage.createExclusive('x', new Uint8Array([1]))
    expect(await readdir(folder)).toContain('x')
  })

  it('leaves no temporary file', async () => {
    const folder = await newFolder()
    const storage = new FileCheckpointStorage(folder)
    const writer = await storage.createWriter('a')
    expect((await readdir(join(folder, '.tmp'))).length).toBe(1)
    await writer.commit()
    await (await storage.createWriter('b')).abort()
    await storage.createExclusive('c', new Uint8Array(3))
    await storage.createExclusive('c', new Uint8Array(3))
    expect(await readdir(join(folder, '.tmp'))).toEqual([])
  })

  it('removes temporary files of processes that ended more than a day ago, and no others', async () => {
    const folder = await newFolder()
    const temporary = join(folder, '.tmp')
    await mkdir(temporary)
    const hoursOld = { 'left-over': 25, 'still-written': 23 }
    for (const [name, hours] of Object.entries(hoursOld)) {
      await writeFile(join(temporary, name), 'half a segment')
      const seconds = Date.now() / 1000 - hours * 3600
      await utimes(join(temporary, name), seconds, seconds)
    }
    await new FileCheckpointStorage(folder).createExclusive('a', new Uint8Array(3))
    await expect.poll(() => readdir(temporary)).toEqual(['still-written'])
  })

  it('refuses every call after close', async () => {
    const storage = new FileCheckpointStorage(await newFolder())
    await storage.close()
    await expect(storage.read('a')).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
  })

  it('throws STORAGE_FAILED when the file system refuses', async () => {
    const storage = new FileCheckpointStorage(await newFolder())
    await storage.createExclusive('a', new Uint8Array(1))
    await expect(storage.createWriter('a/b')).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  })
})
