import { Ajv } from 'ajv'
import avro from 'avsc'
import { afterAll, describe, expect, it } from 'vitest'
import type { WeirError } from '../../../src/core/errors.ts'
import { avroFormat } from '../../../src/core/formats/schemas/avro.ts'
import { jsonSchemaFormat } from '../../../src/core/formats/schemas/json-schema.ts'
import { structFormat } from '../../../src/core/formats/struct/format.ts'
import {
  type EvolvingSerializer,
  float64Serializer,
  int53Serializer,
  stringSerializer,
} from '../../../src/core/serializer.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import {
  aggregatingState,
  listState,
  mapState,
  reducingState,
  type StateOptions,
  valueState,
} from '../../../src/state/port/descriptors.ts'
import { checkpointFolder } from '../job-fixture.ts'
import { EvolvingJob, type KeyedVersion, keyedVersion, type Version } from './evolving-job.ts'

const ALLOW = { 'execution.state-recovery.ignore-unclaimed-state': 'true' }

/** Counts words with a state of these options; `one` and `next` say what a value is. */
function counting<T>(
  options: StateOptions<T>,
  { one, next }: { readonly one: T; readonly next: (value: T) => T },
  rest: Partial<KeyedVersion> = {},
) {
  return keyedVersion({
    ...rest,
    open(context) {
      const state = context.getState(valueState<T>('count', options))
      return ({ word }, out) => {
        const before = state.value()
        const value = before === undefined ? one : next(before)
        state.update(value)
        out.collect(`${word} ${JSON.stringify(value)}`)
      }
    },
  })
}

const numbers = { one: 1, next: (n: number) => n + 1 }
const texts = { one: 'x', next: (text: string) => `${text}x` }

interface Count {
  n: number
}
interface Total {
  total: number
  last: string
}
const COUNT = structFormat<Count>({ n: { type: 'int32' } })
const TOTAL = structFormat<Total>({
  total: { type: 'float64', aliases: ['n'] },
  last: { type: 'string', default: 'none' },
})
const counts = { one: { n: 1 }, next: ({ n }: Count) => ({ n: n + 1 }) }
const totals = {
  one: { total: 1, last: 'new' },
  next: ({ total, last }: Total) => ({ total: total + 0.5, last: `${last}+` }),
}

describe('after a restore with a changed job', () => {
  const folder = checkpointFolder()
  afterAll(() => folder[Symbol.dispose]())
  const job = () => new EvolvingJob(folder.path)

  it('a record has gained, renamed and widened a field, and keeps what it had', async () => {
    const run = job()
    await run.run(counting({ serializer: COUNT }, counts), ['a', 'a', 'b'])
    expect(await run.run(counting({ serializer: TOTAL }, totals), ['a', 'c'])).toEqual([
      'a {"total":2.5,"last":"none+"}',
      'c {"total":1,"last":"new"}',
    ])
    // The next savepoint has the new form of all keys, also of those that were not touched.
    expect(await run.run(counting({ serializer: TOTAL }, totals), ['b'])).toEqual([
      'b {"total":1.5,"last":"none+"}',
    ])
  })

  it('a record that loses a field drops it', async () => {
    const run = job()
    await run.run(counting({ serializer: TOTAL }, totals), ['a'])
    const less = structFormat<{ last: string }>({ last: { type: 'string' } })
    const marks = { one: { last: '' }, next: (value: { last: string }) => value }
    expect(await run.run(counting({ serializer: less }, marks), ['a'])).toEqual([
      'a {"last":"new"}',
    ])
  })

  it('a field that is new and has no default is refused, with both forms and the way out', async () => {
    const run = job()
    await run.run(counting({ serializer: COUNT }, counts), ['a'])
    const fresh = structFormat<{ fresh: string }>({ fresh: { type: 'string' } })
    const version = counting({ serializer: fresh }, { one: { fresh: '' }, next: (v) => v })
    const error = await run.run(version, ['a']).catch((thrown: unknown) => thrown)
    for (const part of [
      'state "count" of operator "state" is value (struct/1{"n":"int32"}) in the checkpoint',
      'and value (struct/1{"fresh":"string"}) in the job: field "fresh" is new and has no default',
      'SavepointReader and SavepointWriter',
    ]) {
      expect(String((error as Error).message)).toContain(part)
    }
    const { cause } = error as { readonly cause?: WeirError }
    expect(cause?.details['code']).toBe('STATE_CONFLICT')
  })

  it('a record of an Avro schema has gained, renamed and widened a field by the rules of Avro', async () => {
    const run = job()
    const recordOf = (...fields: readonly object[]) => ({ type: 'record', name: 'Count', fields })
    const before = avroFormat<Count>(avro.Type, recordOf({ name: 'n', type: 'int' }))
    await run.run(counting({ serializer: before }, counts), ['a', 'a', 'b'])
    const after = avroFormat<Total>(
      avro.Type,
      recordOf(
        { name: 'total', type: 'double', aliases: ['n'] },
        { name: 'last', type: 'string', default: 'none' },
      ),
    )
    expect(await run.run(counting({ serializer: after }, totals), ['a', 'c'])).toEqual([
      'a {"total":2.5,"last":"none+"}',
      'c {"total":1,"last":"new"}',
    ])
    const narrow = avroFormat<Total>(avro.Type, recordOf({ name: 'last', type: 'int' }))
    await expect(run.run(counting({ serializer: narrow }, totals), ['a'])).rejects.toThrow(
      'the Avro schemas cannot be resolved',
    )
  })

  it('a record of a JSON schema gets defaults, and is refused where it does not fit', async () => {
    const run = job()
    const ajv = new Ajv({ useDefaults: true })
    const format = <T>(properties: object) => {
      const schema = { type: 'object', properties, required: Object.keys(properties) }
      return jsonSchemaFormat<T>(schema, ajv.compile(schema))
    }
    const before = format<Count>({ n: { type: 'integer' } })
    await run.run(counting({ serializer: before }, counts), ['a', 'a'])
    const last = { type: 'string', default: 'none' }
    const after = format<Count & { last: string }>({ n: { type: 'number' }, last })
    const next = (value: Count & { last: string }) => ({ ...value, n: value.n + 0.5 })
    const one = { n: 1, last: 'new' }
    expect(await run.run(counting({ serializer: after }, { one, next }), ['a'])).toEqual([
      'a {"n":2.5,"last":"none"}',
    ])
    const wrong = format<Count>({ n: { type: 'string' } })
    await expect(run.run(counting({ serializer: wrong }, counts), ['a'])).rejects.toThrow(
      'a value does not fit its JSON schema: /n must be string',
    )
  })

  it('a serializer reads the older ids that it names', async () => {
    const run = job()
    await run.run(counting({ serializer: stringSerializer }, texts), ['a', 'a'])
    const lengths: EvolvingSerializer<number> = {
      ...int53Serializer,
      id: 'length/2',
      readerOf: (id) =>
        id === stringSerializer.id ? (reader) => stringSerializer.read(reader).length : `not ${id}`,
    }
    expect(await run.run(counting({ serializer: lengths }, numbers), ['a'])).toEqual(['a 3'])
  })

  it('a serializer of another type is refused', async () => {
    const run = job()
    await run.run(counting({ serializer: stringSerializer }, texts), ['a'])
    await expect(
      run.run(counting({ serializer: float64Serializer }, numbers), ['a']),
    ).rejects.toThrow(
      'is value (string/1) in the checkpoint and value (float64/1) in the job: float64/1 does not read string/1',
    )
  })

  it.each([
    ['added', undefined, { ttlMs: 1e9 }],
    ['removed', { ttlMs: 1e9 }, undefined],
  ])('a time to live of a value, a list and a map is %s', async (_, before, after) => {
    const version = (ttl: { ttlMs: number } | undefined) =>
      keyedVersion({
        open(context) {
          const options = ttl === undefined ? {} : { ttl }
          const value = context.getState(valueState<number>('value', options))
          const list = context.getListState(listState<string>('list', options))
          const map = context.getMapState(mapState<string, number>('map', options))
          return ({ word }, out) => {
            value.update((value.value() ?? 0) + 1)
            list.add(`${word}${value.value()}`)
            map.put(word, value.value()!)
            out.collect(`${list.get()} ${[...map.entries()]}`)
          }
        },
      })
    const run = job()
    await run.run(version(before), ['a', 'a'])
    expect(await run.run(version(after), ['a'])).toEqual(['a1,a2,a3 a,3'])
    expect(await run.run(version(after), ['a'])).toEqual(['a1,a2,a3,a4 a,4'])
  })

  it('elements of lists and values of maps, reduced and aggregated ones follow the same rules', async () => {
    const version = <T extends object>(
      serializer: EvolvingSerializer<T>,
      one: T,
      add: (a: T, b: T) => T,
    ) =>
      keyedVersion({
        open(context) {
          const list = context.getListState(listState<T>('list', { serializer }))
          const map = context.getMapState(mapState<string, T>('map', { serializer }))
          const reduced = context.getReducingState(reducingState('reduced', add, { serializer }))
          const aggregate = {
            createAccumulator: () => one,
            add: (value: T, sum: T) => add(sum, value),
            getResult: (sum: T) => sum,
            merge: add,
          }
          const sums = context.getAggregatingState(
            aggregatingState<T, T, T>('sums', aggregate, { serializer }),
          )
          return ({ at }, out) => {
            list.add(one)
            map.put(String(at), one)
            reduced.add(one)
            sums.add(one)
            const all = [list.get(), [...map.values()], reduced.get(), sums.get()]
            out.collect(JSON.stringify(all))
          }
        },
      })
    const run = job()
    await run.run(
      version(COUNT, { n: 1 }, (a, b) => ({ n: a.n + b.n })),
      [
        { word: 'a', at: 1 },
        { word: 'a', at: 2 },
      ],
    )
    const add = (a: Total, b: Total) => ({ total: a.total + b.total, last: a.last })
    const [result] = await run.run(version(TOTAL, { total: 1, last: 'new' }, add), [
      { word: 'a', at: 3 },
    ])
    const old = { total: 1, last: 'none' }
    const fresh = { total: 1, last: 'new' }
    expect(JSON.parse(result!)).toEqual([
      [old, old, fresh],
      [old, old, fresh],
      { total: 3, last: 'none' },
      { total: 4, last: 'none' },
    ])
  })

  it.each([
    ['string to number', 'string', 'number', (word: string) => Number(word)],
    ['string to tuple', 'string', 'tuple of string', (word: string) => [word]],
    ['string to boolean', 'string', 'boolean', (word: string) => word === '1'],
  ])('a key that changed from %s is refused with its first record', async (_, old, now, key) => {
    const run = job()
    await run.run(counting({}, numbers), ['1', '2'])
    const version = counting({}, numbers, { keyBy: ({ word }) => key(word) })
    await expect(run.run(version, ['1'])).rejects.toThrow(
      `the keys of operator "state" are ${old} in the checkpoint and ${now} in the job`,
    )
  })

  it('a tuple key with a part of another type is refused', async () => {
    const run = job()
    const byPair = (second: (word: string) => unknown) =>
      counting({}, numbers, { keyBy: ({ word }) => [word, second(word)] })
    await run.run(
      byPair((word) => word),
      ['1'],
    )
    await expect(run.run(byPair(Number), ['1'])).rejects.toThrow(
      'are tuple of string and string in the checkpoint and tuple of string and number in the job',
    )
  })

  it('a key with another serializer is refused', async () => {
    const run = job()
    await run.run(counting({}, numbers), ['a'])
    const version = counting({}, numbers, { keys: stringSerializer as never })
    await expect(run.run(version, ['a'])).rejects.toThrow(
      'the keys of operator "state" are key/1 in the checkpoint and string/1 in the job',
    )
  })

  it('a changed type of key starts where non-restored state is allowed', async () => {
    const run = job()
    await run.run(counting({}, numbers), ['1'])
    const version = counting({}, numbers, { keyBy: ({ word }) => Number(word) })
    expect(await run.run(version, ['1'], { options: ALLOW })).toEqual(['1 1'])
    // From then on there are keys of both types.
    expect(await run.run(version, ['1'])).toEqual(['1 2'])
  })

  it.each([
    ['number', 'string', numbers, { one: 'x', next: (value: unknown) => `${value}x` }],
    ['number', 'record', numbers, { one: {}, next: () => ({}) }],
    ['string', 'array', texts, { one: [], next: () => [] }],
  ])(
    'a value that changed from %s to %s is refused with its first write',
    async (old, now, before, after) => {
      const run = job()
      await run.run(counting<unknown>({}, before as never), ['a'])
      await expect(run.run(counting<unknown>({}, after as never), ['a'])).rejects.toThrow(
        `state "count" holds a ${old} in the checkpoint, and the job writes a ${now}`,
      )
    },
  )

  it('values of several types in one state are no change, and neither is null', async () => {
    const values = [1, 'x', null, true]
    const version = () =>
      keyedVersion({
        open(context) {
          const state = context.getState(valueState<unknown>('count'))
          return ({ at }, out) => {
            state.update(values[at])
            out.collect('ok')
          }
        },
      })
    const run = job()
    await run.run(version(), [
      { word: 'a', at: 0 },
      { word: 'b', at: 1 },
    ])
    expect(await run.run(version(), [{ word: 'a', at: 3 }])).toEqual(['ok'])
    const other = job()
    await other.run(version(), [{ word: 'a', at: 0 }])
    expect(await other.run(version(), [{ word: 'a', at: 2 }])).toEqual(['ok'])
  })

  it('another kind of state is refused', async () => {
    const run = job()
    await run.run(counting({}, numbers), ['a'])
    const version = keyedVersion({
      open(context) {
        const list = context.getListState(listState<number>('count'))
        return (_word, out) => out.collect(String(list.get()))
      },
    })
    await expect(run.run(version, ['a'])).rejects.toThrow(
      'is declared as list (msgpack/1+chunks) but exists as value (msgpack/1)',
    )
  })

  it('the accumulator of an open window follows the rules of its serializer', async () => {
    const version =
      <T extends object>(
        serializer: EvolvingSerializer<T>,
        none: T,
        add: (sum: T, n: number) => T,
      ): Version =>
      (words) =>
        words
          .keyBy(({ word }) => word)
          .window(tumblingEventTimeWindows(1000))
          .aggregate(
            {
              createAccumulator: () => none,
              add: ({ at }, sum) => add(sum, at),
              getResult: (sum) => JSON.stringify(sum),
              merge: () => {
                throw new Error('nothing is merged')
              },
            },
            { serializer },
          )
          .uid('window')
    const run = job()
    const before = version<Count>(COUNT, { n: 0 }, ({ n }, at) => ({ n: n + at }))
    const after = version<Total>(TOTAL, { total: 0, last: 'new' }, ({ total, last }, at) => {
      return { total: total + at, last }
    })
    await run.run(before, [{ word: 'a', at: 5 }], { results: 0 })
    const more = [
      { word: 'a', at: 7 },
      { word: 'end', at: 1500 },
    ]
    expect(await run.run(after, more, { results: 1 })).toEqual(['{"total":12,"last":"none"}'])
  })
})
