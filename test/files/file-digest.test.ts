import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { digestOf, requireDigest } from '../../src/files/file-digest.ts'
import { nodeFileSystem as files } from '../../src/files/node-file-system.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-digest-'))
  path = join(folder, 'file')
  await writeFile(path, 'abc')
})
afterEach(() => rm(folder, { recursive: true }))

describe('a digest of a file', () => {
  it('is its length and SHA-256', async () => {
    const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    expect(await digestOf(files, path)).toEqual({ path, bytes: 3, sha256 })
  })

  it('finds other bytes, another length and a missing file, and names file and remedy', async () => {
    const digest = await digestOf(files, path)
    const check = () => requireDigest(files, digest, 'put it back').catch((error) => error)
    expect(await check()).toBeUndefined()
    await writeFile(path, 'abd')
    expect(await check()).toMatchObject({
      code: 'CHECKSUM_MISMATCH',
      message: `${path} has another checksum: put it back`,
    })
    await writeFile(path, 'ab')
    expect((await check()).message).toBe(`${path} has 2 bytes instead of 3: put it back`)
    await rm(path)
    expect(await check()).toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: `${path} is missing: put it back`,
    })
  })
})
