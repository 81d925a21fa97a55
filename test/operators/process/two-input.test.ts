import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { BroadcastProcessOperator } from '../../../src/operators/process/broadcast.ts'
import { CoProcessOperator } from '../../../src/operators/process/co-process.ts'
import { KeyedBroadcastProcessOperator } from '../../../src/operators/process/keyed-broadcast.ts'
import { KeyedCoProcessOperator } from '../../../src/operators/process/keyed-co-process.ts'
import { listState, mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { ListState, ValueState } from '../../../src/state/port/handles.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const serializer = plainKeySerializer()
const firstOf = (pair: readonly [string, ...unknown[]]): string => pair[0]

describe('CoProcessOperator', () => {
  it('gives each input to its own method', async () => {
    const operator = new CoProcessOperator<number, string, string>({
      processElement1: (value, _, out) => out.collect(`number ${value}`),
      processElement2: (value, _, out) => out.collect(`text ${value}`),
    })
    const harness = await OperatorHarness.open<number | string, string>({ operator })
    harness.process(1)
    harness.process('x', 5, { input: 1 })
    expect(harness.outputs).toEqual([
      { value: 'number 1', timestamp: -1 },
      { value: 'text x', timestamp: 5 },
    ])
  })
})

describe('KeyedCoProcessOperator', () => {
  type Order = readonly [user: string, item: string]
  type Name = readonly [user: string, name: string]

  /** Keeps orders until the user's name is known. At event time 100 it gives up. */
  function joining() {
    let name: ValueState<string>
    let waiting: ListState<string>
    return new KeyedCoProcessOperator<string, Order, Name, string>(
      {
        open(context) {
          name = context.getState(valueState<string>('name'))
          waiting = context.getListState(listState<string>('waiting'))
        },
        processElement1([, item], context, out) {
          const known = name.value()
          if (known !== undefined) out.collect(`${known}: ${item}`)
          else {
            waiting.add(item)
            context.timerService.registerEventTimeTimer(100)
          }
        },
        processElement2([, value], _, out) {
          name.update(value)
          for (const item of waiting.get()) out.collect(`${value}: ${item}`)
          waiting.clear()
        },
        onTimer(_, context, out) {
          for (const item of waiting.get()) out.collect(`${context.currentKey}?: ${item}`)
          waiting.clear()
        },
      },
      plainKeySerializer<string>(),
      true,
    )
  }

  const open = (restore: HarnessSnapshot[] = []) =>
    OperatorHarness.open<Order | Name, string>({
      operator: joining(),
      keys: { selectors: [firstOf, firstOf], serializer },
      restore,
    })

  it('gives both inputs the state and timers of a key', async () => {
    const harness = await open()
    harness.process(['u1', 'pen'], 1)
    harness.process(['u2', 'ink'], 1)
    harness.process(['u1', 'Ada'], 2, { input: 1 })
    harness.process(['u1', 'cup'], 3)
    harness.watermark(100)
    expect(harness.values).toEqual(['Ada: pen', 'Ada: cup', 'u2?: ink'])
  })

  it('continues from a snapshot', async () => {
    const before = await open()
    before.process(['u1', 'pen'], 1)
    const after = await open([await before.snapshot()])
    after.process(['u1', 'Ada'], 2, { input: 1 })
    expect(after.values).toEqual(['Ada: pen'])
  })
})

const limits = mapState<string, number>('limits')
const open = <OUT>(operator: object, options: object = {}) =>
  OperatorHarness.open<unknown, OUT>({ operator, ...options } as never)

describe('BroadcastProcessOperator', () => {
  const create = (states = [limits] as never) =>
    new BroadcastProcessOperator<[string, number], [string, number], string>(
      {
        processElement([kind, amount], context, out) {
          const limit = context.getBroadcastState(limits).get(kind)
          if (limit !== undefined && amount > limit) out.collect(`${kind} ${amount} > ${limit}`)
        },
        processBroadcastElement([kind, limit], context) {
          const state = context.getBroadcastState(limits)
          if (limit < 0) state.remove(kind)
          else state.put(kind, limit)
        },
      },
      states,
    )

  it('shows records what the broadcast side wrote', async () => {
    const harness = await open<string>(create())
    harness.process(['tea', 5])
    harness.process(['tea', 3], -1, { input: 1 })
    harness.process(['tea', 5])
    harness.process(['tea', -1], -1, { input: 1 })
    harness.process(['tea', 9])
    expect(harness.values).toEqual(['tea 5 > 3'])
  })

  it('gives every subtask the broadcast state at a larger parallelism, and keeps it over two restores', async () => {
    const before = await open<string>(create())
    before.process(['tea', 3], -1, { input: 1 })
    const snapshot = await before.snapshot()
    for (let subtask = 0; subtask < 3; subtask++) {
      const part = await open<string>(create(), { restore: [snapshot], subtask, parallelism: 3 })
      part.process(['tea', 5])
      expect(part.values).toEqual(['tea 5 > 3'])
      const again = await open<string>(create(), { restore: [await part.snapshot()] })
      again.process(['tea', 4])
      expect(again.values).toEqual(['tea 4 > 3'])
    }
  })

  it('keeps the documented layout of an entry, and refuses a newer one', async () => {
    const harness = await open<string>(create())
    harness.process(['t', 3], -1, { input: 1 })
    const snapshot = await harness.snapshot()
    const name = [6, ...new TextEncoder().encode('limits')]
    const id = [9, ...new TextEncoder().encode('msgpack/1')]
    const entry = [2, ...name, ...id, ...id, 2, 0xa1, 0x74, 1, 3]
    expect(snapshot.operatorState).toEqual([
      { name: 'broadcast', redistribution: 'broadcast', entries: [Uint8Array.from(entry)] },
    ])
    const [state] = snapshot.operatorState
    const former = Uint8Array.of(1, ...name, 2, 0xa1, 0x74, 1, 3)
    const old = { ...snapshot, operatorState: [{ ...state!, entries: [former] }] }
    const restored = await open<string>(create(), { restore: [old] })
    restored.process(['t', 5])
    expect(restored.values).toEqual(['t 5 > 3'])
    snapshot.operatorState[0]!.entries[0]![0] = 3
    await expect(open(create(), { restore: [snapshot] })).rejects.toMatchObject({
      code: 'UNSUPPORTED_VERSION',
    })
  })

  it('refuses a descriptor that broadcast(...) does not declare', async () => {
    const other = mapState<string, number>('other')
    const harness = await open<string>(create([other] as never))
    expect(() => harness.process(['tea', 1])).toThrow(
      /asks for broadcast state "limits", but broadcast\(\.\.\.\) declares only "other"/,
    )
  })

  it('refuses a descriptor of the same name with other serializers', async () => {
    const other = mapState<string, number>('limits', { keySerializer: stringSerializer })
    const harness = await open<string>(create([other] as never))
    expect(() => harness.process(['tea', 1])).toThrow(/use one descriptor object in both places/)
  })
})

describe('KeyedBroadcastProcessOperator', () => {
  it('combines keyed state, timers and broadcast state, and restores all three', async () => {
    const create = () => {
      let count: ValueState<number>
      return new KeyedBroadcastProcessOperator<string, [string], [string, number], string>(
        {
          open(context) {
            count = context.getState(
              valueState<number>('count', { serializer: msgpackSerializer() }),
            )
          },
          processElement(_, context) {
            count.update((count.value() ?? 0) + 1)
            context.timerService.registerEventTimeTimer(10)
          },
          processBroadcastElement([kind, limit], context) {
            context.getBroadcastState(limits).put(kind, limit)
          },
          onTimer(_, context, out) {
            const limit = context.getBroadcastState(limits).get('count') ?? 0
            if (count.value()! > limit) out.collect(`${context.currentKey} ${count.value()}`)
          },
        },
        plainKeySerializer<string>(),
        { eventTime: true, states: [limits] as never },
      )
    }
    const keys = { selectors: [firstOf, undefined], serializer }
    const before = await open<string>(create(), { keys })
    before.process(['count', 1], -1, { input: 1 })
    for (const user of ['a', 'b', 'b']) before.process([user])
    const after = await open<string>(create(), { keys, restore: [await before.snapshot()] })
    after.watermark(10)
    expect(after.values).toEqual(['b 2'])
  })

  it('reaches the state of every key from the broadcast side', async () => {
    const count = valueState<number>('count')
    const names = listState<string>('names')
    let counts: ValueState<number>
    const operator = new KeyedBroadcastProcessOperator<string, [string], [string, number], string>(
      {
        open(context) {
          counts = context.getState(count)
          context.getListState(names)
        },
        processElement([user], context, out) {
          counts.update((counts.value() ?? 0) + 1)
          if (user !== 'b') context.getListState(names).add(user)
          out.collect(`${user} ${counts.value()}`)
        },
        processBroadcastElement([, factor], context, out) {
          context.applyToKeyedState(count, (key, state) => {
            state.update(state.value()! * factor)
            out.collect(`${key} times ${factor}`)
          })
          context.applyToKeyedState(names, (key, state) => out.collect(`${key}: ${state.get()}`))
        },
      },
      plainKeySerializer<string>(),
      { eventTime: true, states: [limits] as never },
    )
    const keys = { selectors: [firstOf, undefined], serializer }
    const harness = await open<string>(operator, { keys })
    for (const user of ['a', 'b', 'b']) harness.process([user])
    harness.take()
    harness.process(['times', 10], -1, { input: 1 })
    expect(harness.take().sort()).toEqual(['a times 10', 'a: a', 'b times 10'])
    for (const user of ['a', 'b']) harness.process([user])
    expect(harness.take()).toEqual(['a 11', 'b 21'])
  })

  it('refuses an asynchronous function for the state of a key', async () => {
    const count = valueState<number>('count')
    const operator = new KeyedBroadcastProcessOperator<string, [string], [string, number], string>(
      {
        processElement: (_, context) => context.getState(count).update(1),
        processBroadcastElement: (_, context) =>
          context.applyToKeyedState(count, (async () => {}) as never),
      },
      plainKeySerializer<string>(),
      { eventTime: true, states: [limits] as never },
    )
    const keys = { selectors: [firstOf, undefined], serializer }
    const harness = await open<string>(operator, { keys })
    harness.process(['a'])
    expect(() => harness.process(['all', 1], -1, { input: 1 })).toThrow(
      'the function of applyToKeyedState returned a promise',
    )
  })
})
