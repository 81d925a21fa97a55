import type { SlotQueryAnswer, SlotQueryReply, SlotQueryRequest } from '../state/slot-query.ts'
import type { LocalSide } from './local-catalog.ts'

/**
 * Way from a reading thread to the slots, for what cannot be read in place. It belongs to one reader:
 * request ids are only unique within a reader.
 */
export interface SlotQueryGateway {
  /** Resolves with the slot's reply; rejects (SLOT_LOST, UNAVAILABLE) when it cannot answer. */
  ask(slot: number, request: SlotQueryRequest): Promise<SlotQueryReply>
}

/** Rows asked of one slot in one turn. */
interface RowBatch {
  readonly slot: number
  readonly side: LocalSide
  readonly version: number
  readonly keys: Uint8Array[]
  readonly waiting: {
    resolve(answer: SlotQueryAnswer): void
    reject(error: unknown): void
  }[]
}

/**
 * Asks slots for spilled rows: all that are missed in one turn of the event loop travel in one
 * request per slot, state and version.
 */
export class LocalSlotAsker {
  private readonly gateway: SlotQueryGateway
  private batches: RowBatch[] = []
  private nextId = 1

  constructor(gateway: SlotQueryGateway) {
    this.gateway = gateway
  }

  /** The slot's answer for one row. */
  row(slot: number, side: LocalSide, version: number, key: Uint8Array): Promise<SlotQueryAnswer> {
    let batch = this.batches.find(
      (one) => one.slot === slot && one.side === side && one.version === version,
    )
    if (batch === undefined) {
      batch = { slot, side, version, keys: [], waiting: [] }
      this.batches.push(batch)
      if (this.batches.length === 1) setImmediate(() => this.flush())
    }
    batch.keys.push(key)
    const { waiting } = batch
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
  }

  /** Sends any other request, with an id of its own. */
  ask(
    slot: number,
    request: (id: number) => SlotQueryRequest,
  ): Promise<readonly SlotQueryAnswer[]> {
    return this.gateway.ask(slot, request(this.nextId++)).then((reply) => reply.answers)
  }

  private flush(): void {
    const batches = this.batches
    this.batches = []
    for (const batch of batches) {
      this.send(batch).catch((error) => {
        for (const { reject } of batch.waiting) reject(error)
      })
    }
  }

  private async send({ slot, side, version, keys, waiting }: RowBatch): Promise<void> {
    const answers = await this.ask(slot, (id) => ({
      kind: 'rows',
      id,
      operatorUid: side.operatorUid,
      state: side.state,
      version,
      keys,
    }))
    for (const [i, { resolve }] of waiting.entries()) resolve(answers[i]!)
  }
}
