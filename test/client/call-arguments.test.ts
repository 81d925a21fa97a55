import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WeirClient } from '../../src/client/weir-client.ts'
import { TestedClient } from './tested-client.ts'

const tested = new TestedClient()
let client: WeirClient

beforeAll(async () => {
  client = await tested.start()
})

afterAll(() => tested.close())

const features = { ids: Uint32Array.of(1), values: Float32Array.of(1) }
const range = { from: '', to: '~', limit: 10 }
const none: readonly string[] = []

/** Every call of the client that takes options, with these options. */
const CALLS: Readonly<Record<string, (options: never) => Promise<unknown>>> = {
  predict: (options) => client.predict('ALS_MODEL', '1-U', '7-I', options),
  predictWithEnvelope: (options) => client.predictWithEnvelope('ALS_MODEL', '1-U', '7-I', options),
  predictPairs: (options) =>
    client.predictPairs('ALS_MODEL', { count: 0, bytes: new Uint8Array() }, options),
  rows: (options) => client.rows('ALS_MODEL', ['1-U'], options),
  values: (options) => client.values('ALS_MODEL', ['count'], options),
  get: (options) => client.get('ALS_MODEL', '1-U', options),
  scan: (options) => client.scan('ALS_MODEL', range, options),
  sparseDot: (options) => client.sparseDot('ALS_MODEL', features, options),
  predictLinear: (options) => client.predictLinear('ALS_MODEL', features, options),
  topK: (options) => client.topK('ALS_MODEL', '1-U', { k: 1, ...(options as object) }),
  infer: (options) => client.infer('digits', [], options),
  inferRaw: (options) => client.inferRaw('digits', { inputs: [], outputs: none }, options),
  models: (options) => client.models(options),
  signature: (options) => client.signature('digits', options),
  changeModel: (options) => client.changeModel('load', 'digits', options),
}

describe.each(Object.entries(CALLS))('client.%s', (name, call) => {
  it.each([
    [{ modelVersion: 2 }, 'there is no option "modelVersion"'],
    [{ consistency: 'at-least:0:999999' }, 'consistency must be an object with level'],
    [{ consistency: 'checkpoint' }, 'consistency must be an object with level'],
    [{ consistency: { level: 'checkpont' } }, 'did you mean "checkpoint"?'],
    [{ consistency: { level: 'bounded' } }, 'consistency.maxAgeMs is missing'],
    [
      { consistency: { level: 'at-least', partition: 0, ofset: 1 } },
      'no option "consistency.ofset"',
    ],
    [{ version: '2' }, 'version must be a whole number'],
    [{ deadlineMs: '5' }, 'deadlineMs must be a number above 0'],
    [{ deadlineMs: Number.NaN }, 'deadlineMs must be a number above 0'],
  ])('refuses %o and sends nothing', async (options, message) => {
    const asked = call(options as never)
    await expect(asked).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(asked).rejects.toThrow(message)
    await expect(asked).rejects.toThrow(`client.${name}(...): `)
    expect(client.outstanding).toBe(0)
  })
})

describe('the other arguments of a call', () => {
  it.each([
    [
      'a key of a row that is no text',
      () => client.get('ALS_MODEL', 5),
      'key must be a text, as all keys of rows are, not the number 5',
    ],
    [
      'keys that are no list',
      () => client.rows('ALS_MODEL', '1-U' as never),
      'keys must be an array',
    ],
    ['no state', () => client.values(undefined as never, []), 'state must be a text'],
    ['a number to predict', () => client.predict('S', 1 as never, '7-I'), 'keys[0] must be a text'],
    [
      'plain numbers as features',
      () => client.sparseDot('S', { ids: [1], values: [1] } as never),
      'features must be an object with ids, a Uint32Array',
    ],
    [
      'numbers as a query',
      () => client.topK('S', [1, 2] as never, { k: 1 }),
      'query must be a text',
    ],
    [
      'a range without a limit',
      () => client.scan('S', { from: '', to: '~' } as never),
      'range.limit is missing',
    ],
    [
      'a tensor without a name',
      () => client.infer('digits', [{ shape: [1], data: [] }] as never),
      'inputs[0].name is missing',
    ],
    [
      'an unknown action',
      () => client.changeModel('reload' as never, 'digits'),
      'action must be "load" or "unload"',
    ],
  ])('are refused: %s', async (_, call, message) => {
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(call()).rejects.toThrow(message)
  })

  it('are taken when they are right', async () => {
    const consistency = { level: 'bounded', maxAgeMs: 1e9 } as const
    const options = { consistency, version: 0, deadlineMs: 5_000 }
    expect((await client.predict('ALS_MODEL', '1-U', '7-I', options)).score).toBe(11)
  })
})
