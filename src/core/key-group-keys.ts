import { keyGroupOf } from './key-group.ts'

const encoder = new TextEncoder()
const known = new Map<number, readonly Uint8Array[]>()

/**
 * One key of each key group, by the group's number: records sent under all of them reach every owner.
 * The keys begin with `~`; they are computed once for each max parallelism.
 */
export function keyOfEveryGroup(maxParallelism: number): readonly Uint8Array[] {
  let keys = known.get(maxParallelism)
  if (keys === undefined) {
    keys = found(maxParallelism)
    known.set(maxParallelism, keys)
  }
  return keys
}

function found(maxParallelism: number): readonly Uint8Array[] {
  const keys = new Array<Uint8Array | undefined>(maxParallelism).fill(undefined)
  for (let n = 0, missing = maxParallelism; missing > 0; n++) {
    const key = encoder.encode(`~${n}`)
    const group = keyGroupOf(key, maxParallelism)
    if (keys[group] !== undefined) continue
    keys[group] = key
    missing--
  }
  return keys as readonly Uint8Array[]
}
