import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import { MAX_MAX_PARALLELISM } from '../../../src/core/key-group.ts'
import {
  DEFAULT_JOB_CONFIGURATION,
  restartStrategyOf,
} from '../../../src/runtime/configuration/configuration.ts'
import { configurationKeys, parseConfiguration } from '../../../src/runtime/configuration/keys.ts'

function errorOf(run: () => unknown) {
  try {
    run()
  } catch (error) {
    if (isWeirError(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('parseConfiguration', () => {
  it('gives the defaults for an empty map', () => {
    expect(parseConfiguration({})).toEqual(DEFAULT_JOB_CONFIGURATION)
  })

  it('reads durations, sizes, numbers and words under Flink keys', () => {
    const parsed = parseConfiguration({
      'parallelism.default': '3',
      'pipeline.max-parallelism': '256',
      'pipeline.object-reuse': 'true',
      'state.backend.type': 'hashmap',
      'state.backend.memory.budget': '64 mb',
      'execution.checkpointing.interval': '10 s',
      'execution.checkpointing.mode': 'AT_LEAST_ONCE',
      'execution.checkpointing.timeout': '2 min',
      'execution.checkpointing.min-pause': '500 ms',
      'execution.checkpointing.num-retained': '4',
      'taskmanager.numberOfTaskSlots': '5',
      'taskmanager.memory.segment-size': '16kb',
    })
    expect(parsed).toMatchObject({
      parallelism: 3,
      maxParallelism: 256,
      objectReuse: true,
      stateBackend: 'heap',
      stateMemoryBytes: 64 * 1024 * 1024,
      slots: 5,
      checkpoints: {
        intervalMs: 10_000,
        mode: 'at-least-once',
        timeoutMs: 120_000,
        minPauseMs: 500,
        retained: 4,
      },
      network: { batchBytes: 16_384 },
    })
  })

  it('reads what is restored: a folder, or the number of a checkpoint', () => {
    const path = 'execution.state-recovery.path'
    expect(parseConfiguration({ [path]: 'savepoints/s' }).checkpoints.restoreFrom).toBe(
      'savepoints/s',
    )
    expect(parseConfiguration({ [path]: '2' }).checkpoints.restoreFrom).toBe(2)
    expect(() => parseConfiguration({ [path]: '0' })).toThrow(path)
    const { checkpoints, acceptLostTransactions } = parseConfiguration({
      'execution.state-recovery.ignore-unclaimed-state': 'true',
      'execution.state-recovery.accept-lost-transactions': 'true',
    })
    expect(checkpoints.allowNonRestoredState).toBe(true)
    expect(acceptLostTransactions).toBe(true)
  })

  it.each([
    'parallelism.default',
    'restart-strategy.fixed-delay.attempts',
    'restart-strategy.type',
  ])('refuses a value of %s that is no text', (key) => {
    for (const value of [3, null, ['none'], { text: 'none' }]) {
      const { code, message } = errorOf(() => parseConfiguration({ [key]: value } as never))
      expect([code, message]).toEqual([
        'INVALID_ARGUMENT',
        expect.stringContaining(`the value of "${key}" must be a text, not`),
      ])
    }
  })

  it('reads the ports of query threads', () => {
    const { queryPorts } = parseConfiguration({ 'queryable-state.server.ports': '9070-9071' })
    expect(queryPorts).toEqual({ first: 9070, last: 9071 })
    expect(() => parseConfiguration({ 'queryable-state.server.ports': 'some' })).toThrow(
      /queryable-state\.server\.ports/,
    )
  })

  it.each([
    ['execution.checkpointing.intervall', 'execution.checkpointing.interval'],
    ['segment-size', 'taskmanager.memory.segment-size'],
  ])('names the nearest key when one is not known: %s', (key, nearest) => {
    const error = errorOf(() => parseConfiguration({ [key]: '1 s' }))
    expect(error.code).toBe('UNKNOWN_OPTION')
    expect(error.details['nearest']).toBe(nearest)
  })

  it('says which key has a value that cannot be read', () => {
    const error = errorOf(() => parseConfiguration({ 'heartbeat.timeout': 'soon' }))
    expect(error.code).toBe('INVALID_ARGUMENT')
    expect(error.message).toContain('heartbeat.timeout: "soon" is not a duration')
  })

  it('reads every restart strategy with its own keys', () => {
    const restart = (map: Record<string, string>) => parseConfiguration(map).restart
    expect(restart({ 'restart-strategy.type': 'none' })).toEqual({ type: 'none' })
    expect(
      restart({
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '7',
        'restart-strategy.fixed-delay.delay': '2 s',
      }),
    ).toEqual({ type: 'fixed-delay', attempts: 7, delayMs: 2000 })
    expect(
      restart({
        'restart-strategy.type': 'failure-rate',
        'restart-strategy.failure-rate.max-failures-per-interval': '4',
      }),
    ).toEqual({
      type: 'failure-rate',
      maxFailuresPerInterval: 4,
      failureRateIntervalMs: 60_000,
      delayMs: 1000,
    })
    expect(
      restart({
        'restart-strategy.type': 'exponential-delay',
        'restart-strategy.exponential-delay.attempts-before-reset-backoff': '9',
        'restart-strategy.exponential-delay.jitter-factor': '0',
      }),
    ).toMatchObject({ attemptsBeforeResetBackoff: 9, jitterFactor: 0, initialBackoffMs: 1000 })
  })

  it('restarts by default only a job with periodic checkpoints, as Flink does', () => {
    const strategy = (map: Record<string, string>) => restartStrategyOf(parseConfiguration(map))
    const directory = { 'execution.checkpointing.dir': '/checkpoints' }
    const interval = { 'execution.checkpointing.interval': '1 s' }
    expect(strategy({})).toEqual({ type: 'none' })
    expect(strategy(directory)).toEqual({ type: 'none' })
    expect(strategy(interval)).toEqual({ type: 'none' })
    expect(strategy({ ...directory, ...interval })).toMatchObject({
      type: 'exponential-delay',
      initialBackoffMs: 1000,
    })
    const none = { 'restart-strategy.type': 'none' }
    expect(strategy({ ...directory, ...interval, ...none })).toEqual({ type: 'none' })
  })

  it('takes the restart strategy whose keys are given when the type is missing', () => {
    const map = { 'restart-strategy.fixed-delay.attempts': '3' }
    expect(parseConfiguration(map).restart).toMatchObject({ type: 'fixed-delay', attempts: 3 })
  })

  it('keeps the values of a base configuration for keys that are missing', () => {
    const base = parseConfiguration({ 'parallelism.default': '3' })
    expect(parseConfiguration({ 'heartbeat.interval': '1 s' }, base).parallelism).toBe(3)
  })

  it('lists every key once', () => {
    const keys = configurationKeys().map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).toContain('restart-strategy.type')
  })
})

/** Values that no key of a kind takes. */
const NONSENSE: Readonly<Record<string, readonly string[]>> = {
  count: ['', '-1', '1.5', 'many', '1e400'],
  duration: ['', '-1 s', 'soon', '3 parsecs', '30 d', '1e9'],
  size: ['', '-1', 'big', '3 bits'],
  number: ['', 'x', '-1', '1e9'],
  word: ['', 'yes', 'True story', 'exactlyonce'],
  ports: ['', '-1', '70000', '9', '9079-9070x'],
  path: [],
  'path or count': ['0'],
}

describe('every key', () => {
  const ofKind = configurationKeys().filter(({ kind, range }) => kind !== 'word' || range !== '')

  it.each(ofKind)('$key refuses values that are no $kind, by its name', ({ key, kind }) => {
    for (const value of NONSENSE[kind]!.filter((text) => kind !== 'ports' || text !== '9')) {
      const error = errorOf(() => parseConfiguration({ [key]: value }))
      expect([error.code, error.message]).toEqual([
        'INVALID_ARGUMENT',
        expect.stringContaining(`${key}: `),
      ])
    }
  })

  const bounds = ofKind.flatMap(({ key, range }) => {
    const [, least = '', most] =
      /^(?:from|at least) ([^,]+?)(?: to (.+))?(?:,.*)?$/.exec(range) ?? []
    return least === '' ? [] : [{ key, least, most }]
  })

  it('of a parallelism takes as many as there may be key groups', () => {
    const most = String(MAX_MAX_PARALLELISM)
    expect(parseConfiguration({ 'pipeline.max-parallelism': most }).maxParallelism).toBe(32_768)
    expect(() => parseConfiguration({ 'pipeline.max-parallelism': '100000' })).toThrow(most)
  })

  it('with a range is in the walk', () => expect(bounds.length).toBeGreaterThan(25))

  it.each(bounds)('$key takes $least, and names the nearest value beyond its range', (bound) => {
    const { key, least, most } = bound
    // Alone, a heartbeat timeout of its least value contradicts the interval.
    const beside = key === 'heartbeat.timeout' ? { 'heartbeat.interval': '1 ms' } : {}
    const lowest = key === 'heartbeat.timeout' ? '2 ms' : least
    const relaxed = { 'restart-strategy.exponential-delay.initial-backoff': '1 ms' }
    const isBackoff = key.endsWith('max-backoff') ? relaxed : {}
    expect(() => parseConfiguration({ ...beside, ...isBackoff, [key]: lowest })).not.toThrow()
    if (Number.parseFloat(least) > 0 && !key.includes('multiplier')) {
      expect(() => parseConfiguration({ [key]: '0' })).toThrow(
        `the nearest valid value is ${least}`,
      )
    }
    if (most?.endsWith('d') === true) {
      expect(() => parseConfiguration({ [key]: '25 d' })).toThrow(`valid value is ${most}`)
    }
  })
})

describe('two keys that contradict each other', () => {
  it.each([
    [
      { 'heartbeat.timeout': '10 s' },
      /heartbeat\.timeout \(10 s\) must be above heartbeat\.interval \(10 s\).*10001 ms/,
    ],
    [
      { 'heartbeat.interval': '2 min' },
      /heartbeat\.timeout \(50 s\) must be above heartbeat\.interval \(2 min\)/,
    ],
    [
      { 'pipeline.max-parallelism': '2', 'parallelism.default': '3' },
      /max-parallelism \(2\) must be at least parallelism\.default \(3\); the nearest valid value is 3/,
    ],
    [
      { 'restart-strategy.exponential-delay.max-backoff': '1 ms' },
      /max-backoff \(1 ms\) must be at least initial-backoff \(1 s\); the nearest valid value is 1 s/,
    ],
    [
      {
        'execution.checkpointing.unaligned.enabled': 'true',
        'execution.checkpointing.mode': 'at-least-once',
      },
      /needs execution\.checkpointing\.mode exactly-once/,
    ],
    [
      {
        'queryable-state.server.max-connections': '2',
        'queryable-state.server.max-connections-per-address': '3',
      },
      /per-address \(3\) must be at most max-connections \(2\); the nearest valid value is 2/,
    ],
  ])('%o are refused, with a key that was given', (map, message) => {
    const error = errorOf(() => parseConfiguration(map as Record<string, string>))
    expect(error.code).toBe('INVALID_ARGUMENT')
    expect(error.message).toMatch(message)
    expect(Object.keys(map)).toContain(error.details['key'])
  })
})
