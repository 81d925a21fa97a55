import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { writeTextRows } from '../../../src/cli/files/text-rows-file.ts'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { LineFileSink } from '../../../src/connectors/file/sink.ts'
import { LineFileSource } from '../../../src/connectors/file/source.ts'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { parseTextRow } from '../../../src/models/als/text-row.ts'
import type { DeliveryGuarantee } from '../../../src/operators/port/sink.ts'
import { HdfsCheckpointStorage } from '../../../src/runtime/checkpoint/storage/hdfs.ts'
import { AlsModel } from '../../../src/training/als/solver/model.ts'
import { recordedIo } from '../../cli/recorded-io.ts'
import { drain, readerContext } from '../../connectors/log/fixture.ts'
import { checkpointStorageContract } from '../../contracts/checkpoint-storage.ts'
import {
  atLeastOnceSinkContract,
  exactlyOnceSinkContract,
  type SinkUnderTest,
} from '../../contracts/sink.ts'
import { sourceContract } from '../../contracts/source.ts'
import { type SharedHdfs, sharedHdfs } from '../../services/lending/hdfs.ts'

let cluster: SharedHdfs
let folders = 0

beforeAll(async () => {
  cluster = await sharedHdfs()
})

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
})

const newUrl = (): string => cluster.url(`/checkpoints/${folders++}`)
const clientOf = (url: string): WebHdfsClient => new WebHdfsClient(parseWebHdfsUrl(url))
const text = (data: Uint8Array): string => new TextDecoder().decode(data)
const bytes = (data: string): Uint8Array => new TextEncoder().encode(data)

/** Bytes that differ by position. */
function pattern(length: number): Uint8Array {
  const words = Uint32Array.from({ length: length / 4 }, (_, i) => Math.imul(i, 2654435761))
  return new Uint8Array(words.buffer)
}

checkpointStorageContract('HdfsCheckpointStorage', async () => {
  const url = newUrl()
  const reopen = () => new HdfsCheckpointStorage(url)
  return { storage: reopen(), reopen }
})

describe('HdfsCheckpointStorage', () => {
  it('streams a file that is larger than its buffer and reads it in parts', async () => {
    const storage = new HdfsCheckpointStorage(newUrl(), { bufferBytes: 1 << 20 })
    const whole = pattern(20 << 20)
    const writer = await storage.createWriter('job/big')
    for (let at = 0; at < whole.length; at += 300_000) {
      await writer.write(whole.subarray(at, at + 300_000))
    }
    await writer.commit()
    expect(await storage.list('job')).toEqual([{ path: 'job/big', bytes: whole.length }])
    const part = await storage.read('job/big', 7_000_001, 5_000_000)
    expect(Buffer.compare(part, whole.subarray(7_000_001, 12_000_001))).toBe(0)
    expect(Buffer.compare(await storage.read('job/big'), whole)).toBe(0)
  })

  it('leaves no temporary file of a committed, aborted or rejected write', async () => {
    const url = newUrl()
    const storage = new HdfsCheckpointStorage(url, { bufferBytes: 1 << 20 })
    await storage.createExclusive('a', bytes('1'))
    await Promise.all([1, 2, 3].map((i) => storage.createExclusive('b', bytes(`${i}`))))
    const streaming = await storage.createWriter('c')
    await streaming.write(pattern(8 << 20))
    await streaming.abort()
    const committed = await storage.createWriter('d')
    await committed.write(bytes('x'))
    await committed.commit()
    const { path } = parseWebHdfsUrl(url)
    expect(await clientOf(url).list(`${path}/.tmp`)).toEqual([])
  })

  it('gives no name to a file whose upload was interrupted', async () => {
    const url = newUrl()
    const storage = new HdfsCheckpointStorage(url, { bufferBytes: 1 << 20 })
    const writer = await storage.createWriter('job/cut')
    await writer.write(pattern(8 << 20))
    // Another process removes the temporary file: one of many ways to lose its end.
    const { path } = parseWebHdfsUrl(url)
    const client = clientOf(url)
    const [temporary] = (await client.list(`${path}/.tmp`)) ?? []
    await client.delete(`${path}/.tmp/${temporary!.name}`)
    await expect(writer.commit()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await storage.list('job')).toEqual([])
  })

  it('rejects every call after close', async () => {
    const storage = new HdfsCheckpointStorage(newUrl())
    await storage.close()
    await expect(storage.read('a')).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
  })

  it('removes temporary files that an ended process left a day ago', async () => {
    const url = newUrl()
    const { path } = parseWebHdfsUrl(url)
    const client = clientOf(url)
    await client.writeFile(`${path}/.tmp/old`, bytes('x'))
    await client.writeFile(`${path}/.tmp/young`, bytes('x'))
    const dayAgo = Date.now() - 25 * 3600 * 1000
    const times = `op=SETTIMES&modificationtime=${dayAgo}&user.name=${parseWebHdfsUrl(url).user}`
    await fetch(`http://${cluster.authority}/webhdfs/v1${path}/.tmp/old?${times}`, {
      method: 'PUT',
    })
    const storage = new HdfsCheckpointStorage(url)
    await storage.createExclusive('a', bytes('1'))
    const names = async (): Promise<string[]> =>
      ((await client.list(`${path}/.tmp`)) ?? []).map(({ name }) => name)
    await expect.poll(names).toEqual(['young'])
  })
})

describe('WebHdfsClient', () => {
  it('keeps names with spaces, signs and other scripts', async () => {
    const client = clientOf(newUrl())
    const path = '/names/a b+c%d&e=f#g?h/é漢😀'
    await client.writeFile(path, bytes('x'))
    expect(await client.status(path)).toMatchObject({ isFolder: false, bytes: 1 })
    await client.rename(path, '/names/ü +%', { overwrite: false, bytes: 1 })
    expect((await client.list('/names'))?.map(({ name }) => name).sort()).toEqual([
      'a b+c%d&e=f#g?h',
      'ü +%',
    ])
  })

  it('renames to a name once, and replaces a file only on request', async () => {
    const client = clientOf(newUrl())
    for (const name of ['one', 'two']) await client.writeFile(`/rename/${name}`, bytes(name))
    const options = { overwrite: false, bytes: 3 }
    expect(await client.rename('/rename/one', '/rename/x', options)).toBe('renamed')
    expect(await client.rename('/rename/two', '/rename/x', options)).toBe('target-exists')
    expect(text(await client.read('/rename/x'))).toBe('one')
    await client.rename('/rename/two', '/rename/x', { overwrite: true, bytes: 3 })
    expect(text(await client.read('/rename/x'))).toBe('two')
    await expect(client.rename('/rename/none', '/rename/y', options)).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
    })
  })

  it('reports what is not allowed, and to which user', async () => {
    const client = clientOf(`hdfs://${cluster.authority}/?user.name=nobody`)
    await expect(client.makeFolder('/forbidden')).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('set user.name in the URL'),
    })
  })

  it('reports that the port is the RPC port', async () => {
    const client = clientOf(`hdfs://127.0.0.1:${cluster.rpcPort}/`)
    await expect(client.list('/')).rejects.toMatchObject({
      message: expect.stringContaining('use the port of its web interface'),
    })
  })
})

sourceContract('LineFileSource on HDFS', async () => {
  const client = clientOf(newUrl())
  const contents = ['one\ntwo\r\n\nfour with é\nlast without end', '', `${'x'.repeat(100)}\ny\n`]
  const folder = `/lines/${folders++}`
  for (const [i, content] of contents.entries()) {
    await client.writeFile(`${folder}/${i}.txt`, bytes(content))
  }
  const paths = contents.map((_, i) => cluster.url(`${folder}/${i}.txt`))
  return {
    source: new LineFileSource({ paths, parse: (line) => line, chunkBytes: 16 }),
    expected: [['one', 'two', '', 'four with é', 'last without end'], [], ['x'.repeat(100), 'y']],
    textOf: (value: string) => value,
  }
})

async function hdfsSink(guarantee: DeliveryGuarantee): Promise<SinkUnderTest> {
  const directory = newUrl()
  const { path } = parseWebHdfsUrl(directory)
  const client = clientOf(directory)
  const sink = new LineFileSink<string>({ directory, guarantee, format: (value) => value })
  const visible = async (): Promise<string[]> => {
    const files = ((await client.list(path)) ?? []).filter(({ name }) => name.startsWith('part-'))
    const texts = await Promise.all(files.map(({ name }) => client.read(`${path}/${name}`)))
    return texts.flatMap((file) => text(file).split('\n')).filter((line) => line !== '')
  }
  return { sink, visible }
}

atLeastOnceSinkContract('LineFileSink on HDFS', () => hdfsSink('at-least-once'))
exactlyOnceSinkContract('LineFileSink on HDFS', () => hdfsSink('exactly-once'))

describe('model rows on HDFS', () => {
  it('are read and written by `weir train als`, as ratings and as text rows', async () => {
    const ratings = Array.from({ length: 4000 }, (_, i) => {
      const [user, item] = [Math.floor(i / 40), (i * 7) % 80]
      return `${user}\t${item}\t${1 + ((user * item) % 5)}\t0`
    })
    const client = clientOf(cluster.url('/'))
    await client.writeFile('/als/u.data', bytes(`${ratings.join('\n')}\n`))
    const words = ['train', 'als', '--no-publish', '--factors', '4', '--iterations', '2']
    const rows = cluster.url('/als/model/rows.txt')
    const { io } = recordedIo()
    const places = ['--ratings', cluster.url('/als/u.data'), '--text-rows', rows]
    expect(await runCommandLine([...words, ...places], io)).toBe(0)
    const lines = text(await client.read('/als/model/rows.txt'))
      .trim()
      .split('\n')
    expect(lines.length).toBe(100 + 80)
    expect(parseTextRow(lines[0]!).factors.length).toBe(4 + 2)
    expect((await client.list('/als/model'))?.map(({ name }) => name)).toEqual(['rows.txt'])
  })

  it('are loaded from a folder of text rows as a version', async () => {
    const client = clientOf(cluster.url('/'))
    const files = { 1: '1,U,1;2\nMEAN,U,3;4\n', 'part two': '7,I,-1;0.5\n', _SUCCESS: '' }
    for (const [name, rows] of Object.entries(files)) {
      await client.writeFile(`/loaded/als/${name}`, bytes(rows))
    }
    const data = mkdtempSync(join(tmpdir(), 'weir-hdfs-load-'))
    onTestFinished(() => rmSync(data, { recursive: true, force: true }))
    const { io, out, err } = recordedIo()
    const load = ['model', 'load', cluster.url('/loaded/als'), '--json', '--data-dir', data]
    expect({ code: await runCommandLine(load, io), err }).toMatchObject({ code: 0 })
    expect(JSON.parse(out[0]!)).toMatchObject({ version: 1, dimension: 2, users: 1, items: 1 })
    const missing = recordedIo()
    const none = ['model', 'load', cluster.url('/loaded/none'), '--data-dir', data]
    expect(await runCommandLine(none, missing.io)).toBe(1)
    expect(missing.err.join()).toMatch(/FILE_NOT_FOUND: there is no file or folder at hdfs:.*none/)
  })

  it('are written as text rows, and read again as the same numbers', async () => {
    const ids = (kind: string): string[] => Array.from({ length: 20_000 }, (_, i) => `${kind}${i}`)
    const rows = (sign: number): Float32Array =>
      Float32Array.from({ length: 20_000 * 10 }, (_, i) => (sign * (i + 1)) / 8)
    const model = new AlsModel({
      users: ids('user'),
      items: ids('item'),
      userRows: rows(1),
      itemRows: rows(-1),
      factors: 10,
      biased: false,
      globalMean: 0,
      range: { min: 1, max: 5 },
      history: [],
    })
    const place = cluster.url('/models/als/rows.txt')
    await writeTextRows(place, model)
    await writeTextRows(place, model)
    const source = new LineFileSource({ paths: [place], parse: (line) => parseTextRow(line) })
    const reader = source.createReader()
    await reader.open(readerContext())
    await reader.addSplits([{ partition: 0, nextOffset: -1 }])
    const read = await drain(reader)
    await reader.close()
    expect(read.length).toBe(40_000)
    for (const at of [0, 12_345, 20_000, 39_999]) {
      const row = read[at]!
      expect(row.factors).toEqual(model.rowOf(row.kind, row.id))
    }
  })
})

describe('weir doctor', () => {
  it('writes to HDFS, compares the clock of the NameNode, and leaves no file', async () => {
    const url = newUrl()
    const folder = mkdtempSync(join(tmpdir(), 'weir-doctor-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { io, out } = recordedIo()
    await runCommandLine(['doctor', '--hdfs', url, '--data-dir', folder, '--json'], io)
    const findings = out.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(findings).toContainEqual(expect.objectContaining({ check: 'hdfs', verdict: 'ok' }))
    expect(findings).toContainEqual(expect.objectContaining({ check: 'clock', verdict: 'ok' }))
    const client = clientOf(url)
    expect(await client.list(parseWebHdfsUrl(url).path)).toEqual([])
    client.close()
  })
})
