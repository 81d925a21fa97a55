import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeFileSystem as files } from '../../../src/files/node-file-system.ts'
import { changeAlias } from '../../../src/inference/repository/aliases.ts'
import { parseReference } from '../../../src/inference/repository/name.ts'
import { pushModel } from '../../../src/inference/repository/push.ts'
import { scanRepository } from '../../../src/inference/repository/scan.ts'
import { verifyVersion } from '../../../src/inference/repository/verify.ts'

let folder: string
let root: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-repository-'))
  root = join(folder, 'models')
  file = join(folder, 'net.onnx')
  await writeFile(file, 'weights')
})
afterEach(() => rm(folder, { recursive: true }))

describe('a model repository', () => {
  it('numbers pushed versions, finds them with sources and settings, and verifies their bytes', async () => {
    expect(await pushModel(files, { root, name: 'net', file })).toMatchObject({
      version: 1,
      bytes: 7,
    })
    expect(await pushModel(files, { root, name: 'net', file })).toMatchObject({ version: 2 })
    await writeFile(join(root, 'net', 'deployment.yaml'), 'slo-ms: 5')
    const { models, problems } = await scanRepository(files, root)
    expect(problems).toEqual([])
    expect(models).toMatchObject([
      {
        name: 'net',
        settings: { deployment: { sloMs: 5 } },
        versions: [{ version: 1, source: { kind: 'onnx' } }, { version: 2 }],
      },
    ])
    expect(await readdir(join(root, 'net'))).toEqual(['1', '2', 'deployment.yaml'])
    await verifyVersion(files, join(root, 'net', '1'))
  })

  it('never changes a version, and leaves nothing of a push that failed', async () => {
    await pushModel(files, { root, name: 'net', file })
    await expect(pushModel(files, { root, name: 'net', file, version: 1 })).rejects.toMatchObject({
      code: 'VERSION_EXISTS',
    })
    await expect(
      pushModel(files, { root, name: 'net', file: join(folder, 'missing.onnx') }),
    ).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    expect(await readdir(join(root, 'net'))).toEqual(['1'])
  })

  it('gives pushes at the same time different numbers', async () => {
    const pushed = await Promise.all(
      Array.from({ length: 4 }, () => pushModel(files, { root, name: 'net', file })),
    )
    expect(pushed.map(({ version }) => version).sort()).toEqual([1, 2, 3, 4])
  })

  it.each([
    ['other weights', 'has 13 bytes instead of 7'],
    ['WEIGHTS', 'has another checksum'],
  ])('finds a damaged file (%s)', async (bytes, message) => {
    await pushModel(files, { root, name: 'net', file })
    await writeFile(join(root, 'net', '1', 'model.onnx'), bytes)
    await expect(verifyVersion(files, join(root, 'net', '1'))).rejects.toMatchObject({
      code: 'CHECKSUM_MISMATCH',
      message: expect.stringContaining(message),
    })
  })

  it('refuses a name that would leave its folder, or is no name', async () => {
    for (const name of ['../net', 'a/b', '.hidden', '', 'a\\b', 'x'.repeat(101)]) {
      await expect(pushModel(files, { root, name, file })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
      expect(() => parseReference(name)).toThrow('is no name of a model')
    }
  })

  it('keeps aliases, and refuses one of a version that is missing', async () => {
    await pushModel(files, { root, name: 'net', file })
    const alias = { root, name: 'net', alias: 'stable' }
    expect(changeAlias(files, { ...alias, version: 1 })).toEqual({ stable: 1 })
    expect((await scanRepository(files, root)).models[0]!.aliases).toEqual({ stable: 1 })
    expect(() => changeAlias(files, { ...alias, version: 2 })).toThrow('has no version 2')
    expect(() => changeAlias(files, { ...alias, name: 'other', version: 1 })).toThrow(
      'has no model "other"',
    )
    expect(changeAlias(files, { ...alias, version: undefined })).toEqual({})
  })

  it('reports what it cannot read beside the models that it can', async () => {
    await pushModel(files, { root, name: 'net', file })
    await pushModel(files, { root, name: 'broken', file })
    await writeFile(join(root, 'broken', 'deployment.yaml'), 'slo: 5')
    await writeFile(join(root, 'broken', '1', 'model.ts'), '')
    await files.makeFolder(join(root, 'not a name'))
    const remote = join(folder, 'remote.json')
    await writeFile(remote, '{"url":"http://127.0.0.1:8000","max-items":8}')
    await pushModel(files, { root, name: 'far', file: remote })
    const { models, problems } = await scanRepository(files, root)
    expect(problems).toMatchObject([{ code: 'INVALID_ARGUMENT' }])
    expect(models).toMatchObject([
      { settings: { code: 'UNKNOWN_OPTION' }, versions: [{ source: { code: 'FILE_NOT_FOUND' } }] },
      { versions: [{ source: { kind: 'remote', model: 'far', maxItems: 8 } }] },
      { name: 'net', versions: [{ source: { kind: 'onnx' } }] },
    ])
  })
})
