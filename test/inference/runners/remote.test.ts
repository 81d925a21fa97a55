import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { loadRemote } from '../../../src/inference/runners/remote.ts'
import { RemoteServer } from '../../../src/inference/runners/remote-exchange.ts'

const SECRET = 'SECRET-role-credentials'
const X = { name: 'x', datatype: 'FP32', shape: [-1] }
const Y = { name: 'y', datatype: 'FP32', shape: [-1] }
const METADATA = { name: 'double', inputs: [X], outputs: [Y] }

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A peer at a free port; the URL of it. */
async function peer(listener: RequestListener, server: Server = createServer()): Promise<string> {
  server.on('request', listener)
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A peer that describes the model rightly, and answers a run with `outputs` and the bytes of floats. */
function answering(outputs: readonly object[], bytes: Uint8Array): RequestListener {
  return (request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify(METADATA))
      return
    }
    const head = Buffer.from(JSON.stringify({ outputs }))
    response.setHeader('inference-header-content-length', head.length)
    request.resume().on('end', () => response.end(Buffer.concat([head, bytes])))
  }
}

const load = (url: string) =>
  loadRemote({ kind: 'remote', url, model: 'double' }, { threads: 1, batches: true })
const TWO = new Uint8Array(Float32Array.of(1, 2).buffer)
const INPUT = [{ name: 'x', datatype: 'FP32' as const, shape: [2], data: TWO }]

/** The error of a run of a model whose peer answers with one output. */
async function runError(output: object, bytes: Uint8Array = TWO) {
  const model = await load(await peer(answering([output], bytes)))
  const error = await model.run(INPUT, 2).catch((thrown: unknown) => thrown)
  await model.close()
  return error
}

describe('a model on another server', () => {
  it('asks again, once, when the server has closed the kept connection meanwhile', async () => {
    const y = { ...Y, shape: [2], parameters: { binary_data_size: 8 } }
    const sockets = new Set<Socket>()
    const server = createServer()
    server.on('connection', (socket) => sockets.add(socket))
    const model = await load(await peer(answering([y], TWO), server))
    // The connection is reset under the client, as by a server whose idle time is over.
    for (const socket of sockets) socket.resetAndDestroy()
    const [output] = await model.run(INPUT, 2)
    expect(output).toMatchObject({ name: 'y', shape: [2], data: TWO })
    expect(sockets.size).toBe(2)
    await model.close()
  })

  it.each([
    ['another datatype', { ...Y, datatype: 'INT32', shape: [2] }, 'promised "y" as FP32'],
    ['another name', { ...Y, name: 'z', shape: [2] }, 'sent no "y"'],
    ['another rank', { ...Y, shape: [2, 1] }, 'in another shape'],
    ['a negative size', { ...Y, shape: [2], parameters: { binary_data_size: -8 } }, 'fewer bytes'],
    ['bytes that are missing', { ...Y, shape: [2], parameters: { binary_data_size: 80 } }, 'fewer'],
    ['a shape of more elements', { ...Y, shape: [3] }, 'its shape needs 12'],
    ['an unknown datatype', { ...Y, datatype: SECRET, shape: [2] }, 'unknown datatype'],
    ['a name with an escape sequence', { ...Y, name: '\x1b[2J', shape: [2] }, 'printable'],
  ])('is to blame for %s', async (_, output, message) => {
    const error = await runError({ parameters: { binary_data_size: 8 }, ...output })
    expect(error).toMatchObject({
      code: 'REMOTE_MODEL_FAILED',
      message: expect.stringContaining(message),
    })
    expect(String(error)).toMatch(/the model server http:\/\/127\.0\.0\.1:\d+/)
    expect(String(error)).not.toContain(SECRET)
  })

  it.each([
    [403, 'MODEL_FAILED', ': it wants a key, see --remote-keys'],
    [500, 'REMOTE_MODEL_FAILED', ''],
    [503, 'MODEL_NOT_LOADED', ''],
  ])(
    'puts no text of the server into errors that others read: HTTP %d',
    async (status, code, hint) => {
      const url = await peer((_, response) => response.writeHead(status).end(SECRET))
      const error = await load(url).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({
        code,
        message: `the model server ${url} answered with HTTP ${status}${hint}`,
      })
    },
  )

  it('puts no text of the server into the error of an answer that is no JSON', async () => {
    const url = await peer((_, response) => response.end(SECRET))
    const error = await load(url).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'REMOTE_MODEL_FAILED' })
    expect(`${error}`).not.toContain(SECRET)
  })

  it('follows no redirect', async () => {
    let asked = 0
    const other = await peer((_, response) => {
      asked += 1
      response.end(JSON.stringify(METADATA))
    })
    const url = await peer((request, response) =>
      response.writeHead(307, { location: `${other}${request.url}` }).end(),
    )
    await expect(load(url)).rejects.toMatchObject({ code: 'REMOTE_MODEL_FAILED' })
    expect(asked).toBe(0)
  })

  it.each(['http://169.254.169.254', 'http://[fe80::1]:80', 'http://2852039166:8000'])(
    'never calls a link-local address: %s',
    async (url) => {
      await expect(load(url)).rejects.toMatchObject({ code: 'ACCESS_DENIED' })
    },
  )
})

describe('an exchange with another server', () => {
  const ask = { path: '/', timeoutMs: 300, maxBytes: 1000 }

  it('ends at its deadline, before and in the middle of an answer', async () => {
    const urls = [await peer(() => undefined), await peer((_, response) => response.write('{'))]
    for (const url of urls) {
      const server = new RemoteServer(url)
      await expect(server.exchange(ask)).rejects.toMatchObject({
        code: 'MODEL_NOT_LOADED',
        message: `the model server ${url} does not answer (no whole answer in time)`,
      })
      server.close()
    }
  })

  it('has the key of the server as a bearer token, and none without one', async () => {
    const seen: unknown[] = []
    const url = await peer((request, response) => {
      seen.push(request.headers.authorization)
      response.end('{}')
    })
    for (const key of ['secret-key', undefined]) {
      const server = new RemoteServer(url, key)
      await server.exchange(ask)
      const body = await server.open('/', '{}', new AbortController().signal)
      body.destroy()
      server.close()
    }
    expect(seen).toEqual(['Bearer secret-key', 'Bearer secret-key', undefined, undefined])
  })

  it('reads no more than its limit', async () => {
    const url = await peer((_, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536))) if (response.destroyed) return
      }
      response.on('drain', more)
      more()
    })
    const server = new RemoteServer(url)
    await expect(server.exchange({ ...ask, timeoutMs: 10_000 })).rejects.toMatchObject({
      code: 'REMOTE_MODEL_FAILED',
      message: expect.stringContaining('more than 1000 bytes'),
    })
    server.close()
  })

  it('fails with the name of a server that speaks another protocol, or is not there', async () => {
    const smtp = createTcpServer((socket) => socket.end('220 mail.example ESMTP\r\n'))
    smtp.listen(0, '127.0.0.1')
    await new Promise((resolve) => smtp.once('listening', resolve))
    closers.push(() => smtp.close())
    const { port } = smtp.address() as AddressInfo
    for (const url of [`http://127.0.0.1:${port}`, 'http://127.0.0.1:1']) {
      const server = new RemoteServer(url)
      const error = await server.exchange(ask).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'MODEL_NOT_LOADED' })
      expect(`${error}`).toContain(url)
      expect(`${error}`).not.toContain('mail.example')
      server.close()
    }
  })
})
