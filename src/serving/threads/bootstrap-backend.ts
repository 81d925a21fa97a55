import { WeirError } from '../../core/errors.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'
import type { QueryBackend } from '../port/query-backend.ts'
import { refusingReader } from '../port/refusing-reader.ts'

/**
 * Backend of the bootstrap port: it serves the routing table. A request for state fails with NOT_OWNER,
 * because the query threads of the table answer those.
 */
export class BootstrapBackend implements QueryBackend {
  readonly reader: ModelReader
  private readonly table: () => RoutingTable

  constructor(table: () => RoutingTable) {
    this.table = table
    this.reader = refusingReader(() => this.notOwner())
  }

  async predictDeferred(): Promise<never> {
    throw this.notOwner()
  }

  async topKRanked(): Promise<never> {
    throw this.notOwner()
  }

  async scanPage(): Promise<never> {
    throw this.notOwner()
  }

  open(): never {
    throw this.notOwner()
  }

  private notOwner(): WeirError {
    if (this.table().endpoints.length === 0) {
      return new WeirError('UNAVAILABLE', 'no query thread listens yet; try again')
    }
    return new WeirError(
      'NOT_OWNER',
      'the bootstrap port only serves the routing table: send ROUTING and ask an endpoint of its answer',
    )
  }

  routingEpoch(): number {
    return this.table().epoch
  }

  routing(): RoutingTable {
    return this.table()
  }
}
