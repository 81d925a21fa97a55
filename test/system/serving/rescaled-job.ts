import {
  defineJob,
  GeneratorSource,
  modelVersion,
  type ValueState,
  type VectorState,
  valueState,
  vectorState,
} from '../../../src/index.ts'

/** Number of keys, `key-0` and so on; each has a row and a value. */
export const KEYS = 20_000
const DIMENSION = 16
const VERSION = modelVersion(1)

/** Writes a row and a value for one key after the other, again and again: state that a job restores. */
export default defineJob({
  name: 'rescaled',
  build(env) {
    const generate = (index: number): number => index % KEYS
    env
      .fromSource(new GeneratorSource({ generate, ratePerSecond: 40_000 }))
      .uid('numbers')
      .keyBy((n) => `key-${n}`)
      .process<never>(() => {
        const row = new Float32Array(DIMENSION).fill(1)
        let rows: VectorState
        let values: ValueState<string>
        return {
          open(context) {
            const descriptor = vectorState('rows', { dimension: DIMENSION, queryableName: 'ROWS' })
            rows = context.getVectorState(descriptor)
            values = context.getState(valueState<string>('values', { queryableName: 'VALUES' }))
          },
          processElement(n, context) {
            const { partition, offset } = context.position
            rows.put(VERSION, context.currentKeyBytes, row, { partition, offset, eventTime: -1 })
            values.update(`value ${n}`)
          },
        }
      })
      .uid('rows')
  },
})
