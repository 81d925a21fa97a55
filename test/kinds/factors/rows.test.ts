import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { type PublishedRows, publishRows } from '../../../src/kinds/factors/rows.ts'
import { decodeFactors } from '../../../src/models/als/row.ts'
import type { PublishableRow } from '../../../src/models/publish/model.ts'
import { npyRowFiles, type RowFiles, textRowFiles } from '../../../src/models/publish/row-files.ts'
import {
  decodeMarker,
  type ModelVersionMarker,
} from '../../../src/models/registry/version-marker.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { npyFile } from '../../models/files/npy-file.ts'

interface Published {
  readonly result: PublishedRows
  readonly rows: Readonly<Record<string, number[]>>
  readonly markers: readonly ModelVersionMarker[]
  readonly progress: readonly (readonly [bytes: number, rows: number])[]
}

/** Publishes as version 3 into a topic of two partitions and reads it back. */
async function published(folder: string, files: RowFiles): Promise<Published> {
  await using topics = new LogTopics(join(folder, 'log'))
  const progress: [number, number][] = []
  const result = await publishRows(files, {
    ...{ log: topics, topic: 'm', version: 3, partitions: 2, clock: systemClock },
    onProgress: (bytes, rows) => progress.push([bytes, rows]),
  })
  const rows: Record<string, number[]> = {}
  const markers: ModelVersionMarker[] = []
  await scanTopic(topics, 'm', (record) => {
    const key = Buffer.from(record.key()!).toString()
    if (key.startsWith('!')) markers.push(decodeMarker(record.value()!))
    else rows[key] = [...decodeFactors(record.value()!)]
    return true
  })
  return { result, rows, markers, progress }
}

describe('a version', () => {
  const publish = async (topics: LogTopics, folder: string, choice: object): Promise<number> => {
    writeFileSync(join(folder, 'rows'), '1,U,0.5;1\n')
    const files = await textRowFiles([join(folder, 'rows')])
    const options = { log: topics, topic: 'm', clock: systemClock, ...choice }
    return (await publishRows(files, options)).version
  }

  it('is published above the highest by default, and never twice unless that is asked for', async () => {
    const folder = temporaryFolder()
    await using topics = new LogTopics(join(folder, 'log'))
    expect(await publish(topics, folder, {})).toBe(1)
    expect(await publish(topics, folder, { version: 7 })).toBe(7)
    expect(await publish(topics, folder, {})).toBe(8)
    expect(await publish(topics, folder, { after: 20 })).toBe(21)
    await expect(publish(topics, folder, { version: 7 })).rejects.toMatchObject({
      code: 'VERSION_EXISTS',
      details: { version: 7, next: 22 },
    })
    expect(await publish(topics, folder, { version: 7, overwrite: true })).toBe(7)
  })
})

describe('rows of files', () => {
  it('as text are published as a version, from a folder, without mean rows', async () => {
    const folder = temporaryFolder()
    const model = join(folder, 'model')
    mkdirSync(model)
    writeFileSync(join(model, '1'), '1,U,0.5;1\r\nMEAN,U,9;9\r\n')
    writeFileSync(join(model, '2'), 'größe,I,-2;3e-2')
    writeFileSync(join(model, '_SUCCESS'), '')
    writeFileSync(join(model, '.2.crc'), 'no row')
    const files = await textRowFiles([model])
    const { result, rows, markers, progress } = await published(folder, files)
    expect(result).toEqual({ version: 3, dimension: 2, users: 1, items: 1 })
    expect(rows).toEqual({ '1-U@3': [0.5, 1], 'größe-I@3': [-2, Math.fround(0.03)] })
    expect(markers.filter(({ event }) => event === 'ready')).toHaveLength(2)
    expect(markers.at(-1)).toMatchObject({ event: 'ready', version: 3, users: 1, items: 1 })
    expect(progress.at(-1)![1]).toBe(2)
  })

  it('of NumPy matrices are published under their ids, or numbered', async () => {
    const folder = temporaryFolder()
    const place = (name: string, bytes: Uint8Array | string): string => {
      writeFileSync(join(folder, name), bytes)
      return join(folder, name)
    }
    // More than one piece of the file.
    const rest = new Array<number>(62).fill(0.5)
    const many = Array.from({ length: 5_000 }, (_, i) => [i, -i, ...rest])
    const item = [1, 2, ...rest]
    const users = place('u.npy', npyFile('<f4', many))
    const items = place('i.npy', npyFile('<f8', [item]))
    const ids = place('i.txt', 'film 1\n')
    const files = await npyRowFiles([
      { kind: 'U', factors: users },
      { kind: 'I', factors: items, ids },
    ])
    const { result, rows, progress } = await published(folder, files)
    expect(result).toEqual({ version: 3, dimension: 64, users: 5_000, items: 1 })
    expect(rows['5000-U@3']).toEqual([4_999, -4_999, ...rest])
    expect(rows['film 1-I@3']).toEqual(item)
    expect(progress.at(-1)).toEqual([files.bytes, 5_001])
  })

  it('of different lengths are refused, and their version never becomes ready', async () => {
    const folder = temporaryFolder()
    const place = join(folder, 'rows.txt')
    writeFileSync(place, '1,U,1;2\n2,U,1;2;3\n')
    const files = await textRowFiles([place])
    await expect(published(folder, files)).rejects.toThrow(
      /row 2-U has 3 floats, but the first row has 2/,
    )
    writeFileSync(place, '1,U,1;2\n2,X,1;2\n')
    await expect(published(folder, files)).rejects.toThrow(/rows\.txt: line 2, column 3/)
  })

  it('are closed when one of them cannot be published', async () => {
    let closed = 0
    async function* rows(): AsyncGenerator<PublishableRow> {
      try {
        yield { id: '1', kind: 'U', vector: Float32Array.of(1, 2) }
        yield { id: '2', kind: 'U', vector: Float32Array.of(1) }
      } finally {
        closed += 1
      }
    }
    const files: RowFiles = { bytes: 1, rows }
    await expect(published(temporaryFolder(), files)).rejects.toThrow(/has 1 floats/)
    expect(closed).toBe(1)
  })

  it('that are missing are reported', async () => {
    const folder = temporaryFolder()
    const code = (name: string): unknown => expect.objectContaining({ code: name })
    await expect(textRowFiles([join(folder, 'no')])).rejects.toThrow(code('FILE_NOT_FOUND'))
    await expect(textRowFiles([folder])).rejects.toThrow(code('EMPTY_DATASET'))
    writeFileSync(join(folder, 'u.npy'), npyFile('<f4', [[1], [2]]))
    writeFileSync(join(folder, 'u.txt'), 'a\n')
    const sides = [
      { kind: 'U' as const, factors: join(folder, 'u.npy'), ids: join(folder, 'u.txt') },
    ]
    const files = await npyRowFiles(sides)
    await expect(published(folder, files)).rejects.toThrow(/1 ids, but the factors have 2 rows/)
  })
})
