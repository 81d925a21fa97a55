import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import { QueueMemory } from '../queue/memory.ts'
import { openModel } from '../runners/open.ts'
import { openChildModel } from './child-model.ts'
import type { ServeMessage, WorkerMessage, WorkerStart } from './messages.ts'
import { serveQueue } from './serve.ts'
import { probeSharing } from './sharing-probe.ts'
import { warmUp } from './warm-up.ts'

/* The thread of a worker: it loads the model, waits for its queue and serves it until the queue is closed. */

const start = workerData as WorkerStart

const post = (message: WorkerMessage): void => parentPort?.postMessage(message)

const load = (options: WorkerStart): Promise<LoadedModel> =>
  options.isolation === 'process'
    ? openChildModel(options, {
        onStarted: (pid) => post({ kind: 'child', pid }),
        onExceeded: () => post({ kind: 'exceeded' }),
      })
    : openModel(options.source, options)

/** The signature of a model; requests share no run where a probe says that they must not. */
async function sharedSignature(
  model: LoadedModel,
  { probe, signature: known, mostItems }: WorkerStart,
): Promise<ModelSignature> {
  const { signature } = model
  if (known !== undefined || probe === undefined || signature.alone !== undefined) return signature
  const nowMs = (): number => systemClock.monotonicMs()
  const { samples } = probe
  const alone = await probeSharing(model, { signature, samples, mostItems, nowMs })
  return alone === undefined ? signature : { ...signature, alone }
}

async function main(): Promise<void> {
  const model = await load(start)
  const signature = await sharedSignature(model, start)
  if (start.warmUp !== undefined) await warmUp(model, start.warmUp, start.mostItems)
  // Without a queue the worker is not needed.
  const started = new Promise<ServeMessage | undefined>((resolve) => {
    parentPort?.once('message', resolve)
  })
  post({ kind: 'loaded', signature })
  const queue = await started
  if (queue === undefined) return await model.close()
  const { buffer, ...options } = queue
  await serveQueue({
    ...options,
    memory: new QueueMemory(buffer),
    model,
    reload: () => load({ ...start, signature: options.signature }),
    report: (kind) => post({ kind }),
    nowMs: () => systemClock.monotonicMs(),
  })
}

main().then(
  () => parentPort?.close(),
  (error) => {
    const { code, message } = asWeirError(error, 'MODEL_FAILED')
    post({ kind: 'failed', code, message })
    parentPort?.close()
  },
)
