import type { RowTableShare } from '../../../src/state/rows/share.ts'

/** A row table of the users of ALS_MODEL, without rows. */
export const tableShare = (version: number, slot = 0): RowTableShare => ({
  operatorUid: 'model',
  state: 'users',
  queryableName: 'ALS_MODEL',
  keySuffix: '-U',
  meanKey: undefined,
  version,
  slot,
  firstKeyGroup: 0,
  lastKeyGroup: 127,
  maxParallelism: 128,
  dimension: 4,
  memory: new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }),
})
