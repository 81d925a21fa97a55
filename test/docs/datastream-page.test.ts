import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  AllWindowedStream,
  AsyncDataStream,
  ConnectedStreams,
  DataStream,
  KeyedStream,
  StreamExecutionEnvironment,
  WindowedStream,
} from '../../src/index.ts'

const page = readFileSync(new URL('../../docs/guide/datastream.md', import.meta.url), 'utf8')

const CLASSES: Readonly<Record<string, object>> = {
  StreamExecutionEnvironment: StreamExecutionEnvironment.prototype,
  DataStream: DataStream.prototype,
  KeyedStream: KeyedStream.prototype,
  ConnectedStreams: ConnectedStreams.prototype,
  WindowedStream: WindowedStream.prototype,
  AsyncDataStream,
}

/** The names in the second column of the table of a section. */
function namesOf(section: string): string[] {
  const [, text] = new RegExp(`^## ${section}\\n([^]*?)^## `, 'm').exec(page)!
  const columns = text!.split('\n').map((line) => line.split('|')[2] ?? '')
  return columns.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map((found) => found[1]!))
}

describe('docs/guide/datastream.md', () => {
  it('names methods of windows that those without a key have, too', () => {
    const missing = namesOf('WindowedStream').filter(
      (name) => !(name in AllWindowedStream.prototype),
    )
    expect(missing).toEqual([])
  })

  it.each(Object.keys(CLASSES))('names methods that %s has', (name) => {
    const names = namesOf(name)
    expect(names.length).toBeGreaterThan(1)
    expect(names.filter((method) => !(method in CLASSES[name]!))).toEqual([])
  })
})
