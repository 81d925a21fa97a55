import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../../src/inference/port/engine.ts'
import { JobModels } from '../../../src/jobs/models/job-models.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { readCommitted } from '../../fixtures/committed-records.ts'
import type { InferJobOptions, InferredValue } from './infer-job.ts'

const BATCH = 400
const SLOTS = 2
const KILLS = 4
const encoder = new TextEncoder()

/** A model that multiplies by a number; a run while the file `end` is there ends the worker, once. */
const moduleOf = (factor: number): string => `
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
const spec = (name) => ({ name, datatype: 'FP32', shape: [-1] })
export default {
  signature: { inputs: [spec('x')], outputs: [spec('y')] },
  async run([x]) {
    let ends = true
    try { unlinkSync(join(import.meta.dirname, 'end')) } catch { ends = false }
    if (ends) process.exit(7)
    await new Promise((resolve) => setTimeout(resolve, 2))
    const values = new Float32Array(x.data.slice().buffer).map((value) => ${factor} * value)
    return [{ name: 'y', datatype: 'FP32', shape: x.shape, data: new Uint8Array(values.buffer) }]
  },
}
`

function push(repository: string, version: number, factor: number): void {
  const folder = join(repository, 'multiply', String(version))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'model.mjs'), moduleOf(factor))
}

/** Every committed answer. */
function readAnswers(directory: string): Promise<InferredValue[]> {
  return readCommitted(directory, 'answers')
}

it('a job that asks a model loses and repeats no record when workers and slots are killed and versions change', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-infer-'))
  const repository = join(root, 'models')
  push(repository, 1, 2)
  writeFileSync(join(repository, 'multiply', 'deployment.yaml'), 'slo-ms: 100\nmax-batch: 8\n')
  const paths: InferJobOptions = { input: join(root, 'in'), output: join(root, 'out') }
  await using input = await EmbeddedLog.open(paths.input)
  await using output = await EmbeddedLog.open(paths.output)
  await input.createTopic('values', { partitions: 2 })
  await output.createTopic('answers', { partitions: 1 })
  const producer = input.producer('values')
  let sent = 0
  const produce = async (): Promise<void> => {
    for (let i = 0; i < BATCH; i++, sent++) producer.send(null, encoder.encode(String(sent)), 0)
    await producer.flush()
  }
  let engine!: InferenceEngine
  const openEngine = async (): Promise<InferenceEngine> => {
    engine = openInferenceEngine()
    return engine
  }
  try {
    await using models = new JobModels({ repository, openEngine, scanMs: 50 })
    await using cluster = new MiniCluster()
    const url = new URL('./infer-job.ts', import.meta.url)
    const job = await cluster.startWorkers(url, paths, {
      models: models.coordinator,
      configuration: {
        'parallelism.default': String(SLOTS),
        'execution.checkpointing.interval': '60 ms',
        'execution.checkpointing.dir': join(root, 'checkpoints'),
        'state.backend.directory': join(root, 'state'),
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '100',
        'restart-strategy.fixed-delay.delay': '10 ms',
      },
    })
    const answered = (): number =>
      engine === undefined ? 0 : engine.statistics().reduce((sum, one) => sum + one.answered, 0)
    const committed = async (): Promise<number> => (await readAnswers(paths.output)).length
    /** Sends records, and waits until the model answers; a new version counts from 0. */
    const inFlight = async (): Promise<void> => {
      const before = answered()
      await produce()
      await expect.poll(answered).not.toBe(before)
    }
    const versions = (): number[] => engine.statistics().map(({ id }) => id.version)
    const lost = (): number => engine.statistics().reduce((sum, one) => sum + one.workersLost, 0)
    for (let kill = 0; kill < KILLS; kill++) {
      // A kill drops what is not committed, and version 2 may answer it then.
      if (kill === 1) await expect.poll(committed).toBeGreaterThan(0)
      await inFlight()
      job.killSlot(kill % SLOTS)
      if (kill === 1) push(repository, 2, 3)
      await inFlight()
      const live = kill === 0 ? 1 : 2
      await expect.poll(versions).toEqual([live])
      const before = lost()
      writeFileSync(join(repository, 'multiply', String(live), 'end'), '')
      await produce()
      await expect.poll(lost).toBeGreaterThan(before)
    }
    await expect.poll(committed, { interval: 200 }).toBeGreaterThanOrEqual(sent)
    const answers = await readAnswers(paths.output)
    expect(answers.map(({ value }) => value).sort((a, b) => a - b)).toEqual(
      Array.from({ length: sent }, (_, i) => i),
    )
    const wrong = answers.filter(({ value, answer, version }) => answer !== value * (version + 1))
    expect(wrong).toEqual([])
    expect(new Set(answers.map(({ version }) => version))).toEqual(new Set([1, 2]))
    expect(job.status).toBe('RUNNING')
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
