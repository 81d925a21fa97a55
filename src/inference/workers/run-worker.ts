import { systemClock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import { WorkerParts } from '../parts/worker-parts.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import { QueueMemory } from '../queue/memory.ts'
import { openModel } from '../runners/open.ts'
import { withTransforms } from '../transforms/open.ts'
import { openChildModel } from './child-model.ts'
import type { ServeMessage, WorkerMessage, WorkerStart } from './messages.ts'
import { mostItemsOfRun, zeroInputs } from './sample-inputs.ts'
import { serveQueue } from './serve.ts'
import { probeSharing } from './sharing-probe.ts'
import type { Turns } from './turns.ts'
import { warmUp } from './warm-up.ts'

/** What a worker has of its thread. */
export interface WorkerThreadPort {
  readonly post: (message: WorkerMessage) => void
  /** Resolves with the queue, or with undefined when the worker is not needed. */
  readonly started: Promise<ServeMessage | undefined>
  /** Turns of the models that share the thread. @default the model has the thread for itself */
  readonly turns?: Turns
}

/** Runs that are measured, after one that takes memory and compiles. */
const MEASURED_RUNS = 3

/** Loads a model, waits for its queue and serves it until the queue is closed. Says by a message what fails. */
export async function runWorker(start: WorkerStart, port: WorkerThreadPort): Promise<void> {
  try {
    await loadAndServe(start, port)
  } catch (error) {
    const { code, message } = asWeirError(error, 'MODEL_FAILED')
    port.post({ kind: 'failed', code, message })
  }
}

async function loadAndServe(
  start: WorkerStart,
  { post, started, turns }: WorkerThreadPort,
): Promise<void> {
  const open = (options: WorkerStart): Promise<LoadedModel> =>
    options.isolation === 'process'
      ? openChildModel(options, {
          onStarted: (pid) => post({ kind: 'child', pid }),
          onExceeded: () => post({ kind: 'exceeded' }),
        })
      : openModel(options.source, options)
  let placement: DevicePlacement | undefined
  // A runner knows the model itself, without its transforms.
  const load = async (options: WorkerStart): Promise<LoadedModel> => {
    const known = options.signature?.bare ?? options.signature
    const bare = await open({ ...options, signature: known })
    placement = bare.placement
    const leave = await turns?.enter()
    const found = await sharedSignature(bare, options).finally(leave)
    return await withTransforms(bare, found, options)
  }
  const model = await load(start)
  const { signature } = model
  if (start.warmUp !== undefined) await warmUp(model, start.warmUp, start.mostItems)
  const runMs = turns === undefined ? 0 : await runTime(model, start.mostItems, turns)
  post({ kind: 'loaded', signature, runMs, placement })
  const queue = await started
  if (queue === undefined) return await model.close()
  const { buffer, parts: port, ...options } = queue
  const memory = new QueueMemory(buffer)
  const { outputBytes } = memory
  const parts =
    port === undefined
      ? undefined
      : new WorkerParts(port, {
          parts: model.parts!.bind(model),
          outputs: signature.outputs,
          outputBytes,
        })
  await serveQueue({
    ...options,
    memory,
    model,
    parts,
    reload: () => load({ ...start, signature: options.signature }),
    report: (kind) => post({ kind }),
    nowMs: () => systemClock.monotonicMs(),
    // A model on another server waits for the network, and holds up no other model meanwhile.
    turns: start.source.kind === 'remote' ? undefined : turns,
    // A thread that is blocked hears no order for an answer in parts.
    isShared: turns !== undefined || parts !== undefined,
  })
}

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

/** Shortest time of a run of the largest batch, of zeros, ms; 0 where the model refuses it. */
async function runTime(model: LoadedModel, most: number, turns: Turns): Promise<number> {
  const items = mostItemsOfRun(model.signature, most)
  const inputs = zeroInputs(model.signature, items)
  const leave = await turns.enter()
  let shortest = Number.POSITIVE_INFINITY
  try {
    for (let run = 0; run <= MEASURED_RUNS; run++) {
      const from = systemClock.monotonicMs()
      await model.run(inputs, items)
      shortest = Math.min(shortest, systemClock.monotonicMs() - from)
    }
    return shortest
  } catch {
    return 0
  } finally {
    leave()
  }
}
