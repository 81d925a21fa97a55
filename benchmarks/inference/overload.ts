import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Benchmark } from '../harness/benchmark.ts'
import { measureThroughput } from '../load/generator.ts'
import { HttpConnections } from '../load/http-connections.ts'
import { askAtRate } from '../load/open-loop.ts'
import { startModelsOverHttp } from './linear-repository.ts'
import { bytesRequest } from './linear-requests.ts'
import { percentile } from './serving.ts'

const SECONDS = 10
const GOAL_MS = 100
const OVERLOAD = 3
/** Two batches: one runs, and one waits. */
const OUTSTANDING = 16
const CONNECTIONS = 512
/** A run of n items takes 10 + 2 n ms and no processor, as that of another machine. */
const MODULE = `
const never = new Int32Array(new SharedArrayBuffer(4))
export default {
  signature: {
    batches: true,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
  },
  run([x], items) {
    Atomics.wait(never, 0, 0, 10 + 2 * items)
    return [{ ...x, name: 'y' }]
  },
}
`
const SETTINGS = `slo-ms: ${GOAL_MS}\nmax-batch: 8\nqueue-capacity: 512\n`

/** What became of a request, by the clock of the client. */
interface Outcome {
  readonly ms: number
  readonly isAnswered: boolean
}

function writeCosting(folder: string): void {
  const version = join(folder, 'costing', '1')
  mkdirSync(version, { recursive: true })
  writeFileSync(join(version, 'model.mjs'), MODULE)
  writeFileSync(join(folder, 'costing', 'deployment.yaml'), SETTINGS)
}

const BODY = JSON.stringify({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [0.5] }],
})

/** A request of one item, with further fields. */
function requestWith(fields: Readonly<Record<string, string>>): Buffer {
  const headers = { 'content-type': 'application/json', ...fields }
  return bytesRequest('/v2/models/costing/infer', headers, Buffer.from(BODY))
}

/** `infer-overload`: three times the capacity over HTTP; answers that a client has within the goal. */
export const inferOverloadBenchmark: Benchmark = {
  name: 'infer-overload',
  summary: 'three times the capacity over HTTP: answers within the goal of 100 ms, of the capacity',
  async run({ scratch, scale }) {
    const repository = join(scratch, 'overload')
    writeCosting(repository)
    await using server = await startModelsOverHttp(repository)
    using connections = new HttpConnections(server.port, CONNECTIONS)
    const [request, patient] = [requestWith({}), requestWith({ 'weir-deadline-ms': '30000' })]
    const ask = (): Promise<unknown> => connections.ask(request)
    // Nothing is refused while the capacity is measured: a busy machine would refuse some of the goal.
    const askPatiently = (): Promise<unknown> => connections.ask(patient)
    const seconds = SECONDS * scale
    await measureThroughput(askPatiently, OUTSTANDING, seconds * 0.2)
    const { perSecond: capacity } = await measureThroughput(
      askPatiently,
      OUTSTANDING,
      seconds * 0.4,
    )
    const outcome = async (): Promise<Outcome> => {
      const askedAt = performance.now()
      const isAnswered = await ask().then(
        () => true,
        () => false,
      )
      return { ms: performance.now() - askedAt, isAnswered }
    }
    const startedAt = performance.now()
    const all = await askAtRate(outcome, OVERLOAD * capacity, seconds)
    const tookS = (performance.now() - startedAt) / 1000
    const answered = all.filter(({ isAnswered }) => isAnswered)
    const times = answered.map(({ ms }) => ms).sort((a, b) => a - b)
    const inTime = times.filter((ms) => ms <= GOAL_MS).length
    return [
      {
        name: 'infer-overload',
        value: inTime / tookS,
        unit: 'answers/s in time',
        rival: capacity,
        rivalName: 'capacity',
        targetRatio: 0.95,
        details: {
          offeredPerSecond: all.length / tookS,
          late: answered.length - inTime,
          refused: all.length - answered.length,
          p50Ms: percentile(times, 0.5),
          p99Ms: percentile(times, 0.99),
        },
      },
    ]
  },
}
