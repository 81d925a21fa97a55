import { describe, expect, it } from 'vitest'
import { randomStreams } from '../../../src/core/random.ts'
import type { AlsSideName } from '../../../src/training/als/solver/solver.ts'
import { streamsOf } from '../../../src/training/bmf/drawing/drawer.ts'
import { normalsSide } from '../../../src/training/bmf/gpu/normals.ts'
import { NormalsAhead } from '../../../src/training/bmf/gpu/normals-ahead.ts'

const SEED = 7
const UNKNOWNS = 3
/** More rows than a thread takes at a time, in an order of its own. */
const ROWS = { users: Array.from({ length: 2500 }, (_, i) => 2499 - i), items: [1, 0, 2] }

function normals(threads: number): NormalsAhead {
  return new NormalsAhead(
    {
      seed: SEED,
      unknowns: UNKNOWNS,
      users: normalsSide(ROWS.users, UNKNOWNS),
      items: normalsSide(ROWS.items, UNKNOWNS),
      nextChunk: new Int32Array(new SharedArrayBuffer(4)),
    },
    threads,
  )
}

/** The numbers that the drawer of the CPU takes for the rows of a side. */
function expected(side: AlsSideName, sweep: number): Float32Array {
  const random = randomStreams(SEED)
  const numbers = ROWS[side].flatMap((row) => {
    random.seek(streamsOf(sweep, side), row)
    return Array.from({ length: UNKNOWNS }, () => random.normal())
  })
  return Float32Array.from(numbers)
}

describe('the normal numbers of a GPU', () => {
  it.each([0, 2])('are those of the CPU, with %i threads', async (threads) => {
    await using ahead = normals(threads)
    for (const sweep of [1, 2, 3]) {
      for (const side of ['users', 'items'] as const) {
        expect((await ahead.take({ side, sweep })).slice()).toEqual(expected(side, sweep))
      }
    }
  })

  it('may be taken in another order than that of a chain', async () => {
    await using ahead = normals(1)
    for (const [side, sweep] of [
      ['items', 4],
      ['items', 2],
      ['users', 9],
      ['users', 1],
    ] as const) {
      expect((await ahead.take({ side, sweep })).slice()).toEqual(expected(side, sweep))
    }
  })
})
