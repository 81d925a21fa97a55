import { isWeirError, WeirError } from '../../core/errors.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import { MemoryWatch } from './process-memory.ts'

const MIB = 2 ** 20

/** Model in a process of its own that can be ended in the middle of a run. */
export interface EndableModel extends LoadedModel {
  readonly pid: number
  /** Loads the model. Rejects as the runner. */
  open(): Promise<void>
  /** Ends the process; a run that is under way rejects with the error. */
  end(error: WeirError): void
}

/** How a model with a limit of memory is loaded. */
export interface LimitedModelOptions {
  readonly limitBytes: number
  /** Starts a process; the model is not loaded there yet. */
  readonly start: () => Promise<EndableModel>
  /** Memory of a process, bytes; undefined when it has ended. */
  readonly bytesOf: (pid: number) => Promise<number | undefined>
  /** Called when a process was ended because of its memory. */
  readonly onExceeded: () => void
}

/**
 * Model whose process may have so much memory. A run that takes it over the limit is ended, and rejects with
 * MODEL_MEMORY_EXCEEDED; a process that keeps more than the limit after a run is ended before the next one. Another
 * process takes its place. Threads share the memory of their process, so a limit of one worker needs a process.
 */
export class LimitedModel implements LoadedModel {
  readonly signature: ModelSignature
  readonly placement: DevicePlacement | undefined
  private readonly options: LimitedModelOptions
  private model: EndableModel | undefined

  private constructor(options: LimitedModelOptions, model: EndableModel) {
    this.options = options
    this.model = model
    this.signature = model.signature
    this.placement = model.placement
  }

  /** Loads the model. Rejects as the runner, and with MODEL_MEMORY_EXCEEDED when the load takes more than the limit. */
  static async open(options: LimitedModelOptions): Promise<LimitedModel> {
    return new LimitedModel(options, await openOne(options))
  }

  async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
    this.model ??= await openOne(this.options)
    const { model } = this
    try {
      return await watched(model, this.options, () => model.run(inputs, items))
    } catch (error) {
      if (isWeirError(error, 'MODEL_MEMORY_EXCEEDED')) this.model = undefined
      throw error
    }
  }

  async refresh(): Promise<void> {
    const { model, options } = this
    if (model !== undefined && (await bytesNow(model, options)) > options.limitBytes) {
      this.model = undefined
      options.onExceeded()
      await model.close()
    }
    this.model ??= await openOne(options)
  }

  async close(): Promise<void> {
    await this.model?.close()
  }
}

async function openOne(options: LimitedModelOptions): Promise<EndableModel> {
  const model = await options.start()
  try {
    await watched(model, options, () => model.open())
    // A short load may end between two looks.
    const bytes = await bytesNow(model, options)
    if (bytes <= options.limitBytes) return model
    options.onExceeded()
    throw exceeded(bytes, options.limitBytes)
  } catch (error) {
    await model.close()
    throw error
  }
}

/** Memory of the process of a model; 0 when it has ended, which its next run finds. */
async function bytesNow({ pid }: EndableModel, { bytesOf }: LimitedModelOptions): Promise<number> {
  return (await bytesOf(pid)) ?? 0
}

/** The result of work in the process of the model, which is ended when it takes more than the limit. */
async function watched<T>(
  model: EndableModel,
  { limitBytes, bytesOf, onExceeded }: LimitedModelOptions,
  work: () => Promise<T>,
): Promise<T> {
  using _watch = new MemoryWatch({
    pid: model.pid,
    limitBytes,
    bytesOf,
    onExceeded: (bytes) => {
      onExceeded()
      model.end(exceeded(bytes, limitBytes))
    },
  })
  return await work()
}

function exceeded(bytes: number, limitBytes: number): WeirError {
  return new WeirError(
    'MODEL_MEMORY_EXCEEDED',
    `the process of the model took ${mib(bytes)} MiB, above its limit of ${mib(limitBytes)} MiB, and was ended`,
  )
}

const mib = (bytes: number): string => (bytes / MIB).toFixed(0)
