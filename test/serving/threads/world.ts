import { JobServing } from '../../../src/runtime/job/serving.ts'
import type { SlotHost } from '../../../src/runtime/protocol/slot-host.ts'
import type { QueryThreads } from '../../../src/serving/threads/query-threads.ts'
import {
  type SlotQueryRequestMessage,
  unpackSlotQueryRequest,
} from '../../../src/state/catalog/slot-query-message.ts'
import { ModelWorld, SLOTS, typedPart } from '../../contracts/model-reader-world.ts'

/** A ModelWorld whose slots report to query threads as the runtime does. */
export class ServedWorld extends ModelWorld {
  private serving!: JobServing

  /** Starts the job: attaches its slots and reports what they hold. */
  serve(threads: QueryThreads): void {
    this.serving = new JobServing(this.board, threads)
    this.serving.begin('als')
    this.attachAgain()
    for (let slot = 0; slot < SLOTS; slot++) {
      const typed = { kind: 'typed-state-declared', attempt: 1, share: typedPart(slot) } as const
      this.serving.onReport(slot, typed)
    }
    this.openTables(this, 1)
    this.run(1)
  }

  /** Starts all slots, at first or after their loss. */
  attachAgain(): void {
    for (let slot = 0; slot < SLOTS; slot++) this.serving.attach(slot, this.hostOf(slot))
  }

  private hostOf(slot: number): SlotHost {
    return {
      remote: false,
      send: (command) => {
        if (command.kind !== 'attach-query') return
        const { port } = command
        port.on('message', (message: SlotQueryRequestMessage) => {
          void this.ask(slot, unpackSlotQueryRequest(message)).then((reply) =>
            port.postMessage(reply),
          )
        })
      },
      kill() {},
      terminate: () => Promise.resolve(),
    }
  }

  /** The slots report the tables of `world` in an attempt. */
  openTables(world: ModelWorld, attempt: number): void {
    for (const share of world.shares()) {
      this.serving.onReport(share.slot, { kind: 'table-opened', attempt, share })
    }
  }

  /** The slots report that they have dropped their tables of an attempt. */
  dropTables(attempt: number): void {
    for (const { operatorUid, state, version, slot } of this.shares()) {
      const table = { operatorUid, state, version }
      this.serving.onReport(slot, { kind: 'table-dropped', attempt, ...table })
    }
  }

  /** The slots run an attempt. */
  run(attempt: number): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      this.board.beginSlotIncarnation(slot, attempt)
      this.board.setSlotStatus(slot, 'running')
      this.serving.onReport(slot, { kind: 'running', attempt })
    }
  }

  slotDown(slot: number): void {
    this.serving.slotDown(slot)
  }
}
