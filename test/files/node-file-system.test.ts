import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../src/files/node-file-system.ts'
import { fileSystemContract } from '../contracts/file-system.ts'
import { needs } from '../run/needs.ts'

const folders: string[] = []

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-files-'))
  folders.push(folder)
  return folder
}

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

fileSystemContract('nodeFileSystem', async () => ({
  files: nodeFileSystem,
  folder: await newFolder(),
}))

describe('nodeFileSystem', () => {
  it('writes more buffers than the system takes in one call', async () => {
    const file = nodeFileSystem.openSync(join(await newFolder(), 'a'), 'change')
    const buffers = Array.from({ length: 1500 }, (_, i) => new Uint8Array([i & 255]))
    await file.write(buffers, 0)
    file.writeSync(buffers, 1500)
    const read = new Uint8Array(3000)
    expect(file.readSync(read, 0)).toBe(3000)
    expect(read.every((byte, i) => byte === ((i % 1500) & 255))).toBe(true)
    file.closeSync()
  })

  it(
    'lets no other user read new files and folders',
    needs(process.platform !== 'win32', 'Windows has no permissions of files'),
    async () => {
      const folder = join(await newFolder(), 'data')
      await nodeFileSystem.makeFolder(folder)
      nodeFileSystem.openSync(join(folder, 'a'), 'new').closeSync()
      expect(statSync(folder).mode & 0o777).toBe(0o700)
      expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o600)
    },
  )
})
