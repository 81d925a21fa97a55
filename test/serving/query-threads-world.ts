import { MessageChannel } from 'node:worker_threads'
import type { QueryThreads } from '../../src/serving/query-threads.ts'
import type { RowTableShare } from '../../src/state/row-table-share.ts'
import {
  packSlotQueryReply,
  type SlotQueryRequestMessage,
  unpackSlotQueryRequest,
} from '../../src/state/slot-query-message.ts'
import { MAX_PARALLELISM, ModelWorld, SLOTS } from '../contracts/model-reader-world.ts'

/** A ModelWorld that tells query threads what the runtime would tell them. */
export class ServedWorld extends ModelWorld {
  readonly shares: RowTableShare[]

  constructor() {
    super()
    this.shares = this.openShares()
  }

  private openShares(): RowTableShare[] {
    const states = [...this.catalog.vectorStates()]
    return states.flatMap(({ sides }) =>
      sides.flatMap((side) =>
        [...side.versions.values()].flatMap(({ readers }) => readers.map(({ share }) => share)),
      ),
    )
  }

  /** Starts the job, opens its tables and attaches its slots. */
  serve(threads: QueryThreads): void {
    threads.jobStarted('als', this.board.share)
    for (let slot = 0; slot < SLOTS; slot++) {
      for (let thread = 0; thread < threads.threads; thread++) {
        const { port1, port2 } = new MessageChannel()
        port1.on('message', (message: SlotQueryRequestMessage) => {
          void this.ask(slot, unpackSlotQueryRequest(message)).then((reply) =>
            port1.postMessage(packSlotQueryReply(reply)),
          )
        })
        threads.attachSlot(slot, thread, port2)
      }
      threads.declareQueryable({
        queryableName: 'COUNTS',
        stateKind: 'value',
        slot,
        parallelism: SLOTS,
        maxParallelism: MAX_PARALLELISM,
      })
    }
    for (const share of this.shares) threads.tableOpened(share, 1)
  }
}
