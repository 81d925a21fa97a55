import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Raw snappy blocks; loaded at the first use, because it is a native module. */
let snappy: typeof import('snappy') | undefined
/** LZ4 frames; loaded at the first use, because it is a native module. */
let lz4: typeof import('lz4-napi') | undefined

/** The snappy binding. */
export function snappyModule(): typeof import('snappy') {
  snappy ??= require('snappy') as typeof import('snappy')
  return snappy
}

/** The LZ4 binding. */
export function lz4Module(): typeof import('lz4-napi') {
  lz4 ??= require('lz4-napi') as typeof import('lz4-napi')
  return lz4
}
