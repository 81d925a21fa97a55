import { ByteWriter } from '../core/byte-writer.ts'
import { bytesOfAnswer, type ScanPart } from './port/scan-part.ts'
import type { SlotQueryAnswer, SlotQueryRequest } from './port/slot-query.ts'
import { answerKey, answerScan } from './typed/query.ts'
import type { StateTable } from './typed/table.ts'
import type { VectorStates } from './vector/states.ts'

/** Rows that are read between two steps. */
const ROWS_PER_STEP = 64

/** Answers of one subtask to the requests of query threads, from its typed and its vector state. */
export class SubtaskQueries {
  private readonly operatorUid: string
  private readonly maxParallelism: number
  private readonly vectors: VectorStates
  /** Typed states by queryable name. */
  private readonly typed = new Map<string, StateTable>()

  constructor(options: {
    readonly operatorUid: string
    readonly maxParallelism: number
    readonly vectors: VectorStates
  }) {
    this.operatorUid = options.operatorUid
    this.maxParallelism = options.maxParallelism
    this.vectors = options.vectors
  }

  /** Makes a typed state queryable. */
  add(queryableName: string, table: StateTable): void {
    this.typed.set(queryableName, table)
  }

  /** Answers in the order of the keys (or of the scan); yields between steps of some microseconds. */
  *answer(request: SlotQueryRequest): Generator<void, ScanPart> {
    switch (request.kind) {
      case 'rows':
        return yield* this.rows(request)
      case 'scan':
        return yield* this.scan(request)
      case 'values':
        return yield* this.values(request)
    }
  }

  private *rows(request: SlotQueryRequest & { kind: 'rows' }): Generator<void, ScanPart> {
    const { operatorUid, state, version, keys, bring } = request
    if (operatorUid !== this.operatorUid) return whole(unknownState(keys))
    const answers: SlotQueryAnswer[] = []
    for (let from = 0; from < keys.length; from += ROWS_PER_STEP) {
      if (from > 0) yield
      const part = keys.slice(from, from + ROWS_PER_STEP)
      answers.push(...this.vectors.answerRows(state, version, part, bring === true))
    }
    return whole(answers)
  }

  private *scan(request: SlotQueryRequest & { kind: 'scan' }): Generator<void, ScanPart> {
    const { queryableName, version, from, limit, stored, arena = new ByteWriter() } = request
    if (stored !== undefined) {
      if (stored.operatorUid !== this.operatorUid) return whole(unknownState([from]))
      return whole(this.vectors.storedPage(stored.state, version, from, limit))
    }
    const table = this.typed.get(queryableName)
    if (table !== undefined) return yield* answerScan(table, request, this.maxParallelism, arena)
    const part = yield* this.vectors.scan(queryableName, version, request, arena)
    return part ?? whole(unknownState([from]))
  }

  private *values(request: SlotQueryRequest & { kind: 'values' }): Generator<void, ScanPart> {
    const { queryableName, keys, maxBytes = Number.POSITIVE_INFINITY } = request
    const { arena = new ByteWriter() } = request
    const table = this.typed.get(queryableName)
    if (table === undefined) return whole(unknownState(keys))
    const answers: SlotQueryAnswer[] = []
    let bytes = 0
    for (const key of keys) {
      if (bytes >= maxBytes) break
      const answer = answerKey(table, key, this.maxParallelism, arena)
      answers.push(answer)
      bytes += bytesOfAnswer(answer)
      yield
    }
    return whole(answers)
  }
}

function whole(answers: readonly SlotQueryAnswer[]): ScanPart {
  return { answers, resume: undefined }
}

function unknownState(keys: readonly Uint8Array[]): SlotQueryAnswer[] {
  return keys.map((key) => ({ kind: 'unknown-state', key }))
}
