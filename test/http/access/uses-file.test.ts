import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { addUses, formatUses, parseUses, readUses } from '../../../src/http/access/uses-file.ts'
import { UsesWatch } from '../../../src/http/access/watch/uses-watch.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { tokenOf } from './tokens.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-uses-'))
  file = join(folder, 'tokens.json')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the file of last uses', () => {
  it('has the documented form', () => {
    const uses = new Map([['0123456789ab', { lastMs: Date.UTC(2026, 0, 31), from: '::1' }]])
    expect(JSON.parse(formatUses(uses))).toEqual({
      version: 1,
      uses: { '0123456789ab': { last: '2026-01-31T00:00:00.000Z', from: '::1' } },
    })
    expect(parseUses(formatUses(uses))).toEqual(uses)
  })

  it('keeps the later use of each token, whichever server stores first, and is for its owner alone', async () => {
    const use = (lastMs: number, from: string) => ({ lastMs, from })
    await Promise.all([
      addUses(
        file,
        new Map([
          ['a', use(2_000, 'x')],
          ['b', use(1_000, 'x')],
        ]),
      ),
      addUses(
        file,
        new Map([
          ['a', use(1_000, 'y')],
          ['b', use(2_000, 'y')],
        ]),
      ),
      addUses(file, new Map([['c', use(3_000, 'z')]])),
    ])
    expect(readUses(file)).toEqual(
      new Map([
        ['a', use(2_000, 'x')],
        ['b', use(2_000, 'y')],
        ['c', use(3_000, 'z')],
      ]),
    )
    expect(statSync(`${file}.uses`).mode & 0o777).toBe(0o600)
  })

  it.each([
    '',
    'x',
    '[]',
    '{"version":2,"uses":{}}',
    '{"version":1}',
    '{"version":1,"uses":{"a":1}}',
  ])('counts as empty in another form: %j', async (text) => {
    writeFileSync(`${file}.uses`, text)
    expect(readUses(file)).toEqual(new Map())
    await addUses(file, new Map([['a', { lastMs: 1_000, from: '' }]]))
    expect(readUses(file).size).toBe(1)
  })
})

describe('a port with a tokens file', () => {
  const token = tokenOf(1)

  it('stores when a token was used last, from where, and writes nothing without a new use', async () => {
    const clock = new ManualClock(100_000)
    const share = shareAccess([token.record])
    const access = new AccessControl(share, clock)
    using watch = new UsesWatch(share, {
      file,
      clock,
      onError: (error) => expect.fail(String(error)),
    })
    const use = (address: string) =>
      access.authorize(token.text, 'read', { from: { remoteAddress: address } })
    use('10.0.0.1')
    clock.advance(5_000)
    await expect
      .poll(() => readUses(file).get(token.record.id))
      .toEqual({ lastMs: 100_000, from: '10.0.0.1' })
    const { mtimeNs } = statSync(`${file}.uses`, { bigint: true })
    clock.advance(60_000)
    expect(statSync(`${file}.uses`, { bigint: true }).mtimeNs).toBe(mtimeNs)
    use('10.0.0.2')
    watch.replace(shareAccess([token.record]))
    await expect.poll(() => readUses(file).get(token.record.id)?.from).toBe('10.0.0.2')
    expect(readFileSync(`${file}.uses`, 'utf8')).not.toContain(token.text)
  })

  it('says once that uses cannot be stored, and goes on', async () => {
    const clock = new ManualClock(100_000)
    const share = shareAccess([token.record])
    const access = new AccessControl(share, clock)
    const errors: unknown[] = []
    using _watch = new UsesWatch(share, {
      file: join(folder, 'missing', 'tokens.json'),
      clock,
      onError: (error) => errors.push(error),
    })
    for (let n = 0; n < 3; n++) {
      access.authorize(token.text, 'read')
      clock.advance(5_000)
      await expect.poll(() => errors.length).toBe(1)
    }
  })
})
