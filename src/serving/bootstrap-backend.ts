import { WeirError } from '../core/errors.ts'
import type { ModelReader } from '../wire/model-reader.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import type { QueryBackend } from './query-backend.ts'

/**
 * What the bootstrap port serves: the routing table. State is asked of the query threads that it
 * names; a request for state is answered NOT_OWNER with one of them.
 */
export class BootstrapBackend implements QueryBackend {
  readonly reader: ModelReader
  private readonly table: () => RoutingTable
  private turn = 0

  constructor(table: () => RoutingTable) {
    this.table = table
    const refuse = async (): Promise<never> => {
      throw this.notOwner()
    }
    this.reader = {
      rows: refuse,
      values: refuse,
      scan: refuse,
      predict: refuse,
      predictWithEnvelope: refuse,
      sparseDot: refuse,
      topK: refuse,
    }
  }

  open(): never {
    throw this.notOwner()
  }

  private notOwner(): WeirError {
    const { endpoints } = this.table()
    const endpoint = endpoints[this.turn++ % Math.max(endpoints.length, 1)]
    const sentence = 'the bootstrap port only tells where to ask; ask a query thread'
    if (endpoint === undefined) return new WeirError('UNAVAILABLE', 'no query thread listens yet')
    const details = { endpoint: `${endpoint.host}:${endpoint.port}` }
    return new WeirError('NOT_OWNER', sentence, { details })
  }

  routingEpoch(): number {
    return this.table().epoch
  }

  routing(): RoutingTable {
    return this.table()
  }
}
