import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../../src/cli/run-command-line.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { DownloadFolder } from '../../../../src/inference/places/download-folder.ts'
import { PlaceHttp } from '../../../../src/inference/places/http.ts'
import { scanRepository } from '../../../../src/inference/repository/scan.ts'
import { recordedIo } from '../../../cli/recorded-io.ts'
import { hostilePeerContract } from '../../../contracts/hostile-peer.ts'
import { PlaceServer } from '../../../services/model-places/place-server.ts'
import { PLACE_KINDS, type ServedPlace } from '../../../services/model-places/places.ts'

const NET = readFileSync(resolve('test/inference/onnx/files/sk-linreg.onnx'))
const text = (content: string): Uint8Array => new TextEncoder().encode(content)

let folder: string
let served: ServedPlace | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-push-place-'))
})
afterEach(() => {
  served?.server.stop()
  served = undefined
  rmSync(folder, { recursive: true, force: true })
})

const root = (): string => join(folder, 'models')

async function push(address: string, env: Readonly<Record<string, string>>, ...flags: string[]) {
  const { io, out, err } = recordedIo({ env })
  const argv = ['model', 'push', address, '--name', 'net', '--repository', root(), ...flags]
  const code = await runCommandLine(argv, io)
  // On a slow machine progress is shown.
  const said = err.filter((line) => !line.startsWith('reading the model'))
  return { code, out: out.join('\n'), err: said.join('\n') }
}

function serve(kind: string, files: Readonly<Record<string, Uint8Array>>): Promise<ServedPlace> {
  return PLACE_KINDS[kind]!.serve(new Map(Object.entries(files)))
}

describe('a model pushed from a place', () => {
  it.each(Object.keys(PLACE_KINDS))('is a version with all its files: %s', async (kind) => {
    served = await serve(kind, {
      'net.onnx': NET,
      'labels.txt': text('a\nb\n'),
      'model.safetensors': text('0'),
      'setup.py': text('0'),
    })
    const { code, out, err } = await push(served.address, served.environment as never)
    expect(err).toBe('')
    expect(code).toBe(0)
    expect(out).toContain(`pushed version 1 of net: 2 files, ${NET.length + 4} bytes`)
    expect(out).toContain('left out: model.safetensors, setup.py')
    expect(out.includes('states no checksum of net.onnx, labels.txt')).toBe(kind === 'mlflow')
    expect(readdirSync(join(root(), 'net', '1')).sort()).toEqual([
      'labels.txt',
      'manifest.json',
      'model.onnx',
    ])
    expect(readFileSync(join(root(), 'net', '1', 'model.onnx'))).toEqual(NET)
    const manifest = JSON.parse(readFileSync(join(root(), 'net', '1', 'manifest.json'), 'utf8'))
    expect(manifest.source.place).toBe(served.address)
    const { models, problems } = await scanRepository(nodeFileSystem, root())
    expect(problems).toEqual([])
    expect(models).toMatchObject([
      { name: 'net', versions: [{ version: 1, source: { kind: 'onnx' } }] },
    ])
  })

  it('says in JSON which commit it is, and what was taken', async () => {
    served = await serve('hub', { 'onnx/net.onnx': NET, 'vocab.txt': text('a') })
    const { out } = await push(served.address, served.environment as never, '--json')
    expect(JSON.parse(out)).toMatchObject({
      version: 1,
      files: 2,
      revision: expect.stringMatching(/^c0ffee0{34}$/),
      from: 'onnx/net.onnx',
      leftOut: [],
      unchecked: [],
    })
  })

  it('continues after an interruption without the files that are there', async () => {
    served = await serve('hub', { 'net.onnx': NET, 'words.txt': text('word ') })
    const { server, address } = served
    const env = served.environment as never
    server.refusal = ({ pathname }) => (pathname.endsWith('words.txt') ? 404 : undefined)
    const broken = await push(address, env)
    expect(broken).toMatchObject({ code: 1, out: '' })
    expect(broken.err).toContain('has no "words.txt" in owner/net')
    expect(readdirSync(root())).toEqual(['.downloads'])
    expect((await scanRepository(nodeFileSystem, root())).problems).toEqual([])
    server.refusal = () => undefined
    server.requests.length = 0
    expect((await push(address, env)).code).toBe(0)
    const asked = server.requests.map(({ url }) => url.pathname)
    expect(asked.some((path) => path.endsWith('words.txt'))).toBe(true)
    expect(asked.some((path) => path.endsWith('net.onnx'))).toBe(false)
    expect(readdirSync(join(root(), '.downloads'))).toEqual([])
  })

  it('runs no code and names no server without --trust-code', async () => {
    const module = text('export default { signature: { inputs: [], outputs: [] }, run: () => [] }')
    served = await serve('oci', { 'net.mjs': module, 'more.mjs': text('') })
    const env = served.environment as never
    const refused = await push(served.address, env, '--file', 'net.mjs')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain(
      'net.mjs is code, which runs in the server; if you trust who wrote it',
    )
    expect((await push(served.address, env, '--file', 'net.mjs', '--trust-code')).code).toBe(0)
    expect(readdirSync(join(root(), 'net', '1')).sort()).toEqual([
      'manifest.json',
      'model.mjs',
      'more.mjs',
    ])
  })

  it('is refused before a byte has come where its name or its version cannot be', async () => {
    served = await serve('hub', { 'net.onnx': NET })
    const { server, address } = served
    const env = served.environment as never
    expect((await push(address, env, '--version', '3')).code).toBe(0)
    server.requests.length = 0
    const again = await push(address, env, '--version', '3')
    expect(again.err).toContain('exists; a version never changes, push another number')
    const { io, err } = recordedIo({ env })
    const named = ['model', 'push', address, '--name', '../net', '--repository', root()]
    expect(await runCommandLine(named, io)).toBe(2)
    expect(err.join()).toContain('is no name of a model')
    expect(server.requests).toEqual([])
  })

  it('refuses the flags of places for a file of this machine', async () => {
    writeFileSync(join(folder, 'net.onnx'), NET)
    const { code, err } = await push(join(folder, 'net.onnx'), {}, '--trust-code')
    expect(code).toBe(2)
    expect(err).toContain('--file and --trust-code are for places')
  })

  it('is refused while another process pushes it, and goes on after one that was killed', async () => {
    served = await serve('oci', { 'net.onnx': NET })
    const env = served.environment as never
    await using first = await DownloadFolder.open(nodeFileSystem, root(), served.address)
    expect((await push(served.address, env)).err).toContain('pushes oci://')
    const lock = join(first.pathOf({ path: '', bytes: 0, identity: '' }), '..', 'lock.json')
    const owner = JSON.parse(readFileSync(lock, 'utf8'))
    writeFileSync(lock, JSON.stringify({ ...owner, pid: 2 ** 22 + 1, processStart: '1' }))
    expect((await push(served.address, env)).code).toBe(0)
  })
})

describe('a place', () => {
  it('gets no token of another origin, is not left for one without TLS or a link-local address, and does not redirect forever', async () => {
    const options = { party: 'the place', credentials: 'none', environment: {}, timeoutMs: 60_000 }
    const http = new PlaceHttp(options)
    let target = ''
    const server = await PlaceServer.start(({ url, headers }) => {
      if (url.pathname === '/other') return { body: JSON.stringify(headers) }
      return { status: 302, headers: { location: target } }
    })
    try {
      const ask = () =>
        http.json(
          new URL(`${server.url}/start`),
          { authorization: 'secret', range: 'bytes=0-' },
          'it',
        )
      target = `${server.url.replace('127.0.0.1', 'localhost')}/other`
      const { json } = await http.json(
        new URL(`${server.url}/start`),
        { authorization: 'secret', accept: 'a/b' },
        'it',
      )
      expect(json).toMatchObject({ accept: 'a/b' })
      expect(json).not.toHaveProperty('authorization')
      target = 'http://169.254.169.254/latest/meta-data'
      await expect(ask()).rejects.toMatchObject({ code: 'ACCESS_DENIED' })
      target = '/start'
      await expect(ask()).rejects.toThrow('redirects more than 5 times')
      target = 'file:///etc/passwd'
      await expect(ask()).rejects.toThrow('redirects to no address')
    } finally {
      server.stop()
    }
  })

  it('is reached through the proxy of the environment', async () => {
    const proxy = await PlaceServer.start(({ url }) => ({ body: JSON.stringify(url.href) }))
    try {
      const environment = { HTTP_PROXY: proxy.url }
      const http = new PlaceHttp({ party: 'the place', credentials: 'none', environment })
      const { json } = await http.json(new URL('http://models.invalid/net'), {}, 'it')
      expect(json).toBe('http://models.invalid/net')
    } finally {
      proxy.stop()
    }
  })
})

hostilePeerContract('the client of a place', {
  ask: (port) => {
    const options = { party: 'the place', credentials: 'none', environment: {}, timeoutMs: 500 }
    return new PlaceHttp(options).json(new URL(`http://127.0.0.1:${port}/list`), {}, 'list')
  },
  mostBytes: 16 * 1024 * 1024,
  codes: ['CONNECTOR_FAILED', 'MALFORMED_DATA', 'ACCESS_DENIED'],
  // What an answer must have is checked by the place.
  fine: ['answers what no one asked'],
})
