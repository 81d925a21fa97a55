import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FlagKind } from '../../../src/cli/flag-kinds/flag-kind.ts'
import {
  address,
  addresses,
  addressToOpen,
  checkpointPlace,
  host,
  input,
  origins,
  output,
  restAddress,
} from '../../../src/cli/flag-kinds/places.ts'

let folder: string
const at = (...names: string[]): string => join(folder, ...names)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-places-'))
  mkdirSync(at('parts'))
  writeFileSync(at('file'), 'x')
})
afterAll(() => rmSync(folder, { recursive: true }))

const isTaken = (kind: FlagKind, text: string): boolean =>
  (kind.problem(text) ?? kind.problemHere?.(text)) === undefined

describe('a file that is read', () => {
  it('exists, as a file or a folder, or is a place of HDFS', () => {
    for (const text of [at('file'), at('parts'), `file://${at('file')}`, 'hdfs://node:9870/x']) {
      expect([text, isTaken(input(), text)]).toEqual([text, true])
    }
    expect(input().problemHere!(at('none'))).toBe(`names ${at('none')}, and there is no such file`)
    expect(input().problemHere!(at('file', 'below'))).toContain('there is no such file')
    expect(input().problem('s3://bucket/x')).toContain(
      'use a path, a file:// URL or an hdfs:// URL',
    )
    expect(isTaken(input(), 'hdfs://')).toBe(false)
  })
})

describe('a place of checkpoints', () => {
  it('is a path, or a place of HDFS or S3', () => {
    for (const text of [at('none'), 'hdfs://node:9870/x', 's3://bucket/x?region=eu-west-1']) {
      expect([text, isTaken(checkpointPlace(), text)]).toEqual([text, true])
    }
    for (const text of ['', 's3://', 'hdfs://', 'gs://bucket/x']) {
      expect([text, isTaken(checkpointPlace(), text)]).toEqual([text, false])
    }
  })
})

describe('a file that is written', () => {
  it('is in a folder that can be written, and no folder itself', () => {
    expect(isTaken(output(), at('new'))).toBe(true)
    expect(isTaken(output(), 'hdfs://node:9870/new')).toBe(true)
    expect(output().problemHere!(at('none', 'new'))).toMatch(/^cannot be written: ENOENT/)
    expect(output().problemHere!(at('parts'))).toContain('which is a folder; name a file')
    expect(isTaken(output({ takesFolder: true }), at('none/'))).toBe(true)
    expect(isTaken(output({ takesFolder: true }), at('none', 'x'))).toBe(false)
  })
})

describe('an address', () => {
  it.each([
    [
      host,
      ['localhost', '127.0.0.1', '::1', '[::1]', 'fe80::1%eth0', 'node_1.example.org', '0.0.0.0'],
    ],
    [address, ['9069', 'host:1', '[::1]:65535', '::1:80']],
    [addressToOpen, ['0', '127.0.0.1:0']],
    [addresses, ['a:1', 'a:1,b:2', 'a:1, [::1]:2']],
    [
      origins,
      ['https://a.example', 'http://localhost:5173,app://x', '*', 'chrome-extension://abc'],
    ],
    [restAddress, ['8081', 'host:8081', 'http://host:8081/', 'https://host']],
  ])('has a host and what belongs to it: %o', (kind, texts) => {
    for (const text of texts) expect([text, kind.problem(text)]).toEqual([text, undefined])
  })

  it.each([
    [host, ['', 'a b', 'host:80', 'http://host', '-x']],
    [address, ['', 'host', 'host:', 'host:0', 'host:65536', 'host:x', 'a b:1', ':80']],
    [addresses, ['', 'a', 'a:1,', 'a:1;b:2', '9092']],
    [
      origins,
      ['', 'a', 'https://a/', 'https://a/x', 'https://A', 'https://a:443', 'null', 'https://a, *'],
    ],
    [restAddress, ['', 'host', 'ftp://host:1', 'http://', 'http://host?x=1']],
  ])('is refused: %o', (kind, texts) => {
    for (const text of texts) expect([text, isTaken(kind, text)]).toEqual([text, false])
  })
})
