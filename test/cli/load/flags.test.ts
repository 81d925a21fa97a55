import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { type LoadKeys, loadKeysOf } from '../../../src/cli/load/keys.ts'
import { levelPlanOf, measureOptionsOf } from '../../../src/cli/load/levels.ts'
import { targetOf } from '../../../src/cli/load/target.ts'
import { loadCommand } from '../../../src/cli/verbs/load.ts'
import type { LevelPlan } from '../../../src/testing/load/measurement/measure-levels.ts'

const flagsOf = (...argv: string[]): Flags => new Flags(parseCommandLine(loadCommand, argv).flags)

const plan = (...argv: string[]): Promise<LevelPlan> => levelPlanOf(flagsOf(...argv), undefined, 7)

const options = (...argv: string[]) =>
  measureOptionsOf(flagsOf(...argv), new AbortController().signal)

let folder: string
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-load-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the levels of weir load', () => {
  it('are one caller by default, and ranges as perf_analyzer takes them', async () => {
    expect(await plan()).toMatchObject({ range: { start: 1, end: 1, step: 1 }, search: 'linear' })
    const callers = await plan('--concurrency-range', '2:16:4')
    expect(callers.range).toEqual({ start: 2, end: 16, step: 4 })
    expect(callers.loadOf(6)).toEqual({ kind: 'concurrency', callers: 6 })
    const open = await plan('--concurrency-range', '2:0', '-l', '5')
    expect(open.range.end).toBe(Number.POSITIVE_INFINITY)
    const rates = await plan(
      ...['--request-rate-range', '0.5:99.5:0.5', '--request-distribution', 'poisson'],
      ...['--binary-search', '--latency-threshold', '5'],
    )
    expect(rates).toMatchObject({ range: { start: 0.5, end: 99.5, step: 0.5 }, search: 'binary' })
    expect(rates.loadOf(3)).toEqual({
      kind: 'rate',
      perSecond: 3,
      distribution: 'poisson',
      seed: 7,
    })
  })

  it('are those of a file of intervals', async () => {
    const { loadOf } = await plan('--request-intervals', file('intervals', '10\n20\n'))
    expect(loadOf(1)).toEqual({ kind: 'intervals', microseconds: Float64Array.of(10, 20) })
    await expect(plan('--request-intervals', file('bad', '10\nx\n'))).rejects.toThrow(
      /bad: line 2: "x" is not a number/,
    )
  })

  it.each([
    [['--concurrency-range', '0.5'], '--concurrency-range must be START'],
    [['--concurrency-range', '1:2:3:4'], '--concurrency-range must be START'],
    [['--concurrency-range', '4:2'], '0 < START <= END'],
    [['--concurrency-range', '1:0'], '--concurrency-range without an end needs'],
    [['--request-rate-range', 'x'], '--request-rate-range must be START'],
    [['--request-rate-range', '1', '--concurrency-range', '1'], 'exclude each other'],
    [['--concurrency-range', '1:9', '--binary-search'], '--binary-search needs'],
    [['--request-rate-range', '1', '--request-distribution', 'x'], 'constant, poisson'],
  ])('%j are refused: %s', async (argv, message) => {
    await expect(async () => await plan(...argv)).rejects.toThrow(message)
  })
})

describe('the measurement of weir load', () => {
  it("has perf_analyzer's defaults and short flags", () => {
    expect(options()).toMatchObject({
      intervalMs: 5000,
      windowRequests: 0,
      stabilityPercentage: 10,
      judged: 'mean',
      maxTrials: 10,
      latencyThresholdMs: undefined,
      warmupRequests: 0,
      requestCount: undefined,
    })
    expect(
      options('-p', '100', '-s', '5', '-r', '3', '-l', '2', '--percentile', '99'),
    ).toMatchObject({
      intervalMs: 100,
      stabilityPercentage: 5,
      maxTrials: 3,
      latencyThresholdMs: 2,
      judged: 99,
    })
    expect(options('--measurement-mode', 'count_windows')).toMatchObject({
      intervalMs: 1000,
      windowRequests: 50,
    })
  })

  it.each([['0'], ['101'], ['x']])('refuses the percentile %s', (text) => {
    expect(() => options('--percentile', text)).toThrow('--percentile must be')
  })
})

describe('the target of weir load', () => {
  it('is the query port by default', () => {
    expect(targetOf(flagsOf('--port', '9', '--state', 'S', '--operation', 'top-k'))).toMatchObject({
      protocol: 'weir',
      connection: { host: '127.0.0.1', port: 9 },
      operation: { kind: 'top-k', k: 10 },
      state: 'S',
    })
  })

  it('is the server of a URL', () => {
    const over = (...argv: string[]) => targetOf(flagsOf('-i', 'http', ...argv))
    expect(over()).toMatchObject({ host: '127.0.0.1', port: 8080, basePath: '' })
    expect(over('-u', 'https://[::1]/api/')).toMatchObject({
      host: '::1',
      port: 443,
      basePath: '/api',
      tls: {},
    })
    expect(over('-b', '8').operation).toMatchObject({ kind: 'predict', batch: 8 })
    expect(over('--path', '/x', '--body', '{}').operation).toMatchObject({ method: 'POST' })
    expect(over('--header', 'X-A: b', '--consistency', 'checkpoint')).toMatchObject({
      headers: { 'x-a': 'b', 'weir-consistency': 'checkpoint' },
    })
  })

  it.each([
    [['--operation', 'observe'], '--operation observe needs --protocol http'],
    [['--path', '/x'], '--path needs --protocol http'],
    [['-i', 'http', '--url', '127.0.0.1:80'], '--url must be http://'],
    [['-i', 'http', '--url', 'ftp://x'], '--url must be http://'],
    [['-i', 'http', '--header', 'a b'], '--header must be NAME:VALUE'],
    [['-i', 'http', '--header', 'a: b\r\nc: d'], '--header must be NAME:VALUE'],
    [['-i', 'http', '--path', '/a b'], '--path must be a path that begins with /'],
    [['-i', 'http', '--path', '/x', '--method', 'get'], 'did you mean "GET"?'],
    [['-i', 'http', '-b', '2', '--operation', 'rows'], 'over HTTP has one key'],
    [['-b', '0'], '--batch-size must be a whole number from 1 to 4096, not "0"; the nearest is 1'],
    [['--k', '5'], '--k needs --operation top-k'],
    [['--body', '{}'], '--body needs --path PATH'],
  ])('%j are refused', (argv, message) => {
    expect(() => targetOf(flagsOf(...argv))).toThrow(message)
  })
})

describe('the keys of weir load', () => {
  const keys = async (...argv: string[]): Promise<LoadKeys> => {
    const flags = flagsOf(...argv)
    return await loadKeysOf(flags, targetOf(flags))
  }

  it('are ranges, files or a trace', async () => {
    expect((await keys('--users', '9', '--items', '5:6')).keys).toMatchObject({
      kind: 'ranges',
      users: { from: 1, to: 9 },
      items: { from: 5, to: 6 },
      userSuffix: '',
      seed: 1,
    })
    expect((await keys('--users', '9', '--operation', 'rows')).keys).toMatchObject({
      userSuffix: '-U',
    })
    const pairs = [{ user: '1', item: '2' }]
    expect((await keys('--input-data', file('pairs', '1,2'))).keys).toEqual({ kind: 'list', pairs })
    const traced = await keys('--trace', file('trace', '50,1,2'))
    expect(traced).toEqual({ keys: { kind: 'list', pairs }, traceMs: Float64Array.of(50) })
    expect((await keys('-i', 'http', '--path', '/x')).keys).toEqual({
      kind: 'list',
      pairs: [{ user: '', item: '' }],
    })
  })

  it('of a trace are sent once, without a warm-up', async () => {
    const flags = flagsOf('--warmup-request-count', '5')
    await expect(levelPlanOf(flags, Float64Array.of(1), 7)).rejects.toThrow('leave out --warmup')
  })

  it.each([
    [['--users', '9'], 'needs --users and --items'],
    [['--users', '9:1', '--items', '1'], '--users must be N or FROM:TO'],
    [['--users', '-1', '--items', '1'], '--users must be N or FROM:TO'],
    [
      ['--users', '9', '--items', '9', '--trace', import.meta.filename],
      '--users and --trace exclude each other',
    ],
    [['--input-data', '/does/not/exist'], 'cannot read the keys file'],
    [['-i', 'http', '--path', '/{user}'], '{user} and {item} need'],
  ])('%j are refused: %s', async (argv, message) => {
    await expect(async () => await keys(...argv)).rejects.toThrow(message)
  })

  it('of predictions are pairs', async () => {
    const single = file('single', '1-U')
    await expect(keys('--input-data', single)).rejects.toThrow('needs USER,ITEM in every line')
    const rows = await keys('--input-data', single, '--operation', 'rows')
    expect(rows.keys).toEqual({ kind: 'list', pairs: [{ user: '1-U', item: '' }] })
  })
})
