import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LineFileSink } from '../../../src/connectors/file/sink.ts'
import { LineFileSource } from '../../../src/connectors/file/source.ts'
import type { DeliveryGuarantee } from '../../../src/operators/port/sink.ts'
import {
  atLeastOnceSinkContract,
  exactlyOnceSinkContract,
  type SinkUnderTest,
} from '../../contracts/sink.ts'
import { sourceContract } from '../../contracts/source.ts'
import { drain, readerContext, temporaryFolder } from '../log/fixture.ts'

sourceContract('LineFileSource', () => {
  const folder = temporaryFolder()
  const contents = ['one\ntwo\r\n\nfour with é\nlast without end', '', `${'x'.repeat(100)}\ny\n`]
  const paths = contents.map((content, i) => {
    const path = join(folder, `${i}.txt`)
    fs.writeFileSync(path, content)
    return path
  })
  return Promise.resolve({
    source: new LineFileSource({ paths, parse: (line) => line, chunkBytes: 16 }),
    expected: [['one', 'two', '', 'four with é', 'last without end'], [], ['x'.repeat(100), 'y']],
    textOf: (value: string) => value,
  })
})

function fileSink(guarantee: DeliveryGuarantee): Promise<SinkUnderTest> {
  const directory = temporaryFolder()
  const sink = new LineFileSink<string>({ directory, guarantee, format: (value) => value })
  const visible = (): Promise<string[]> => {
    const names = fs.readdirSync(directory).filter((name) => name.startsWith('part-'))
    const lines = names.flatMap((name) =>
      fs.readFileSync(join(directory, name), 'utf8').split('\n'),
    )
    return Promise.resolve(lines.filter((line) => line !== ''))
  }
  return Promise.resolve({ sink, visible })
}

atLeastOnceSinkContract('LineFileSink', () => fileSink('at-least-once'))
exactlyOnceSinkContract('LineFileSink', () => fileSink('exactly-once'))

describe('LineFileSink', () => {
  it('refuses an async format, whose lines would be promises', () => {
    const format = (async (value: string) => value) as never
    expect(() => new LineFileSink({ directory: 'lines', format })).toThrow(/format.*is async/)
  })

  it('refuses a checkpoint over a pending file of an earlier one that did not complete and was removed', async () => {
    const directory = temporaryFolder()
    const sink = new LineFileSink<string>({
      ...{ directory, guarantee: 'exactly-once', format: (value) => value },
    })
    const writer = sink.createWriter()
    const { clock, metrics } = readerContext()
    const context = { jobName: 'j', operatorUid: 'u', subtask: 0, parallelism: 1, attempt: 1 }
    await writer.open({ ...context, clock, metrics, onLostTransaction: undefined }, [])
    writer.write('a', 0)
    const first = await writer.prepareCommit(1)
    writer.write('b', 0)
    const second = await writer.prepareCommit(2)
    await writer.commit([...first, ...second])
    expect(await writer.prepareCommit(3)).toEqual([])
    writer.write('c', 0)
    await writer.prepareCommit(4)
    const [pending] = fs.readdirSync(directory).filter((name) => !name.startsWith('part-'))
    fs.rmSync(join(directory, pending!))
    await expect(writer.prepareCommit(5)).rejects.toMatchObject({
      code: 'TRANSACTION_ABORTED',
      message: expect.stringContaining(pending!) as string,
    })
    await writer.close()
  })

  it('is ready again after a checkpoint that took the full file', async () => {
    const directory = temporaryFolder()
    const sink = new LineFileSink<string>({ directory, format: (value) => value })
    const writer = sink.createWriter()
    const { clock, metrics } = readerContext()
    const context = { jobName: 'j', operatorUid: 'u', subtask: 0, parallelism: 1, attempt: 1 }
    await writer.open({ ...context, clock, metrics, onLostTransaction: undefined }, [])
    const line = 'x'.repeat(1 << 16)
    for (let file = 0; file < 20; file++) {
      while (writer.ready()) writer.write(line, 0)
      const ready = Promise.all(Array.from({ length: 12 }, () => writer.whenReady()))
      await writer.prepareCommit(file)
      await ready
      expect(writer.ready()).toBe(true)
    }
    await writer.close()
  }, 5000)
})

describe('LineFileSource', () => {
  it('names file and position of a line that cannot be parsed', async () => {
    const path = join(temporaryFolder(), 'a.txt')
    fs.writeFileSync(path, '1\n2\noops\n')
    const parse = (line: string): number => {
      if (line === 'oops') throw new Error('not a number')
      return Number(line)
    }
    const reader = new LineFileSource({ paths: [path], parse }).createReader()
    await reader.open(readerContext())
    await reader.addSplits([{ partition: 0, nextOffset: -1 }])
    await expect(drain(reader)).rejects.toMatchObject({
      code: 'UNPARSABLE_RECORD',
      details: { path, offset: 4 },
    })
    await reader.close()
  })

  it('refuses a line that does not end, with its place', async () => {
    const path = join(temporaryFolder(), 'endless.txt')
    const endless = Buffer.alloc(18 * 1024 * 1024, 'x')
    endless.write('1\n')
    fs.writeFileSync(path, endless)
    const reader = new LineFileSource({ paths: [path], parse: (line) => line }).createReader()
    await reader.open(readerContext())
    await reader.addSplits([{ partition: 0, nextOffset: -1 }])
    await expect(drain(reader)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      message: `the line at byte 2 of ${path} does not end within 16 MiB; is this a text file with one record a line?`,
    })
    await reader.close()
  })

  it('names a missing file', async () => {
    const source = new LineFileSource({ paths: ['/nowhere/x'], parse: (line) => line })
    const adding = source.createReader().addSplits([{ partition: 0, nextOffset: -1 }])
    await expect(adding).rejects.toThrow('"/nowhere/x"')
  })
})
