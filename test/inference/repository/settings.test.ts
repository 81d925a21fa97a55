import { describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, readSettingsText } from '../../../src/inference/repository/settings.ts'

const read = (text: string) => readSettingsText(text, 'd.yaml')

describe('settings of a model', () => {
  it('need only the latency goal, and have defaults without a file', () => {
    expect(read('slo-ms: 50')).toEqual({ ...DEFAULT_SETTINGS, deployment: { sloMs: 50 } })
    expect(read('')).toEqual(DEFAULT_SETTINGS)
  })

  it.each(['{ rule: slack }: 1', '? [a]\n: 2', '&a slo-ms: 1\n*a : 2'])(
    'refuse a key that is no text, without a warning of the parser: %s',
    (text) => {
      expect(() => read(text)).toThrow(/^d\.yaml: all keys must be strings at line [12]/)
    },
  )

  it('take every key', () => {
    const settings = read(`
slo-ms: 20
batching: { rule: aimd, increase: 4, delay-ms: 2 }
workers: 2
isolation: process
max-batch: 32
queue-capacity: 100
input-bytes: 4096
output-bytes: 1024
hedge: { quantile: 0.95 }
default: { y: { datatype: FP32, shape: [1, 1], data: [0.5] } }
version: "@stable"
cache: 64 MiB
cache-warm-up: 1000
memory: 200 MiB
memory-limit: 1 GiB
warm-up: 3
max-attempts: 2
overtime-ms: 500
overtime-factor: 4.5
recycle-after: 10000
keep-loaded: true
batches: true
item-axes: { x: 1, rate: null }
checks: { signature: any, max-p99-ms: 40, max-memory: 1 GiB }
`)
    expect(settings).toMatchObject({
      version: { alias: 'stable' },
      cacheBytes: 64 * 1024 * 1024,
      cacheWarmUp: 1000,
      checks: { signature: 'any', maxP99Ms: 40, maxMemoryBytes: 1024 ** 3 },
      deployment: {
        sloMs: 20,
        batching: { rule: 'aimd', increase: 4, delayMs: 2 },
        workers: 2,
        isolation: 'process',
        maxBatchItems: 32,
        queueCapacity: 100,
        inputBytes: 4096,
        outputBytes: 1024,
        memoryBytes: 200 * 1024 * 1024,
        memoryLimitBytes: 1024 ** 3,
        warmUp: { runs: 3 },
        maxAttempts: 2,
        overtimeMs: 500,
        overtimeFactor: 4.5,
        recycleAfterRuns: 10_000,
        isKeptLoaded: true,
        batches: true,
        itemAxes: { x: 1, rate: null },
        hedge: { quantile: 0.95 },
        default: [{ name: 'y', datatype: 'FP32', shape: [1, 1] }],
      },
    })
    expect(read('batching: greedy').deployment.batching).toEqual({ rule: 'greedy' })
    expect(read('batching: { rule: greedy, sizes: [8, 16] }').deployment.batching).toEqual({
      rule: 'greedy',
      sizes: [8, 16],
    })
  })

  it('reads what a model carries from one request of a client to the next', () => {
    expect(read('sequence: { state: { h: hn } }').sequence).toEqual({
      carried: [{ input: 'h', output: 'hn' }],
      ttlMs: 60_000,
      most: 10_000,
    })
    const state = '{ h: { output: hn, shape: [2, 1, 3] }, c: cn }'
    expect(read(`sequence: { state: ${state}, ttl-ms: 500, most: 7 }`).sequence).toEqual({
      carried: [
        { input: 'h', output: 'hn', shape: [2, 1, 3] },
        { input: 'c', output: 'cn' },
      ],
      ttlMs: 500,
      most: 7,
    })
  })

  it('take tokenizers and objects, with a file alone or all keys', () => {
    const text = `transforms:
  inputs:
    text: { tokenizer: tokenizer.json }
    query:
      tokenizer: { file: q/t.json, pair: p, ids: q, mask: m, types: t, max-length: 64, truncate: only-second, padding: longest }
  json: { columns: { x: [age, height] } }`
    expect(read(text).deployment.transforms).toEqual({
      images: {},
      labels: {},
      tokenizers: {
        text: { file: 'tokenizer.json' },
        query: {
          file: 'q/t.json',
          pair: 'p',
          ids: 'q',
          mask: 'm',
          types: 't',
          maxLength: 64,
          truncate: 'only-second',
          padding: 'longest',
        },
      },
      json: { columns: { x: ['age', 'height'] } },
    })
    expect(read('transforms: { json: true }').deployment.transforms?.json).toEqual({ columns: {} })
    expect(read('transforms: { json: false }').deployment.transforms?.json).toBeUndefined()
  })

  it('takes bytes with a unit for the slots, and refuses axes that are none', () => {
    expect(read('input-bytes: 4 MiB').deployment.inputBytes).toBe(4 * 1024 * 1024)
    expect(() => read('item-axes: { x: -1 }')).toThrow('item-axes.x takes an axis from 0, or null')
    expect(() => read('item-axes: 1')).toThrow('item-axes takes "key: value" lines')
    expect(() => read('batches: maybe')).toThrow('batches takes true or false')
  })

  it.each([
    ['slo_ms: 50', 'd.yaml:1: slo_ms is unknown; did you mean slo-ms?'],
    ['batching: { rule: window, delayms: 2 }', 'did you mean batching.delay-ms?'],
    ['memory-limit: 1 GiB', 'd.yaml:1: memory-limit needs isolation: process'],
    ['keep-loaded: 1', 'd.yaml:1: keep-loaded takes true or false, not 1'],
    ['recycle-after: 0', 'recycle-after takes a number from 1'],
    ['batching: best', 'batching takes one of slack, aimd'],
    ['slo-ms: soon', 'slo-ms takes a number from 1, not "soon"'],
    ['workers: 1.5', 'workers takes a whole number from 1, not 1.5'],
    ['isolation: vm', 'isolation takes thread or process, not "vm"'],
    ['hedge: { after-ms: 1, quantile: 0.5 }', 'hedge takes after-ms, or a quantile below 1'],
    ['checks: { signature: other }', 'checks.signature takes same or any, not "other"'],
    ['cache: much', 'cache takes off, or bytes such as 64 MiB'],
    ['version: newest', 'version takes latest, a whole number from 1, or an alias'],
    ['default: { y: { datatype: FLOAT } }', 'default.y.datatype takes a datatype, not "FLOAT"'],
    ['sequence: { state: {} }', 'sequence.state takes a map of inputs to outputs'],
    [
      'sequence: { ttl_ms: 5 }',
      'd.yaml:1: sequence.ttl_ms is unknown; did you mean sequence.ttl-ms?',
    ],
    ['sequence: h', 'sequence takes "key: value" lines'],
    [
      'sequence: { state: { h: 1 } }',
      'sequence.state.h takes the output that the input is afterwards',
    ],
    ['sequence: { state: { h: { output: n, size: 1 } } }', 'or a map of output and shape'],
    ['sequence: { state: { h: n }, ttl-ms: 0 }', 'ttl-ms takes a number from 1, not 0'],
    [
      'sequence: { state: { h: n } }\ndefault: { y: { datatype: FP32, shape: [1], data: [1] } }',
      'd.yaml:2: default takes no value beside sequence',
    ],
    [
      'transforms: { inputs: { x: { tokenizr: t } } }',
      'did you mean transforms.inputs.x.tokenizer?',
    ],
    ['transforms: { inputs: { x: {} } }', 'transforms.inputs.x takes one of image, tokenizer'],
    [
      'transforms: { inputs: { x: { tokenizer: ../t.json } } }',
      'transforms.inputs.x.tokenizer.file takes a file of the version, such as tokenizer.json',
    ],
    [
      'transforms: { inputs: { x: { tokenizer: { file: t, padding: most } } } }',
      'tokenizer.padding takes longest, or a whole number from 1',
    ],
    [
      'transforms: { inputs: { x: { tokenizer: { file: t, truncate: middle } } } }',
      'tokenizer.truncate takes true, false, longest-first, only-first, only-second',
    ],
    [
      'transforms: { inputs: { x: { tokenizer: { file: t, pair: 3 } } } }',
      'pair takes a text, not 3',
    ],
    [
      'transforms: { json: { columns: { x: age } } }',
      'transforms.json.columns.x takes a list of the fields',
    ],
    ['transforms: { json: yes please }', 'transforms.json takes "key: value" lines'],
    ['- slo-ms', 'the file takes "key: value" lines'],
    ['slo-ms: [', 'd.yaml: '],
    ['slo-ms: *nothing', 'd.yaml: Unresolved alias'],
  ])('refuse %s', (text, message) => {
    expect(() => read(text)).toThrow(message)
  })
})
