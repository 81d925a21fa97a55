import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '../../src/core/random.ts'
import { requestWriter } from '../../src/testing/load/http/request.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { HttpConnections } from '../load/http-connections.ts'
import { askAtRate } from '../load/open-loop.ts'
import { residentBytes } from '../load/resident-bytes.ts'
import { matrixModel } from './engine.ts'
import { startModelsOverHttp } from './linear-repository.ts'
import { percentile } from './serving.ts'

const MODELS = 1000
const PER_SECOND = 100
const SECONDS = 20
const CONNECTIONS = 16
const GIB = 2 ** 30
const BODY = JSON.stringify({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }],
})

/** Writes a repository of so many models of 4 x 2 floats. */
function writeTinyModels(folder: string, scratch: string, count: number): void {
  const { file } = matrixModel(scratch, 4, 2)
  for (let i = 0; i < count; i++) {
    const version = join(folder, `tiny-${i}`, '1')
    mkdirSync(version, { recursive: true })
    cpSync(file, join(version, 'model.onnx'))
  }
}

/** Asks models at random, a fixed number a second whatever the answers take. Returns the latencies, ms. */
async function askAll(port: number, models: number, seconds: number): Promise<number[]> {
  using connections = new HttpConnections(port, CONNECTIONS)
  const headers = { 'content-type': 'application/json' }
  const writer = requestWriter({ method: 'POST', host: 'localhost', headers })
  const random = seededRandom(7)
  const ask = async (dueAt: number): Promise<number> => {
    await connections.ask(writer(`/v2/models/tiny-${random.below(models)}/infer`, BODY))
    return performance.now() - dueAt
  }
  return await askAtRate(ask, PER_SECOND, seconds)
}

/** `infer-tiny-models`: a thousand models of a few bytes in one process. */
export const inferTinyModelsBenchmark: Benchmark = {
  name: 'infer-tiny-models',
  summary:
    '1,000 tiny ONNX models in one process: resident memory, and p99 of 100 requests/s over all',
  async run({ scratch, scale, say }) {
    const count = Math.ceil(MODELS * scale)
    const repository = join(scratch, 'tiny')
    writeTinyModels(repository, scratch, count)
    const startedAt = performance.now()
    await using server = await startModelsOverHttp(repository)
    const loadMs = performance.now() - startedAt
    say(`${count} models loaded in ${(loadMs / 1000).toFixed(1)} s`)
    const latencies = await askAll(server.port, count, SECONDS * scale)
    const sorted = latencies.toSorted((a, b) => a - b)
    const details = { models: count, loadMs: Math.round(loadMs), requests: latencies.length }
    return [
      {
        name: 'infer-tiny-models-memory',
        value: residentBytes(server.pid, 'VmRSS') / GIB,
        unit: 'GiB',
        target: 2,
        higher: false,
        details,
      },
      {
        name: 'infer-tiny-models-p99',
        value: percentile(sorted, 0.99),
        unit: 'ms',
        target: 20,
        higher: false,
        details: { ...details, p50: percentile(sorted, 0.5), most: sorted.at(-1)! },
      },
    ]
  },
}
