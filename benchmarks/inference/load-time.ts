import { openInferenceEngine } from '../../src/inference/engine/engine.ts'
import type { SharingProbe } from '../../src/inference/port/deployment.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { matrixModel } from './engine.ts'
import { percentile } from './serving.ts'

const LOADS = 40

/** `infer-load`: the probe of a load beside the load alone. */
export const inferLoadBenchmark: Benchmark = {
  name: 'infer-load',
  summary:
    'load of an ONNX model with the probe whether its rows are independent, beside the load alone',
  async run({ scratch, scale }) {
    const source = matrixModel(scratch, 784, 10)
    await using engine = openInferenceEngine()
    let version = 0
    const load = async (probe: SharingProbe | undefined): Promise<number> => {
      const id = { name: 'linear', version: ++version }
      const from = performance.now()
      await engine.load(id, source, { sloMs: 1000, ...(probe === undefined ? {} : { probe }) })
      const ms = performance.now() - from
      await engine.unload(id)
      return ms
    }
    const alone: number[] = []
    const probed: number[] = []
    // In turns, so that the state of the machine is the same for both.
    for (let i = 0; i < Math.ceil(LOADS * scale) + 1; i++) {
      const times = [await load(undefined), await load({ samples: [] })] as const
      // The first loads read the runtime from the disk.
      if (i === 0) continue
      alone.push(times[0])
      probed.push(times[1])
    }
    const median = (times: number[]): number =>
      percentile(
        times.toSorted((a, b) => a - b),
        0.5,
      )
    return [
      {
        name: 'infer-load',
        value: median(probed),
        unit: 'ms',
        higher: false,
        targetRatio: 1.2,
        rival: median(alone),
        rivalName: 'the load alone',
        details: { loads: alone.length },
      },
    ]
  },
}
