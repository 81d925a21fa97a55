import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { WebHdfsFileWriter } from '../../../src/files/webhdfs/file-writer.ts'
import { pause } from '../../run/pause.ts'
import { TcpProxy } from '../../services/tcp-proxy.ts'
import { FakeHdfs, type Fault, refusal } from './fake-hdfs.ts'

let hdfs: FakeHdfs
let client: WebHdfsClient

function clientOf(
  authority: string,
  settings = 'user.name=ada',
  { retryForMs = 5_000, timeoutMs = 10_000 } = {},
): WebHdfsClient {
  const address = parseWebHdfsUrl(`hdfs://${authority}/?${settings}`)
  return new WebHdfsClient(address, { retryForMs, timeoutMs, random: seededRandom(1) })
}

/** Options of a client that tries once, and takes no busy machine for a silent server. */
const ONCE = { retryForMs: 0, timeoutMs: 3_000 }
/** Options of a client that soon takes a server for silent, as it does a process that stands still for as long. */
const HASTY = { timeoutMs: 1_000 }

beforeEach(async () => {
  hdfs = await FakeHdfs.start()
  client = clientOf(`127.0.0.1:${hdfs.port}`)
})

afterEach(async () => {
  client.close()
  await hdfs[Symbol.asyncDispose]()
})

/** Closes the connection of an operation's step, before or after its execution. */
function cut(step: 'name' | 'data', op: string, when: 'before' | 'after'): Fault {
  return (request, incoming) => {
    if (request.step !== step || request.query.get('op') !== op) return false
    if (when === 'after') hdfs.execute(request)
    incoming.socket.resetAndDestroy()
    return true
  }
}

/** Rejects an operation's step once. */
function refuse(step: 'name' | 'data', op: string, exception: string, message = ''): Fault {
  return (request, _incoming, response) => {
    if (request.step !== step || request.query.get('op') !== op) return false
    const { status, body } = refusal(403, exception, message)
    response.writeHead(status).end(JSON.stringify(body))
    return true
  }
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)
const bytes = (said: string): Uint8Array => new TextEncoder().encode(said)

describe('writing', () => {
  it('gets a location from the NameNode and sends the bytes there', async () => {
    await client.writeFile('/a b', bytes('hello'))
    expect(text(hdfs.files.get('/a b'))).toBe('hello')
    expect(hdfs.log).toEqual(['name CREATE', 'data CREATE'])
    expect(hdfs.requests[0]!.query.get('user.name')).toBe('ada')
  })

  it('follows the redirect of an older cluster itself', async () => {
    hdfs.redirects = true
    await client.writeFile('/a', bytes('hello'))
    expect(text(hdfs.files.get('/a'))).toBe('hello')
    expect(text(await client.read('/a', 1, 3))).toBe('ell')
  })

  it('sends a buffered file again as a whole when the DataNode fails', async () => {
    const die = cut('data', 'CREATE', 'before')
    hdfs.faults.push((...request) => {
      if (!die(...request)) return false
      hdfs.faults.push(refuse('name', 'CREATE', 'IOException', 'Failed to find datanode'))
      return true
    })
    await client.writeFile('/a', bytes('hello'))
    expect(text(hdfs.files.get('/a'))).toBe('hello')
    expect(hdfs.log).toEqual([
      'name CREATE',
      'data CREATE',
      'name CREATE',
      'name CREATE',
      'data CREATE',
    ])
    // Only the next request after the failure asks for another DataNode.
    expect(hdfs.requests.map(({ query }) => query.get('excludedatanodes'))).toEqual([
      null,
      null,
      '127.0.0.1',
      null,
      null,
    ])
  })

  it('never sends streamed bytes twice', async () => {
    let received = 0
    hdfs.faults.push((request, incoming) => {
      if (request.step !== 'data') return false
      incoming.on('data', (chunk: Buffer) => {
        received += chunk.length
        if (received > 3_000_000) incoming.socket.resetAndDestroy()
      })
      incoming.on('error', () => undefined)
      return true
    })
    const writer = new WebHdfsFileWriter(client, '/big', 1 << 20)
    const piece = new Uint8Array(1 << 20)
    const write = async (): Promise<void> => {
      for (let i = 0; i < 16; i++) await writer.write(piece)
      await writer.finish()
    }
    await expect(write()).rejects.toMatchObject({ code: 'CONNECTOR_FAILED' })
    expect(hdfs.log.filter((line) => line.endsWith('CREATE'))).toEqual([
      'name CREATE',
      'data CREATE',
    ])
  })

  it('ends a stream whose DataNode is silent', async () => {
    hdfs.faults.push((request, incoming) => {
      incoming.on('error', () => undefined)
      return request.step === 'data'
    })
    const hasty = clientOf(`127.0.0.1:${hdfs.port}`, 'user.name=ada', HASTY)
    const upload = await hasty.openUpload('/big')
    const write = async (): Promise<void> => {
      for (let i = 0; i < 64; i++) await upload.write(new Uint8Array(1 << 20))
    }
    await expect(write()).rejects.toMatchObject({
      message: expect.stringContaining('no data for 1000 ms'),
    })
    hasty.close()
  })

  it('does not use idle connections again after another one became silent', async () => {
    await using proxy = await TcpProxy.start(hdfs.port)
    const address = parseWebHdfsUrl(`hdfs://127.0.0.1:${proxy.port}/`)
    const proxied = new WebHdfsClient(address, { timeoutMs: 1_000, random: seededRandom(1) })
    const paths = Array.from({ length: 15 }, (_, i) => `/${i}`)
    await Promise.all(paths.map((path) => proxied.status(path)))
    proxy.freeze()
    const start = performance.now()
    for (const path of paths) await proxied.status(path)
    // The client waits for one timeout, not for all: a busy machine has many of them.
    expect(performance.now() - start).toBeLessThan(12_000)
    proxied.close()
  })

  it('allows a pause between two writes of a stream', async () => {
    const hasty = clientOf(`127.0.0.1:${hdfs.port}`, 'user.name=ada', HASTY)
    const upload = await hasty.openUpload('/slow')
    await upload.write(bytes('one '))
    await pause(1_100, 'longer than the timeout of the client')
    await upload.write(bytes('two'))
    await upload.finish()
    hasty.close()
    expect(text(hdfs.files.get('/slow'))).toBe('one two')
  })

  it('detects a file that is shorter than the sent bytes', async () => {
    const writer = new WebHdfsFileWriter(client, '/a')
    await writer.write(bytes('hello'))
    hdfs.faults.push((request, _incoming, response) => {
      if (request.step !== 'data') return false
      hdfs.files.set('/a', bytes('hell'))
      response.writeHead(201).end()
      return true
    })
    await expect(writer.finish()).rejects.toThrow('HDFS has 4 of the 5 bytes')
  })
})

describe('reading', () => {
  it('starts again when the answer is incomplete', async () => {
    hdfs.files.set('/a', bytes('0123456789'))
    hdfs.faults.push((request, incoming, response) => {
      if (request.step !== 'data') return false
      response.writeHead(200, { 'Content-Length': 10 })
      response.write('0123', () => incoming.socket.resetAndDestroy())
      return true
    })
    expect(text(await client.read('/a'))).toBe('0123456789')
  })

  it('is empty beyond the end, which WebHDFS rejects', async () => {
    hdfs.files.set('/a', bytes('0123'))
    hdfs.faults.push(refuse('name', 'OPEN', 'IOException', 'Offset=4 out of the range [0, 4)'))
    expect((await client.read('/a', 4, 10)).length).toBe(0)
  })

  it('does not repeat the request for a missing file', async () => {
    expect(await client.status('/none')).toBeUndefined()
    expect(hdfs.log).toEqual(['name GETFILESTATUS'])
  })
})

describe('a server that is not as it should be', () => {
  const nameNode = (op: string, body: string): void => {
    hdfs.faults.push((request, _incoming, response) => {
      if (request.step !== 'name' || request.query.get('op') !== op) return false
      response.end(body)
      return true
    })
  }

  it.each([
    ['OPEN', '{"Location": 7}', () => client.read('/a')],
    ['GETFILESTATUS', '{"FileStatus": null}', () => client.status('/a')],
    ['GETFILESTATUS', '{"FileStatus": {"length": "7"}}', () => client.status('/a')],
    ['LISTSTATUS', '{"FileStatuses": null}', () => client.list('/')],
    ['LISTSTATUS', '{"FileStatuses": {"FileStatus": {}}}', () => client.list('/')],
  ])('and answers %s with %s is an error that says so', async (op, body, call) => {
    nameNode(op, body)
    await expect(call()).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringContaining(`does not speak WebHDFS: ${body}`),
    })
  })

  it('and sends more than was asked for is not read to its end', async () => {
    const short = clientOf(`127.0.0.1:${hdfs.port}`, 'user.name=ada', ONCE)
    hdfs.files.set('/a', bytes('0123456789'))
    let sent = 0
    hdfs.faults.push(async ({ step }, _incoming, response) => {
      if (step !== 'data') return false
      const closed = once(response, 'close')
      const piece = Buffer.alloc(64 * 1024)
      while (!response.destroyed && sent < 1 << 28) {
        sent += piece.length
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed])
      }
      return true
    })
    await expect(short.read('/a', 0, 10)).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringContaining('the answer is longer than 65536 bytes'),
    })
    short.close()
    expect(sent).toBeLessThan(1 << 28)
  })

  it('and sends a byte now and then does not hold a request for ever', async () => {
    const short = clientOf(`127.0.0.1:${hdfs.port}`, 'user.name=ada', { ...ONCE, timeoutMs: 1_000 })
    hdfs.files.set('/a', bytes('0123456789'))
    hdfs.faults.push((request, _incoming, response) => {
      if (request.step !== 'data') return false
      const drip = setInterval(() => response.write('x'), 50)
      response.once('close', () => clearInterval(drip))
      return true
    })
    await expect(short.read('/a')).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringContaining('slower than 1 kB a second'),
    })
    short.close()
  })
})

describe('a rename', () => {
  beforeEach(() => {
    hdfs.files.set('/tmp', bytes('mine'))
  })

  it.each([true, false])(
    'counts once when its answer is lost (overwrite %s)',
    async (overwrite) => {
      hdfs.faults.push(cut('name', 'RENAME', 'after'))
      expect(await client.rename('/tmp', '/x', { overwrite, bytes: 4 })).toBe('renamed')
      expect(text(hdfs.files.get('/x'))).toBe('mine')
    },
  )

  it('is repeated when the request was lost', async () => {
    hdfs.faults.push(cut('name', 'RENAME', 'before'))
    expect(await client.rename('/tmp', '/x', { overwrite: false, bytes: 4 })).toBe('renamed')
  })

  it('distinguishes its own rename from that of another client after a lost request', async () => {
    hdfs.files.set('/x', bytes('rival'))
    hdfs.faults.push(cut('name', 'RENAME', 'before'))
    expect(await client.rename('/tmp', '/x', { overwrite: false, bytes: 4 })).toBe('target-exists')
    expect(text(hdfs.files.get('/x'))).toBe('rival')
  })

  it('understands the plain "false" of a gateway', async () => {
    hdfs.files.set('/x', bytes('rival'))
    hdfs.faults.push((request, _incoming, response) => {
      if (request.query.get('op') !== 'RENAME') return false
      response.end('{"boolean":false}')
      return true
    })
    expect(await client.rename('/tmp', '/x', { overwrite: false, bytes: 4 })).toBe('target-exists')
  })

  it('of a missing file reports that', async () => {
    const renaming = client.rename('/none', '/x', { overwrite: true, bytes: 1 })
    await expect(renaming).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
  })
})

describe('a pair', () => {
  it('gets the request at the other NameNode when one is standby, also in step two', async () => {
    await using other = await FakeHdfs.start()
    const pair = clientOf(`127.0.0.1:${hdfs.port},127.0.0.1:${other.port}`)
    hdfs.faults.push(refuse('data', 'CREATE', 'StandbyException'))
    await pair.writeFile('/a', bytes('x'))
    expect(other.files.has('/a')).toBe(true)
    await pair.makeFolder('/b')
    expect(other.log).toEqual(['name CREATE', 'data CREATE', 'name MKDIRS'])
    pair.close()
  })

  it('is asked for its active NameNode before bytes are streamed', async () => {
    await using other = await FakeHdfs.start()
    const pair = clientOf(`127.0.0.1:${hdfs.port},127.0.0.1:${other.port}`)
    hdfs.faults.push(refuse('name', 'GETFILESTATUS', 'StandbyException'))
    const upload = await pair.openUpload('/a')
    await upload.write(bytes('x'))
    await upload.finish()
    expect(hdfs.log).toEqual(['name GETFILESTATUS'])
    expect(other.files.has('/a')).toBe(true)
    pair.close()
  })
})

describe('the identity of a client', () => {
  it('is only a token, read for every request', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-token-'))
    try {
      const file = join(folder, 'token')
      await writeFile(file, 'first\n')
      const secured = clientOf(`127.0.0.1:${hdfs.port}`, `user.name=ada&token-file=${file}`)
      await secured.makeFolder('/a')
      await writeFile(file, 'second\n')
      await secured.makeFolder('/a')
      expect(hdfs.requests.map(({ query }) => query.get('delegation'))).toEqual(['first', 'second'])
      expect(hdfs.requests.some(({ query }) => query.has('user.name'))).toBe(false)
      secured.close()
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('is a token that no error shows', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-token-'))
    try {
      const file = join(folder, 'token')
      await writeFile(file, 's3cret')
      const secured = clientOf(`127.0.0.1:${hdfs.port}`, `token-file=${file}`, { retryForMs: 100 })
      hdfs.faults.push(refuse('name', 'MKDIRS', 'InvalidToken', 'token is expired'))
      const error = await secured.makeFolder('/a').catch((cause: unknown) => cause)
      expect(error).toMatchObject({ code: 'UNAUTHENTICATED' })
      expect(JSON.stringify(error) + String(error)).not.toContain('s3cret')
      secured.close()
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('retries', () => {
  it('end: a NameNode that stays unreachable is an error that names it', async () => {
    const lonely = clientOf('127.0.0.1:1', '', { ...ONCE, retryForMs: 1_500 })
    await expect(lonely.list('/')).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringMatching(
        /after \d+ attempts: the NameNode 127\.0\.0\.1:1 did not answer/,
      ),
    })
  })
})
