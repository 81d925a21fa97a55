import { basename, dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesOf, textOf } from './source-tree.ts'

const MOST_FILES = 20
const MOST_AT_THE_TOP = 20

/** Rooms that hold one file a command. */
const ONE_FILE_A_COMMAND = /^(src|test)\/cli\/verbs$/

const files = filesOf('src', 'test', 'benchmarks', 'verify', 'scripts', 'datasets', 'examples')

it(`src has at most ${MOST_AT_THE_TOP} rooms at its top`, () => {
  const parts = files.filter((file) => file.startsWith('src/')).map((file) => file.split('/'))
  const tops = new Set(parts.filter(({ length }) => length > 2).map(([, top]) => top))
  expect(tops.size, [...tops].sort().join(', ')).toBeLessThanOrEqual(MOST_AT_THE_TOP)
})

describe('a room, the files of one folder', () => {
  it(`holds at most ${MOST_FILES} files`, () => {
    const rooms = Map.groupBy(files, dirname)
    const full = [...rooms]
      .filter(([room, inside]) => inside.length > MOST_FILES && !ONE_FILE_A_COMMAND.test(room))
      .map(([room]) => room)
    expect(full).toEqual([])
  })

  it('holds no file that repeats the name of the folder', () => {
    const repeating = files.filter((file) =>
      basename(file).startsWith(`${basename(dirname(file))}-`),
    )
    expect(repeating).toEqual([])
  })

  it('is no drawer', () => {
    const drawers = files.filter((file) =>
      /\/(utils?|helpers?|common|misc|shared|manager|base)(\/|\.ts$)/.test(file),
    )
    expect(drawers).toEqual([])
  })

  it('keeps every file of src within 400 lines', () => {
    const long = files
      .filter((file) => file.startsWith('src/') && !file.endsWith('.generated.ts'))
      .map((file) => ({ file, lines: textOf(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines > 400)
      .map(({ file, lines }) => `${file} has ${lines} lines: it holds a second concept`)
    expect(long).toEqual([])
  })
})
