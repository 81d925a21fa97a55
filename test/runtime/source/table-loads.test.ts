import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import type { WeirError } from '../../../src/core/errors.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { TableLoads } from '../../../src/runtime/source/table-loads.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** Orders that wait for customers, at parallelism 2, and for prices, at 1. */
function loads() {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const numbers = (uid: string) =>
    env.fromSource(new GeneratorSource<number>({ generate: (index) => index })).uid(uid)
  const key = (n: number): number => n
  const none = { map1: (n: number) => n, map2: (n: number) => n }
  const first = numbers('orders')
    .keyBy(key)
    .connect(numbers('customers').keyBy(key), { wait: 'loaded' })
    .map(() => none)
    .uid('named')
  first
    .keyBy(key)
    .connect(numbers('prices').keyBy(key), { wait: 'loaded' })
    .map(() => none)
    .uid('priced')
    .setParallelism(1)
    .discard()
  const released: string[] = []
  const clock = new ManualClock(1_000)
  const said: string[] = []
  const say = ({ code, message }: WeirError): void => void said.push(`${code} ${message}`)
  const tables = new TableLoads(env.graph(), clock, say)
  tables.start((uid, event) => {
    expect(event).toEqual({ mayRead: true })
    released.push(uid)
  })
  return { tables, released, clock, said }
}

const LOADED = { tableLoaded: true }

describe('the loads of tables', () => {
  it('release a source when each subtask of each operator that waits has its table', () => {
    const { tables, released } = loads()
    expect(tables.onEvent('named', 0, LOADED)).toBe(true)
    expect(tables.onEvent('named', 0, LOADED)).toBe(true)
    expect(tables.onEvent('priced', 0, LOADED)).toBe(true)
    // The customers are part of the stream that waits for prices, and nothing else holds them.
    expect(released).toEqual(['customers'])
    tables.onEvent('named', 1, LOADED)
    expect(released).toEqual(['customers', 'orders'])
  })

  it('begin again with each attempt', () => {
    const { tables, released } = loads()
    tables.onEvent('named', 0, LOADED)
    tables.start((uid) => released.push(uid))
    tables.onEvent('named', 1, LOADED)
    tables.onEvent('priced', 0, LOADED)
    expect(released).toEqual(['customers'])
  })

  it('that take five seconds are said, and that they have ended then, too', () => {
    const { tables, clock, said } = loads()
    tables.onEvent('priced', 0, LOADED)
    tables.onEvent('named', 0, LOADED)
    clock.advance(4_999)
    expect(said).toEqual([])
    clock.advance(1)
    expect(said).toEqual([
      'TABLE_LOADING the table of operator "CoMap" is being loaded: its sources have not been read to the end that they had at the start, and no record of the stream that joins it is read before',
    ])
    tables.onEvent('named', 1, LOADED)
    expect(said.slice(1)).toEqual(['TABLE_LOADING the table of operator "CoMap" is loaded'])
  })

  it('that are quick, or of an attempt that is over, are not said', () => {
    const { tables, clock, said } = loads()
    tables.start(() => {})
    for (const subtask of [0, 1]) tables.onEvent('named', subtask, LOADED)
    tables.onEvent('priced', 0, LOADED)
    clock.advance(60_000)
    tables.start(() => {})
    tables.stop()
    clock.advance(60_000)
    expect(said).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('take no other event', () => {
    const { tables } = loads()
    expect(tables.onEvent('orders', 0, { sourceWatermark: 1 })).toBe(false)
    expect(tables.onEvent('orders', 0, undefined)).toBe(false)
  })
})
