import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  DataStream,
  GroupedTable,
  KeyedStream,
  StreamExecutionEnvironment,
  Table,
} from '../../src/index.ts'

const page = readFileSync(
  new URL('../../docs/guide/from-kafka-streams.md', import.meta.url),
  'utf8',
)

const CLASSES: Readonly<Record<string, object>> = {
  StreamsBuilder: StreamExecutionEnvironment.prototype,
  KStream: DataStream.prototype,
  KGroupedStream: KeyedStream.prototype,
  KTable: Table.prototype,
  KGroupedTable: GroupedTable.prototype,
}

/** The names in the second column of the first table of a section. */
function namesOf(section: string): string[] {
  const [, text] = new RegExp(`^## ${section}\\n\\n((?:\\|.*\\n)+)`, 'm').exec(page)!
  const columns = text!.split('\n').map((line) => line.split('|')[2] ?? '')
  return columns.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map((found) => found[1]!))
}

describe('docs/guide/from-kafka-streams.md', () => {
  it.each(Object.keys(CLASSES))('names methods that stand for those of %s', (section) => {
    const names = namesOf(section)
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => !(name in CLASSES[section]!))).toEqual([])
  })
})
