import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { parseWebHdfsUrl } from '../../src/webhdfs/webhdfs-address.ts'
import { WebHdfsClient } from '../../src/webhdfs/webhdfs-client.ts'
import { WebHdfsFileWriter } from '../../src/webhdfs/webhdfs-file-writer.ts'
import { TcpProxy } from '../services/tcp-proxy.ts'
import { FakeHdfs, type Fault, refusal } from './fake-hdfs.ts'

let hdfs: FakeHdfs
let client: WebHdfsClient

function clientOf(authority: string, settings = 'user.name=ada', retryForMs = 5000): WebHdfsClient {
  const address = parseWebHdfsUrl(`hdfs://${authority}/?${settings}`)
  return new WebHdfsClient(address, { retryForMs, timeoutMs: 300, random: seededRandom(1) })
}

beforeEach(async () => {
  hdfs = await FakeHdfs.start()
  client = clientOf(`127.0.0.1:${hdfs.port}`)
})

afterEach(async () => {
  client.close()
  await hdfs[Symbol.asyncDispose]()
})

/** Cuts the connection of an operation's step, before or after it was done. */
function cut(step: 'name' | 'data', op: string, when: 'before' | 'after'): Fault {
  return (request, incoming) => {
    if (request.step !== step || request.query.get('op') !== op) return false
    if (when === 'after') hdfs.execute(request)
    incoming.socket.resetAndDestroy()
    return true
  }
}

/** Refuses an operation's step once. */
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
  it('asks the NameNode where, and sends the bytes there', async () => {
    await client.writeFile('/a b', bytes('hello'))
    expect(text(hdfs.files.get('/a b'))).toBe('hello')
    expect(hdfs.log).toEqual(['name CREATE', 'data CREATE'])
    expect(hdfs.requests[0]!.query.get('user.name')).toBe('ada')
  })

  it('follows the redirect of an older cluster by hand', async () => {
    hdfs.redirects = true
    await client.writeFile('/a', bytes('hello'))
    expect(text(hdfs.files.get('/a'))).toBe('hello')
    expect(text(await client.read('/a', 1, 3))).toBe('ell')
  })

  it('sends a file that it keeps again as a whole when the DataNode dies', async () => {
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
    // The next question after the death, and only that one, asks for another DataNode.
    expect(hdfs.requests.map(({ query }) => query.get('excludedatanodes'))).toEqual([
      null,
      null,
      '127.0.0.1',
      null,
      null,
    ])
  })

  it('never sends streamed bytes a second time', async () => {
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

  it('gives up a stream whose DataNode is silent', async () => {
    hdfs.faults.push((request, incoming) => {
      incoming.on('error', () => undefined)
      return request.step === 'data'
    })
    const upload = await client.openUpload('/big')
    const write = async (): Promise<void> => {
      for (let i = 0; i < 64; i++) await upload.write(new Uint8Array(1 << 20))
    }
    await expect(write()).rejects.toMatchObject({
      message: expect.stringContaining('nothing came for 300 ms'),
    })
  })

  it('uses no connection again that lay idle while another one fell silent', async () => {
    await using proxy = await TcpProxy.start(hdfs.port)
    const address = parseWebHdfsUrl(`hdfs://127.0.0.1:${proxy.port}/`)
    const proxied = new WebHdfsClient(address, { timeoutMs: 200, random: seededRandom(1) })
    await Promise.all(Array.from({ length: 6 }, (_, i) => proxied.status(`/${i}`)))
    proxy.freeze()
    const start = performance.now()
    for (let i = 0; i < 6; i++) await proxied.status('/')
    // One silence is waited for, not six.
    expect(performance.now() - start).toBeLessThan(800)
    proxied.close()
  })

  it('lets a stream rest between two writes', async () => {
    const upload = await client.openUpload('/slow')
    await upload.write(bytes('one '))
    await new Promise((resolve) => setTimeout(resolve, 400))
    await upload.write(bytes('two'))
    await upload.finish()
    expect(text(hdfs.files.get('/slow'))).toBe('one two')
  })

  it('notices a file that is shorter than what was sent', async () => {
    const writer = new WebHdfsFileWriter(client, '/a')
    await writer.write(bytes('hello'))
    hdfs.faults.push((request, _incoming, response) => {
      if (request.step !== 'data') return false
      hdfs.files.set('/a', bytes('hell'))
      response.writeHead(201).end()
      return true
    })
    await expect(writer.finish()).rejects.toThrow('HDFS holds 4 of the 5 bytes')
  })
})

describe('reading', () => {
  it('begins again when the answer breaks off', async () => {
    hdfs.files.set('/a', bytes('0123456789'))
    hdfs.faults.push((request, incoming, response) => {
      if (request.step !== 'data') return false
      response.writeHead(200, { 'Content-Length': 10 })
      response.write('0123', () => incoming.socket.resetAndDestroy())
      return true
    })
    expect(text(await client.read('/a'))).toBe('0123456789')
  })

  it('is empty beyond the end, which WebHDFS refuses', async () => {
    hdfs.files.set('/a', bytes('0123'))
    hdfs.faults.push(refuse('name', 'OPEN', 'IOException', 'Offset=4 out of the range [0, 4)'))
    expect((await client.read('/a', 4, 10)).length).toBe(0)
  })

  it('does not ask again for what is missing', async () => {
    expect(await client.status('/none')).toBeUndefined()
    expect(hdfs.log).toEqual(['name GETFILESTATUS'])
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

  it('is repeated when it was lost on the way', async () => {
    hdfs.faults.push(cut('name', 'RENAME', 'before'))
    expect(await client.rename('/tmp', '/x', { overwrite: false, bytes: 4 })).toBe('renamed')
  })

  it('knows a rival from itself after a lost question', async () => {
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

  it('of a missing file says so', async () => {
    const renaming = client.rename('/none', '/x', { overwrite: true, bytes: 1 })
    await expect(renaming).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
  })
})

describe('a pair', () => {
  it('is asked at the other end when one is standby, also in step two', async () => {
    await using other = await FakeHdfs.start()
    const pair = clientOf(`127.0.0.1:${hdfs.port},127.0.0.1:${other.port}`)
    hdfs.faults.push(refuse('data', 'CREATE', 'StandbyException'))
    await pair.writeFile('/a', bytes('x'))
    expect(other.files.has('/a')).toBe(true)
    await pair.makeFolder('/b')
    expect(other.log).toEqual(['name CREATE', 'data CREATE', 'name MKDIRS'])
    pair.close()
  })

  it('is asked who is active before bytes stream', async () => {
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

describe('who asks', () => {
  it('is a token alone, read again for every request', async () => {
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

  it('never shows the token in an error', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-token-'))
    try {
      const file = join(folder, 'token')
      await writeFile(file, 's3cret')
      const secured = clientOf(`127.0.0.1:${hdfs.port}`, `token-file=${file}`, 100)
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

describe('patience', () => {
  it('ends: a NameNode that stays away is an error that says for whom it waited', async () => {
    const lonely = clientOf('127.0.0.1:1', '', 300)
    await expect(lonely.list('/')).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringMatching(/after \d+ attempts: the NameNode did not answer/),
    })
  })
})
