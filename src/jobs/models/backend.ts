import { WeirError } from '../../core/errors.ts'
import type { ModelsBackend } from '../../serving/port/models-backend.ts'
import type { QueryBackend } from '../../serving/port/query-backend.ts'
import { refusingReader } from '../../serving/port/refusing-reader.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import { MODEL_KIND, type RoutingTable } from '../../wire/routing-table.ts'

/** Name of the job in the routing table. */
export const MODELS_JOB = 'models'

/** Backend of a query server that serves models and no state. */
export class ModelsQueryBackend implements QueryBackend {
  readonly models: ModelsBackend
  readonly reader: ModelReader
  private readonly epoch: () => number
  private readonly port: () => number

  /** `port`: the port of the server, once it listens. */
  constructor(models: ModelsBackend, epoch: () => number, port: () => number) {
    this.models = models
    this.epoch = epoch
    this.port = port
    this.reader = refusingReader(noState)
  }

  open(): never {
    throw noState()
  }

  async predictDeferred(): Promise<never> {
    throw noState()
  }

  async topKRanked(): Promise<never> {
    throw noState()
  }

  async scanPage(): Promise<never> {
    throw noState()
  }

  routingEpoch(): number {
    return this.epoch()
  }

  routing(): RoutingTable {
    return {
      epoch: this.epoch(),
      job: MODELS_JOB,
      endpoints: [{ server: 'models', host: '', port: this.port() }],
      states: this.models.states().map((state) => ({
        ...state,
        kind: MODEL_KIND,
        dimension: 0,
        versions: [...state.versions],
      })),
      sources: [],
    }
  }
}

function noState(): WeirError {
  return new WeirError(
    'UNKNOWN_STATE',
    'this process serves models, not state: send INFER, or ask a job that serves state',
  )
}
