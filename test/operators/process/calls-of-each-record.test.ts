import { expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../../src/operators/process/function.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import { listState, mapState, valueState } from '../../../src/state/port/descriptors.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

/** The calls of one record, as JavaScript without types makes them: each takes anything. */
interface Calls {
  readonly state: Record<string, Record<string, (...given: unknown[]) => unknown>>
  readonly timers: Record<string, (timestamp: unknown) => void>
  collect(value: unknown, timestamp?: unknown): void
  output(tag: unknown, value: unknown): void
}

type Call = (calls: Calls) => unknown

class Caller implements KeyedProcessFunction<string, Call, unknown> {
  private state!: Calls['state']

  open(context: KeyedFunctionContext): void {
    this.state = {
      value: context.getState(valueState('value')),
      list: context.getListState(listState('list')),
      map: context.getMapState(mapState('map')),
    } as never
  }

  processElement(call: Call, context: KeyedProcessContext<string>, out: Collector<unknown>): void {
    const { timerService } = context
    out.collect(
      call({
        state: this.state,
        timers: timerService as never,
        collect: (value, timestamp) => out.collect(value, timestamp as number),
        output: (tag, value) => context.output(tag as never, value),
      }),
    )
  }
}

/** What a call of one record returns, in an operator of its own. */
async function called(call: Call): Promise<unknown> {
  const keys = { selectors: [() => 'k'], serializer: plainKeySerializer() }
  const operator = new KeyedProcessOperator(new Caller(), plainKeySerializer(), true)
  const harness = await OperatorHarness.open<Call, unknown>({ operator, keys })
  harness.process(call, 1)
  return harness.outputs.at(-1)
}

const REFUSED: Readonly<Record<string, Call>> = {
  'a result with the time NaN': ({ collect }) => collect(1, Number.NaN),
  'a result with the time "5"': ({ collect }) => collect(1, '5'),
  'a result with a Date': ({ collect }) => collect(1, new Date(0)),
  'a side output by its name': ({ output }) => output('late', 1),
  'an event-time timer at NaN': ({ timers }) => timers['registerEventTimeTimer']!(Number.NaN),
  'an event-time timer at "5"': ({ timers }) => timers['registerEventTimeTimer']!('5'),
  'an event-time timer at 1.5': ({ timers }) => timers['registerEventTimeTimer']!(1.5),
  'a processing-time timer at undefined': ({ timers }) =>
    timers['registerProcessingTimeTimer']!(undefined),
  'no event-time timer at NaN': ({ timers }) => timers['deleteEventTimeTimer']!(Number.NaN),
  'no processing-time timer at "5"': ({ timers }) => timers['deleteProcessingTimeTimer']!('5'),
  'a text as the values of a list': ({ state }) => state['list']!['addAll']!('ab'),
  'a number as the new values of a list': ({ state }) => state['list']!['update']!(5),
  'an object as the entries of a map': ({ state }) => state['map']!['putAll']!({ a: 1 }),
  'a text as the entries of a map': ({ state }) => state['map']!['putAll']!('ab'),
}

it.each(Object.entries(REFUSED))('%s is refused', async (_, call) => {
  await expect(called(call)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

it.each([
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['a promise', Promise.resolve(1)],
])('%s as a value of state is refused', async (_, value) => {
  const update: Call = ({ state }) => state['value']!['update']!(value)
  await expect(called(update)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

it('a number that is no number, and a time before 1970, are values like others', async () => {
  const { state, time } = {
    state: ({ state: { value } }: Calls) => {
      value!['update']!(Number.NaN)
      return value!['value']!()
    },
    time: ({ timers, collect }: Calls) => {
      timers['registerEventTimeTimer']!(-5)
      collect('early', -5)
      return 'taken'
    },
  }
  expect(await called(state)).toMatchObject({ value: Number.NaN })
  expect(await called(time)).toMatchObject({ value: 'taken' })
})

it('keys of a map are of their types: 5 is not "5"', async () => {
  const call: Call = ({ state: { map } }) => {
    map!['put']!('5', 'text')
    return [map!['get']!('5'), map!['get']!(5) ?? 'none']
  }
  expect(await called(call)).toMatchObject({ value: ['text', 'none'] })
})
