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

/** What rows are asked for: the answers are those of one slot for one version. */
export interface AskedRows {
  readonly slot: number
  readonly side: LocalSide
  readonly version: number
  /** See `SlotQueryRequest`. */
  readonly bring: boolean
}

/** Rows asked of one slot in one turn. */
interface RowBatch extends AskedRows {
  readonly keys: Uint8Array[]
  readonly waiting: {
    readonly from: number
    readonly count: number
    resolve(answers: readonly SlotQueryAnswer[]): void
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

  /** The slot's answers in the order of the keys. */
  rows(asked: AskedRows, keys: readonly Uint8Array[]): Promise<readonly SlotQueryAnswer[]> {
    let batch = this.batches.find((one) => isSame(one, asked))
    if (batch === undefined) {
      batch = { ...asked, keys: [], waiting: [] }
      this.batches.push(batch)
      if (this.batches.length === 1) setImmediate(() => this.flush())
    }
    const { waiting, keys: all } = batch
    const from = all.length
    for (const key of keys) all.push(key)
    return new Promise((resolve, reject) => {
      waiting.push({ from, count: keys.length, resolve, reject })
    })
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

  private async send({ slot, side, version, bring, keys, waiting }: RowBatch): Promise<void> {
    const answers = await this.ask(slot, (id) => ({
      kind: 'rows',
      id,
      operatorUid: side.operatorUid,
      state: side.state,
      version,
      keys,
      bring,
    }))
    if (waiting.length === 1) waiting[0]!.resolve(answers)
    else for (const { from, count, resolve } of waiting) resolve(answers.slice(from, from + count))
  }
}

function isSame(a: AskedRows, b: AskedRows): boolean {
  return a.slot === b.slot && a.side === b.side && a.version === b.version && a.bring === b.bring
}
