import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../../src/operators/process/function.ts'
import { mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'

const SEEN = valueState<string>('seen')
const RULES = mapState<string, string>('rules')

type Context = KeyedProcessContext<string>

/** What a function does with state and keys. */
const USES: Readonly<Record<string, (state: ValueState<string>, context: Context) => unknown>> = {
  'an update': (state) => state.update('late'),
  'a look': (state) => state.value(),
  'a deletion': (state) => state.clear(),
  'the current key': (_, context) => context.currentKey,
  'a timer': (_, context) => context.timerService.registerProcessingTimeTimer(1),
}

/** How its call for a record is over when it does so. */
const LATER: Readonly<Record<string, (use: () => void) => void>> = {
  'in a callback': (use) => setImmediate(use),
  'behind an await': (use) => void Promise.resolve().then(use),
}

const CASES = Object.keys(USES).flatMap((use) => Object.keys(LATER).map((later) => [use, later]))

describe('state that is used when the call for its record is over', () => {
  it.each(CASES)(
    'is refused with an error that says when it may be used: %s %s',
    async (use, later) => {
      const errors: string[] = []
      const values = new MemorySink<string>()
      const env = new StreamExecutionEnvironment({ parallelism: 1 })
      let state: ValueState<string>
      const late: KeyedProcessFunction<string, string, string> = {
        open(context: KeyedFunctionContext) {
          state = context.getState(SEEN)
        },
        processElement(word, context, out) {
          state.update('in time')
          LATER[later!]!(() => {
            try {
              USES[use!]!(state, context)
              errors.push('none')
            } catch (error) {
              errors.push(`${(error as { code?: unknown }).code}: ${(error as Error).message}`)
            }
          })
          out.collect(`${word} ${state.value()}`)
        },
      }
      env
        .fromSource(new MemorySource([['a', 'b', 'a']], { bounded: false }))
        .keyBy((word) => word)
        .process<string>(() => late)
        .sinkTo(values)
      await using cluster = new MiniCluster()
      const job = cluster.startLocal(env.graph('late'))
      await until('each call is over', () => errors.length === 3)
      await job.cancel()
      const refused = expect.stringMatching(
        /^ILLEGAL_STATE: state, timers and the current key belong to the call/,
      )
      expect(errors).toEqual([refused, refused, refused])
      expect(values.values).toEqual(['a in time', 'b in time', 'a in time'])
    },
  )

  it('is refused in open, where there is no record yet, and the job ends', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      .fromElements(['a'])
      .keyBy((word) => word)
      .process<string>(() => ({
        open: (context: KeyedFunctionContext) => context.getState(SEEN).update('early'),
        processElement() {},
      }))
      .name('Early')
      .discard()
    await using cluster = new MiniCluster({
      configuration: {
        'restart-strategy.type': 'exponential-delay',
        'restart-strategy.exponential-delay.initial-backoff': '1 ms',
        'restart-strategy.exponential-delay.max-backoff': '1 ms',
      },
    })
    const job = cluster.startLocal(env.graph('early'))
    await expect(job.result).rejects.toThrow(/operator Early, .* no such call is under way/)
    expect(job.attempt).toBe(5)
  })

  it('is refused for a broadcast record, which has no key', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const words = env.fromElements(['a', 'b'])
    words
      .keyBy((word) => word)
      .connect(words.broadcast(RULES))
      .process<string>(() => {
        let state: ValueState<string>
        return {
          open(context) {
            state = context.getState(SEEN)
          },
          processElement: (word) => state.update(word),
          processBroadcastElement(_word, context) {
            context.applyToKeyedState(SEEN, (_key, each) => each.update('reached'))
            state.update('of no key')
          },
        }
      })
      .discard()
    await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
    await expect(cluster.run(env.graph('broadcast'))).rejects.toThrow(/no such call is under way/)
  })
})
