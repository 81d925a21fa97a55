import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeFileSystem as files } from '../../../src/files/node-file-system.ts'
import { AllowedHosts } from '../../../src/http/access/allowed-hosts.ts'
import type { ModelControlRights } from '../../../src/http/access/model-control.ts'
import { FolderRegistry } from '../../../src/inference/repository/register.ts'

let folder: string
let root: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-register-'))
  root = join(folder, 'models')
})
afterEach(() => rm(folder, { recursive: true }))

const DATA: ModelControlRights = {
  isAllowed: true,
  takesModules: false,
  hosts: new AllowedHosts(),
}

const register = async (
  rights: ModelControlRights,
  format: string,
  body: string | object,
): Promise<string> => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const { file } = await new FolderRegistry(files, root, rights).register({
    name: 'net',
    format,
    bytes,
  })
  return file
}

describe('a registration', () => {
  it('takes ONNX files', async () => {
    expect(await register(DATA, 'onnx', 'weights')).toBe('model.onnx')
    expect(await readFile(join(root, 'net', '1', 'model.onnx'), 'utf8')).toBe('weights')
  })

  it.each(['js', 'mjs', 'ts'])(
    'stores no byte of a module (%s) unless the start allows modules',
    async (format) => {
      await expect(register(DATA, format, 'export default 1')).rejects.toMatchObject({
        code: 'ACCESS_DENIED',
        message: expect.stringContaining('--allow-modules'),
      })
      await expect(readdir(root)).rejects.toMatchObject({ code: 'ENOENT' })
      const file = await register({ ...DATA, takesModules: true }, format, 'export default 1')
      expect(file).toBe(`model.${format}`)
    },
  )

  it('stores no model of a server that the start does not list', async () => {
    const hosts = AllowedHosts.parse(
      'models.example:8000,10.0.0.1:80,10.0.0.1:443',
      '--allow-remote',
    )
    const rights = { ...DATA, hosts }
    const remote = { url: 'http://models.example:8000', model: 'x' }
    await expect(register(DATA, 'json', remote)).rejects.toMatchObject({ code: 'ACCESS_DENIED' })
    for (const url of [
      'http://127.0.0.1:8000',
      'http://models.example:8001',
      'http://models.example',
      'http://169.254.169.254/latest/meta-data',
    ]) {
      const registered = register(rights, 'json', { url, model: 'x' })
      await expect(registered, url).rejects.toMatchObject({
        code: 'ACCESS_DENIED',
        message: expect.stringContaining('--allow-remote'),
      })
    }
    for (const url of ['ftp://models.example:8000', 'https://u:p@models.example:8000']) {
      await expect(register(rights, 'json', { url, model: 'x' }), url).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
    }
    await expect(readdir(root)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await register(rights, 'json', remote)).toBe('model.json')
    for (const url of ['http://10.0.0.1', 'https://10.0.0.1', 'https://models.example:8000']) {
      expect(await register(rights, 'json', { url, model: 'x' })).toBe('model.json')
    }
  })

  it('refuses a format that no model has, and JSON that names no model', async () => {
    for (const format of ['yaml', 'exe', 'node']) {
      await expect(register(DATA, format, 'x')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    await expect(register(DATA, 'json', '[]')).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
  })
})
