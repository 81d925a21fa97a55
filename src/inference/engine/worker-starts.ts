import { rmSync } from 'node:fs'
import type { Deployment } from '../port/deployment.ts'
import type { ModelSource } from '../port/model.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { WorkerStart } from '../workers/messages.ts'
import { deviceOf, workerStartOf } from './deployment-plan.ts'
import { startWorker } from './shared-workers.ts'
import type { ModelWorker } from './worker-thread.ts'
import type { ModelWorkersOptions } from './workers-options.ts'

/** A device that a worker has until it ends. */
export interface DeviceTurn {
  /** Name of the device; undefined where the settings name none. */
  readonly device: string | undefined
  /** The worker has ended. */
  end(): void
}

/** The devices of one model: a new worker gets the one that the fewest of its workers have. */
export class DeviceTurns {
  private readonly places: { readonly device: string | undefined; workers: number }[]

  /** `devices`: their names; one that is named twice gets twice as many workers. */
  constructor(devices: readonly string[] | undefined) {
    this.places = (devices ?? [undefined]).map((device) => ({ device, workers: 0 }))
  }

  /** The device of a new worker. */
  take(): DeviceTurn {
    const place = this.places.reduce((best, one) => (one.workers < best.workers ? one : best))
    place.workers++
    return { device: place.device, end: () => place.workers-- }
  }
}

type StartOptions = Pick<ModelWorkersOptions, 'shared' | 'optimised' | 'remoteKey'>

/** Starts the workers of one model. */
export class WorkerStarts {
  private readonly deployment: Deployment
  private readonly options: StartOptions
  private readonly turns: DeviceTurns
  private start: WorkerStart

  constructor(source: ModelSource, deployment: Deployment, options: StartOptions) {
    this.deployment = deployment
    this.options = options
    this.turns = new DeviceTurns(deployment.devices)
    const { optimised, remoteKey } = options
    this.start = { ...workerStartOf(source, deployment), optimised, remoteKey }
  }

  /** Further workers load the model with what the first ones found. */
  knows(signature: ModelSignature): void {
    this.start = { ...this.start, signature }
  }

  /** Starts a worker; resolves when it has loaded the model. Rejects with the error of the load. */
  async one(signal?: AbortSignal): Promise<ModelWorker> {
    const turn = this.turns.take()
    const start = { ...this.start, device: deviceOf(this.deployment, turn.device) }
    try {
      const worker = await startWorker(this.options.shared, start, signal)
      void worker.exited.then(turn.end)
      return worker
    } catch (error) {
      turn.end()
      throw error
    }
  }

  /** Removes what loads have kept. */
  end(): void {
    const { optimised } = this.options
    if (optimised !== undefined) rmSync(optimised, { force: true })
  }
}
