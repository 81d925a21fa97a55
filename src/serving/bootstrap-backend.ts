import { WeirError } from '../core/errors.ts'
import type { ModelReader } from '../wire/model-reader.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import type { QueryBackend } from './query-backend.ts'

/**
 * What the bootstrap port serves: the routing table. State is asked of the query threads that it
 * names; a request for state is answered NOT_OWNER.
 */
export class BootstrapBackend implements QueryBackend {
  readonly reader: ModelReader
  private readonly table: () => RoutingTable

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
    if (this.table().endpoints.length === 0) {
      return new WeirError('UNAVAILABLE', 'no query thread listens yet; ask again')
    }
    return new WeirError(
      'NOT_OWNER',
      'the bootstrap port only tells where to ask: send ROUTING and ask an endpoint of its answer',
    )
  }

  routingEpoch(): number {
    return this.table().epoch
  }

  routing(): RoutingTable {
    return this.table()
  }
}
