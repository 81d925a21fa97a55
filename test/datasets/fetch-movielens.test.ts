import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fetchMovielens, main } from '../../datasets/fetch-movielens.ts'
import type { MovielensSet } from '../../datasets/movielens-sets.ts'
import { readZip } from '../../datasets/read-zip.ts'

/** A zip archive of the given files; every second one stored, the others deflated. */
function zipOf(files: Record<string, string>, comment = ''): Buffer {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let offset = 0
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const content = Buffer.from(text)
    const method = index % 2 === 0 ? 8 : 0
    const data = method === 8 ? deflateRawSync(content) : content
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(method, 4)
    shared.writeUInt32LE(crc32(content), 10)
    shared.writeUInt32LE(data.length, 14)
    shared.writeUInt32LE(content.length, 18)
    shared.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), shared, Buffer.from(name), data])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    centrals.push(Buffer.from('PK\x01\x02\x14\x00'), shared, tail, Buffer.from(name))
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...locals, central, end, Buffer.from(comment)])
}

const FILES = {
  'ml-test/ratings.dat': '1::2::3::4\n'.repeat(500),
  'ml-test/README': 'terms',
  'ml-test/other': 'x',
}
const ARCHIVE = zipOf(FILES)
const SET: MovielensSet = {
  name: 'ml-test',
  sha256: createHash('sha256').update(ARCHIVE).digest('hex'),
  files: ['ml-test/ratings.dat', 'ml-test/README'],
  shape: 'a test',
}

let folder: string
let server: Server
let baseUrl: string
let requests: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-datasets-'))
  requests = []
  server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (request.url === '/movielens/ml-test.zip') response.end(ARCHIVE)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/movielens`
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(folder, { recursive: true })
})

describe('fetching a set', () => {
  it('unpacks the files that are read, once', async () => {
    const print: string[] = []
    const options = { set: SET, folder, baseUrl, print: (line: string) => print.push(line) }
    const paths = await fetchMovielens(options)
    expect(await readFile(paths[0] as string, 'utf8')).toBe(FILES['ml-test/ratings.dat'])
    expect(await readFile(paths[1] as string, 'utf8')).toBe('terms')
    expect(paths).toHaveLength(2)
    await fetchMovielens(options)
    expect(requests).toEqual(['/movielens/ml-test.zip'])
    expect(print.at(-1)).toContain('exists already')
  })

  it('writes nothing if the checksum is another one', async () => {
    const set = { ...SET, sha256: '0'.repeat(64) }
    await expect(fetchMovielens({ set, folder, baseUrl, print: () => {} })).rejects.toThrow(
      /has SHA-256 [0-9a-f]{64}, not 0{64}/,
    )
    await expect(readFile(join(folder, 'ml-test/README'))).rejects.toThrow('ENOENT')
  })

  it('says what the server answered', async () => {
    const set = { ...SET, name: 'ml-gone' }
    await expect(fetchMovielens({ set, folder, baseUrl, print: () => {} })).rejects.toThrow(
      /ml-gone.zip answered 404/,
    )
  })
})

describe('the script', () => {
  it('lists the sets when it is given none of them', async () => {
    const lines: string[] = []
    expect(await main(['ml-2000'], (line) => lines.push(line))).toBe(2)
    expect(lines.join('\n')).toMatch(/usage.*\n.*ml-100k {2}943 users/)
  })

  it('prints the terms and fetches nothing until they are accepted', async () => {
    const lines: string[] = []
    const transport = (): Promise<Response> => Promise.reject(new Error('no network'))
    const print = (line: string): number => lines.push(line)
    expect(await main(['ml-100k', folder], print, transport)).toBe(2)
    expect(lines[0]).toContain('not to redistribute')
    const accepted = main(['ml-100k', folder, '--accept-terms'], print, transport)
    await expect(accepted).rejects.toThrow('no network')
  })
})

describe('the zip reader', () => {
  it('finds the end record before a comment', () => {
    const archive = zipOf(FILES, 'a comment')
    expect(readZip(archive, ['ml-test/other']).get('ml-test/other')?.toString()).toBe('x')
  })

  it('refuses what is damaged or missing', () => {
    const damaged = Buffer.from(ARCHIVE)
    damaged[damaged.indexOf('terms')] = 0
    expect(() => readZip(damaged, ['ml-test/README'])).toThrow(/does not match its checksum/)
    expect(() => readZip(ARCHIVE, ['nothing'])).toThrow(/has no file nothing/)
    expect(() => readZip(Buffer.from('hello'), [])).toThrow(/not a zip archive/)
  })
})
