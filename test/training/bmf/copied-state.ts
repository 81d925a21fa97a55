import type { ChainState } from '../../../src/training/bmf/chain-state.ts'

/** A state whose arrays are its own: those of a chain change with its next sweep. */
export function copiedState(state: ChainState): ChainState {
  const fields = Object.entries(state).map(([name, value]) => [
    name,
    value instanceof Float32Array ? value.slice() : value,
  ])
  return Object.fromEntries(fields) as ChainState
}
