import { describe, expect, it } from 'vitest'
import { mapState, valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'
import { ProcessFunctionTestHarnesses } from '../../src/testing/process-function-test-harnesses.ts'

const rules = mapState<string, number>('rules')

describe('ProcessFunctionTestHarnesses', () => {
  it('run a process function', async () => {
    const harness = await ProcessFunctionTestHarnesses.forProcessFunction<number, number>({
      processElement: (n, _, out) => out.collect(n + 1),
    })
    harness.process(1, 5)
    expect(harness.outputs).toEqual([{ value: 2, timestamp: 5 }])
  })

  it('run a keyed function with state and timers of the key, which can be counted', async () => {
    let count: ValueState<number>
    const harness = await ProcessFunctionTestHarnesses.forKeyedProcessFunction<
      string,
      string,
      string
    >(
      {
        open(context) {
          count = context.getState(valueState<number>('count'))
        },
        processElement(_, context) {
          count.update((count.value() ?? 0) + 1)
          context.timerService.registerEventTimeTimer(100)
          context.timerService.registerProcessingTimeTimer(1_000)
        },
        onTimer: (_, context, out) => out.collect(`${context.currentKey} ${count.value()}`),
      },
      (word) => word,
    )
    for (const word of ['a', 'b', 'a']) harness.process(word)
    expect(harness.numKeyedStateEntries()).toBe(2)
    expect(harness.numEventTimeTimers()).toBe(2)
    expect(harness.numProcessingTimeTimers()).toBe(2)
    harness.watermark(100)
    expect(harness.take().sort()).toEqual(['a 2', 'b 1'])
    expect(harness.numEventTimeTimers()).toBe(0)
    expect(harness.numProcessingTimeTimers()).toBe(2)
  })

  it('run functions of two inputs, with keys and without', async () => {
    const plain = await ProcessFunctionTestHarnesses.forCoProcessFunction<number, string, string>({
      processElement1: (n, _, out) => out.collect(`${n}`),
      processElement2: (text, _, out) => out.collect(text),
    })
    plain.process(1)
    plain.process('one', 0, { input: 1 })
    expect(plain.values).toEqual(['1', 'one'])
    const seen = valueState<number>('seen')
    const keyed = await ProcessFunctionTestHarnesses.forKeyedCoProcessFunction<
      string,
      string,
      readonly [string],
      string
    >(
      {
        processElement1: (_, context) => context.getState(seen).update(7),
        processElement2: (_, context, out) => out.collect(`${context.getState(seen).value()}`),
      },
      (word) => word,
      ([word]) => word,
    )
    keyed.process('a')
    keyed.process(['a'], 0, { input: 1 })
    keyed.process(['b'], 0, { input: 1 })
    expect(keyed.values).toEqual(['7', 'undefined'])
  })

  it('run broadcast functions, with keys and without', async () => {
    const put = {
      processBroadcastElement: (word: string, context: never) =>
        (context as BroadcastAccess).getBroadcastState(rules).put(word, word.length),
    }
    const plain = await ProcessFunctionTestHarnesses.forBroadcastProcessFunction<
      string,
      string,
      number | undefined
    >(
      {
        ...put,
        processElement: (word, context, out) =>
          out.collect(context.getBroadcastState(rules).get(word)),
      },
      rules,
    )
    const keyed = await ProcessFunctionTestHarnesses.forKeyedBroadcastProcessFunction<
      string,
      string,
      string,
      string
    >(
      {
        ...put,
        processElement: (_, context, out) =>
          out.collect(
            `${context.currentKey} ${context.getBroadcastState(rules).get(context.currentKey)}`,
          ),
      },
      (word) => word,
      rules,
    )
    for (const harness of [plain, keyed]) {
      harness.process('tea', 0, { input: 1 })
      harness.process('tea')
    }
    expect([...plain.values, ...keyed.values]).toEqual([3, 'tea 3'])
  })
})

interface BroadcastAccess {
  getBroadcastState(state: typeof rules): { put(key: string, value: number): void }
}
