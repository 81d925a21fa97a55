import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { RatingsTable } from '../../src/training/data/ratings-table.ts'
import { runPythonRival } from './python.ts'

/** NDCG at 10 of one rival, with the settings that it chose on a part of the training ratings. */
export interface RankingRival {
  readonly ndcg: number
  readonly settings: string
}

/** Output of `rivals/implicit_ranking.py`. */
export interface RankingRivals {
  readonly version: string
  readonly implicit: RankingRival
  readonly ease: RankingRival
}

/** Training ratings and those held out, of the same users and items. */
export interface RankingFold {
  readonly train: RatingsTable
  readonly test: RatingsTable
}

/**
 * Ranks with ALS of the `implicit` library and with EASE. Where the library is missing, says so and returns
 * undefined.
 */
export async function rankWithRivals(
  { train, test }: RankingFold,
  scratch: string,
  say: (line: string) => void,
): Promise<RankingRivals | undefined> {
  const path = join(scratch, 'ranking.bin')
  const users = new IdNumbers()
  const items = new IdNumbers()
  const columns = [
    joined(train, test, (table) => users.of(table.users, table.user)),
    joined(train, test, (table) => items.of(table.items, table.item)),
    Buffer.concat([bytesOf(train.rating), bytesOf(test.rating)]),
  ]
  {
    await using file = await open(path, 'w')
    for (const column of columns) await file.writeFile(column)
  }
  const rival = { script: 'implicit_ranking.py', packageName: 'implicit' }
  const sizes = [train.size, test.size, users.size, items.size]
  return runPythonRival<RankingRivals>(rival, [path, ...sizes], say)
}

function joined(
  train: RatingsTable,
  test: RatingsTable,
  numbers: (table: RatingsTable) => Int32Array,
): Buffer {
  return Buffer.concat([bytesOf(numbers(train)), bytesOf(numbers(test))])
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Numbers of ids that are the same in all tables. */
class IdNumbers {
  private readonly numbers = new Map<string, number>()

  get size(): number {
    return this.numbers.size
  }

  /** The numbers of a column of a table. */
  of(ids: readonly string[], column: Uint32Array): Int32Array {
    const numbers = ids.map((id) => {
      const number = this.numbers.get(id) ?? this.numbers.size
      this.numbers.set(id, number)
      return number
    })
    return Int32Array.from(column, (index) => numbers[index]!)
  }
}
