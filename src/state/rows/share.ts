import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'

/**
 * A row table in a form that other threads can read in place: structured-clonable, the memory is
 * shared.
 * The layout inside the memory is drawn in `layout.ts`.
 */
export interface RowTableShare {
  /** Operator uid that owns the state. */
  readonly operatorUid: string
  /** Name of the state in the operator. */
  readonly state: string
  readonly queryableName: string | undefined
  readonly keySuffix: string
  readonly meanKey: string | undefined
  readonly version: number
  /** Slot that writes it. */
  readonly slot: number
  readonly firstKeyGroup: number
  readonly lastKeyGroup: number
  readonly maxParallelism: number
  readonly dimension: number
  readonly memory: WasmMemory
}

/** Observer of a subtask's row tables; its slot informs the process. */
export interface RowTableListener {
  tableOpened(share: RowTableShare): void
  tableDropped(state: string, version: number): void
}
