/**
 * What another thread needs to read a row table in place: structured-clonable, the memory is shared.
 * The layout inside the memory is drawn in `row-table-layout.ts`.
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
  readonly memory: WebAssembly.Memory
}

/** Tells the process that tables came or went; given to a backend by its slot. */
export interface RowTableListener {
  tableOpened(share: RowTableShare): void
  tableDropped(state: string, version: number): void
}
